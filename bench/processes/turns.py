"""Samples in turns, so that what disturbs the machine disturbs all that is measured."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from bench.measure.clock import Sample

#: How the noise of single samples is combined into that of a row.
NOISE = dict.fromkeys(Sample._fields[1:], statistics.fmean) | {"dropped": sum, "disturbed": sum}


class Reading(NamedTuple):
    """A number, and what disturbed the machine meanwhile."""

    value: float
    noise: dict[str, float]

    @classmethod
    def of(cls, answer: dict[str, Any]) -> Reading:
        return cls(answer["value"], {name: answer[name] for name in NOISE if name in answer})


Take = Callable[[], Reading]


def in_turns(takers: Sequence[Take], rounds: int) -> list[list[Reading]]:
    """A sample of each in every round, alternating between this order and its reverse: ABBA.

    Rounds with a disturbed sample are repeated, but at most half of them.
    """
    kept: list[list[Reading]] = []
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
