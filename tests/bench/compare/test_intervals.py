"""Intervals of a median: order statistics, and how often they hold it."""

from __future__ import annotations

import math
import random
import statistics

from bench.compare.intervals import interval


def test_the_interval_of_a_median_is_made_of_order_statistics() -> None:
    twenty = random.Random(0).sample(range(1, 21), 20)
    assert interval(twenty) == (10.5, 6, 15)
    assert interval([3, 1, 2, 6, 5, 4]) == (3.5, 1, 6)
    assert interval([2.0]) == (2.0, 2.0, 2.0)


def test_the_interval_holds_the_median_as_often_as_it_says() -> None:
    draw = random.Random(1)
    found = [interval([draw.expovariate(1) for _ in range(20)]) for _ in range(2000)]
    inside = statistics.fmean(one.low <= math.log(2) <= one.high for one in found)
    assert 0.945 <= inside <= 0.98  # 0.9586 in theory
