"""Change points: false alarms on flat series, power on stepped ones, and where they are."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bench.compare.change_points import changes

Floats = np.ndarray[Any, np.dtype[np.float64]]
Noise = Callable[[np.random.Generator, int], Floats]
RATE = 0.01

NOISES: dict[str, Noise] = {
    "normal": lambda draw, nights: draw.normal(0, 0.015, nights),
    "long tails": lambda draw, nights: 0.02 * draw.standard_t(3, nights),
    # Every night on one of three kinds of machine, on which the ratio differs.
    "machines": lambda draw, nights: (
        np.array([0, 0.03, -0.02])[draw.integers(0, 3, nights)] + 0.015 * draw.standard_t(4, nights)
    ),
    "skewed": lambda draw, nights: 0.02 * draw.exponential(1, nights),
}


@pytest.mark.parametrize("nights", [10, 30, 60, 90])
@pytest.mark.parametrize("noise", NOISES)
def test_flat_histories_raise_as_many_alarms_as_stated(noise: str, nights: int) -> None:
    """1,000 each: the bound is five deviations above the stated rate."""
    draw = np.random.default_rng(nights)
    alarms = sum(bool(changes(list(NOISES[noise](draw, nights)), RATE)) for _ in range(1000))
    assert alarms <= 1000 * RATE + 5 * math.sqrt(1000 * RATE)


@pytest.mark.parametrize(
    ("noise", "step", "nights", "at", "least"),
    [
        ("normal", 0.03, 60, 30, 0.95),
        ("normal", 0.05, 30, 15, 0.98),
        ("normal", 0.05, 90, 80, 0.95),  # ten nights later
        ("long tails", 0.05, 60, 30, 0.93),
        ("long tails", 0.1, 90, 80, 0.95),
        ("machines", 0.05, 60, 30, 0.95),
        ("machines", 0.1, 30, 15, 0.97),
    ],
)
def test_steps_are_found(noise: str, step: float, nights: int, at: int, least: float) -> None:
    """At the rate of one of ten series, that is RATE for all of them."""
    draw, found, near = np.random.default_rng(7), 0, 0
    for _ in range(200):
        values = NOISES[noise](draw, nights)
        values[at:] += math.log1p(step)
        marked = changes(list(values), RATE / 10)
        found += bool(marked)
        near += any(abs(one.at - at) <= 3 for one in marked)
    assert found >= least * 200
    assert near >= 0.75 * found


def test_a_step_is_found_among_a_thousand_series() -> None:
    """At so low a rate more random orders are drawn."""
    values = np.random.default_rng(2).normal(0, 0.01, 60)
    values[30:] += 1
    (found,) = changes(list(values), RATE / 1000)
    assert found.at == 30
    assert found.probability <= RATE / 1000


def test_two_changes_have_their_levels() -> None:
    values = [0.0] * 20 + [0.1] * 20 + [0.04] * 20
    noise = np.random.default_rng(1).normal(0, 0.005, 60)
    found = changes(list(np.array(values) + noise), RATE)
    assert [one.at for one in found] == [20, 40]
    levels = [level for one in found for level in (one.before, one.after)]
    assert levels == pytest.approx([0, 0.1, 0.1, 0.04], abs=0.005)
    assert all(one.probability <= RATE for one in found)


@pytest.mark.parametrize("nights", range(5))
def test_too_few_nights_have_no_changes(nights: int) -> None:
    assert changes([float(night > 1) for night in range(nights)], RATE) == []
