"""The bars of a run of peers: which targets are shown, where their limits are, and the words."""

from __future__ import annotations

from typing import Any

from bench.ratios import ratios
from tests.bench.support import result, row
from tests.bench.test_plots import drawn, texts


def target(what: str, median: float | None, **facts: Any) -> dict[str, Any]:
    ends = {"low": median and median * 0.9, "high": median and median * 1.1, "median": median}
    return {"what": what, "against": "them", "unit": "×", "enough": 4.0, "at_most": False, **ends, **facts}


def test_a_bar_for_each_speed_that_was_aimed_at() -> None:
    targets = [
        target("fast", 6.0),
        target("slow", 3.0),
        target("limit", 0.6, enough=None, stretch=0.5),
        target("compilation", 0.2, at_most=True),
        target("memory", 2.0, unit="B"),
        target("no limit", 2.0, enough=None),
        target("absent", None),
    ]
    figure = drawn(ratios([{**result([row()]), "targets": targets}]))
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
    assert ratios([result([row()])]) is None
    assert ratios([{**result([row()]), "targets": [target("absent", None)]}]) is None
