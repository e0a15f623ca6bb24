"""The targets of a run of peers: how many times as fast as each of them, beside what was aimed at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.compare.intervals import Interval
from bench.records import Result
from bench.show.figures.style import COLOURS, GUIDE, beside, columns, engineering_axis, name_bars, panel_of


class Bar(NamedTuple):
    """A target that asks for a speed, as a multiple of a peer's."""

    name: str
    ratio: Interval
    goal: float  # what is enough, or the stretch where nothing is


def targets(results: Iterable[Result]) -> Figure | None:
    """The speeds of the newest run that was compared with peers, as multiples of theirs."""
    found = [result for result in results if bars_of(result)]
    if not found:
        return None
    newest = max(found, key=lambda result: result.when)
    bars = bars_of(newest)
    figure, axes = columns([(panel_of([newest]), bars)], "Beside others", 0.5 + 0.42 * len(bars))
    draw(axes[0, 0], bars)
    return figure


def bars_of(result: Result) -> list[Bar]:
    """The measured targets that ask for a speed and have a goal."""
    return [
        Bar(f"{one.what}\nvs {one.against}", Interval(one.median, one.low, one.high), goal)
        for one in result.targets
        if one.unit == "×" and not one.at_most and (goal := one.enough or one.stretch)
        if one.median and one.low is not None and one.high is not None
    ]


def draw(axis: Axes, bars: Sequence[Bar]) -> None:
    """A bar from as fast as the other one, a line where the target is, and the ratio."""
    ends = [end for bar in bars for end in (bar.ratio.low, bar.ratio.high, bar.goal)]
    axis.set(xscale="log", xlim=(min(0.9, *ends) / 1.1, max(1.1, *ends) * 4))  # room for the text
    for y, (_, (ratio, low, high), goal) in enumerate(bars):
        axis.barh(y, ratio - 1, left=1, height=0.6, color=COLOURS[0] if ratio >= goal else COLOURS[1])
        axis.plot([low, high], [y, y], color="black", linewidth=1)
        axis.plot([goal, goal], [y - 0.4, y + 0.4], color="black", linewidth=2)
        beside(axis, f"{ratio:.3g} ×, target {goal:g} ×", (max(ratio, goal, high, 1), y))
    axis.axvline(1, **GUIDE)
    name_bars(axis, [bar.name for bar in bars])
    engineering_axis(axis, "x", "times as fast (black line: the target)", log=True)
