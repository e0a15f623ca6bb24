"""Samples by turns: what disturbs the machine disturbs everybody who is measured."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from cogrid.benchmarks.clock import Sample as Timed

#: How what disturbed single samples becomes what disturbed a row.
NOISE = dict.fromkeys(Timed._fields[1:], statistics.fmean) | {"dropped": sum, "disturbed": sum}


class Sample(NamedTuple):
    """A number, and what disturbed the machine meanwhile."""

    value: float
    noise: dict[str, float]

    @classmethod
    def of(cls, answer: dict[str, Any]) -> Sample:
        return cls(answer["value"], {name: answer[name] for name in NOISE if name in answer})


Take = Callable[[], Sample]


def in_turns(takers: Sequence[Take], rounds: int) -> list[list[Sample]]:
    """A sample of each in every round, in this order and in the reverse by turns: ABBA.

    A round with a disturbed sample is repeated, but no more than half of them.
    """
    kept: list[list[Sample]] = []
    dropped = 0
    while len(kept) < rounds:
        order = list(range(len(takers)))
        if (len(kept) + dropped) % 2:
            order.reverse()
        taken = {number: takers[number]() for number in order}
        if dropped < rounds // 2 and any(sample.noise.get("disturbed") for sample in taken.values()):
            dropped += 1
        else:
            kept.append([taken[number] for number in range(len(takers))])
    return kept


def noise_of(noises: Sequence[dict[str, float]]) -> dict[str, float]:
    return {
        name: how([noise[name] for noise in noises])
        for name, how in NOISE.items()
        if noises and name in noises[0]
    }
