"""The bars: shares of a step, and the targets."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from bench.records import TargetResult
from bench.show.figures.bars import phases, targets
from tests.bench.show.figures.support import drawn, marks, names, texts
from tests.bench.support import result, row


def test_phases_are_shares_of_the_whole_step_side_by_side() -> None:
    parts = {"interact": 0.3, "move": 0.9}
    rows = [
        row(id="Arena-V0", mode="jax-vmap", measure="profile", samples=[1.0], parts=parts),
        row(mode="jax-vmap", measure="profile", samples=[1.0], parts=parts),
        row(id="Arena-V0", mode="numpy-batch", measure="profile", samples=[2.0], parts=parts),
    ]
    figure = drawn(phases([result(rows)]))
    axis = figure.axes[0]
    assert [tick.get_text() for tick in axis.get_yticklabels()] == [
        "Arena features numpy-batch@1024",
        "Arena features jax-vmap@1024",
        "CrampedRoom features jax-vmap@1024",
    ]
    bars = [(patch.get_x(), patch.get_width()) for patch in axis.patches]
    assert bars == [pytest.approx(bar) for bar in ((0, 15), (15, 45), (0, 30), (30, 90), (0, 30), (30, 90))]
    assert texts(figure)[:3] == ["15", "45", "2 s a step, phases 60 %"]
    assert "1 s a step, phases 120 %" in texts(figure)
    assert set(names(figure)) == {"interact", "move", "the whole step"}


def test_a_failed_profile_is_a_cross() -> None:
    figure = drawn(phases([result([row(measure="profile", error="TypeError: no")])]))
    assert texts(figure) == ["TypeError: no"]
    assert len(marks(figure)) == 1


def target(what: str, median: float | None, **facts: Any) -> TargetResult:
    defaults = {
        "against": "them",
        "unit": "×",
        "rows": [],
        "samples": [],
        "figures": [],
        "low": median and median * 0.9,
        "high": median and median * 1.1,
        "verdict": "met",
        "enough": 4.0,
    }
    return TargetResult(what=what, median=median, **defaults | facts)


def test_a_bar_for_each_speed_that_was_aimed_at() -> None:
    found = [
        target("fast", 6.0),
        target("slow", 3.0),
        target("limit", 0.6, enough=None, stretch=0.5),
        target("compilation", 0.2, at_most=True),
        target("memory", 2.0, unit="B"),
        target("no limit", 2.0, enough=None),
        target("absent", None),
    ]
    figure = drawn(targets([replace(result([row()]), targets=found)]))
    axis = figure.axes[0]
    assert [tick.get_text() for tick in axis.get_yticklabels()] == [
        f"{name}\nvs them" for name in ("fast", "slow", "limit")
    ]
    assert texts(figure) == ["6 ×, target 4 ×", "3 ×, target 4 ×", "0.6 ×, target 0.5 ×"]
    fast, slow, behind = axis.patches
    assert (fast.get_x(), fast.get_x() + fast.get_width()) == (1, 6)
    assert behind.get_x() + behind.get_width() == 0.6
    assert fast.get_facecolor() == behind.get_facecolor() != slow.get_facecolor()  # met, or not
    low, high = axis.get_xlim()
    assert low < 0.54
    assert high > 6.6


def test_results_without_targets_have_none() -> None:
    assert targets([result([row()])]) is None
    assert targets([replace(result([row()]), targets=[target("absent", None)])]) is None
