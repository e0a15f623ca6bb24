"""The targets of a run of peers: which are shown, where their limits are, and the texts."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from bench.records import TargetResult
from bench.show.figures.bars import targets
from tests.bench.show.figures.support import drawn, texts
from tests.bench.support import result, row


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
