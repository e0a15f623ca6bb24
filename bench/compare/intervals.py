"""Intervals: distribution-free confidence intervals of medians."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

CONFIDENCE = 0.95


class Interval(NamedTuple):
    median: float
    low: float
    high: float


def interval(figures: Sequence[float]) -> Interval:
    """The median and its distribution-free 95 % interval.

    The ends are order statistics: the median is below the k-th smallest with the probability that fewer than
    k of n coins show heads. Fewer than six figures have no such interval; minimum and maximum are used.
    """
    ordered, n = sorted(figures), len(figures)
    outside, k = 0.0, 0
    while (outside := outside + math.comb(n, k) / 2**n) <= (1 - CONFIDENCE) / 2:
        k += 1
    k = max(k, 1)
    return Interval(statistics.median(ordered), ordered[k - 1], ordered[n - k])
