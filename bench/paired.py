"""Paired samples: sides take turns, so that what disturbs the machine disturbs all of them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from cogrid.benchmarks.clock import Sample

#: How what disturbed single samples becomes what disturbed a row.
NOISE = dict.fromkeys(Sample._fields[1:], statistics.fmean) | {"dropped": sum, "disturbed": sum}

Take = Callable[[], dict[str, Any]]
CONFIDENCE = 0.95


class Interval(NamedTuple):
    """Where the median lies."""

    median: float
    low: float
    high: float


def in_turns(takers: Sequence[Take], rounds: int) -> list[list[dict[str, Any]]]:
    """A sample of each in every round, in this order and in the reverse by turns: ABBA.

    A round with a disturbed sample is repeated, but no more than half of them.
    """
    kept: list[list[dict[str, Any]]] = []
    dropped = 0
    while len(kept) < rounds:
        order = list(range(len(takers)))
        if (len(kept) + dropped) % 2:
            order.reverse()
        taken = {number: takers[number]() for number in order}
        if dropped < rounds // 2 and any(sample.get("disturbed") for sample in taken.values()):
            dropped += 1
        else:
            kept.append([taken[number] for number in range(len(takers))])
    return kept


def noise_of(samples: Sequence[dict[str, Any]]) -> dict[str, float]:
    """What disturbed them all."""
    return {
        name: how([sample[name] for sample in samples])
        for name, how in NOISE.items()
        if samples and name in samples[0]
    }


def interval(figures: Sequence[float]) -> Interval:
    """The median and its 95 % interval, which needs no shape of the distribution.

    The ends are order statistics: the median is below the k-th smallest with the probability that fewer than
    k of n coins show heads. Fewer than six figures allow no such interval; theirs is from least to greatest.
    """
    ordered, n = sorted(figures), len(figures)
    outside, k = 0.0, 0
    while (outside := outside + math.comb(n, k) / 2**n) <= (1 - CONFIDENCE) / 2:
        k += 1
    k = max(k, 1)
    return Interval(statistics.median(ordered), ordered[k - 1], ordered[n - k])
