"""Change points: where the level of a series changed, with a known rate of false alarms.

Only the ranks of the values count. Their order is random in a series without a change, however the noise is
distributed, so the probability of every statistic follows from the number of values alone.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]

DRAWS = 20_000  # random orders from which a probability is read, at least
SHORTEST = 2  # values on each side of a change


class ChangePoint(NamedTuple):
    """The first value of a new level."""

    at: int
    before: float  # the median of the values between the last change, or the start, and this one
    after: float
    probability: float  # of so large a statistic in a series without a change


def changes(values: Sequence[float], false_alarms: float) -> list[ChangePoint]:
    """The changes in order; a series without any raises an alarm with at most this probability."""
    found = _split(np.asarray(values, np.float64), 0, len(values), false_alarms)
    if not found:
        return []
    ends = [0, *(at for at, _ in found), len(values)]
    levels = [float(np.median(values[low:high])) for low, high in itertools.pairwise(ends)]
    return [ChangePoint(at, levels[n], levels[n + 1], p) for n, (at, p) in enumerate(found)]


def _split(values: Floats, low: int, high: int, false_alarms: float) -> list[tuple[int, float]]:
    """The most likely change between two places, and those on both of its sides."""
    if high - low < 2 * SHORTEST:
        return []
    ranks = np.argsort(np.argsort(values[low:high], kind="stable"), kind="stable")
    scores = _scores(ranks[None])[0]
    probability = _probability(float(scores.max()), high - low, false_alarms)
    if probability > false_alarms:
        return []
    at = low + SHORTEST + int(np.argmax(scores))
    left, right = (_split(values, *ends, false_alarms) for ends in ((low, at), (at, high)))
    return [*left, (at, probability), *right]


def _scores(ranks: np.ndarray[Any, np.dtype[np.int64]]) -> Floats:
    """How unevenly ranks lie on both sides of each place, in deviations: Mann and Whitney's statistic."""
    count = ranks.shape[1]
    sizes = np.arange(SHORTEST, count - SHORTEST + 1)
    sums = np.cumsum(ranks, axis=1)[:, SHORTEST - 1 : count - SHORTEST]
    deviation = np.sqrt(sizes * (count - sizes) * (count + 1) / 12)
    scores: Floats = np.abs(sums - sizes * (count - 1) / 2) / deviation
    return scores


def _probability(score: float, count: int, false_alarms: float) -> float:
    """Of a score at least as high in a random order; so many orders that it can fall below the rate."""
    thousands = math.ceil(max(DRAWS, 2 / false_alarms) / 1000)
    return (1 + int((_largest(count, thousands) >= score).sum())) / (1000 * thousands + 1)


@functools.cache
def _largest(count: int, thousands: int) -> Floats:
    """The largest scores of thousands of random orders of so many values."""
    draw = np.random.default_rng(count)
    chunks = [draw.permuted(np.tile(np.arange(count), (1000, 1)), axis=1) for _ in range(thousands)]
    return np.concatenate([_scores(chunk).max(axis=1) for chunk in chunks])
