"""Bar charts: the phases of a step, the speeds of all modes, and the targets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator

from bench.compare.intervals import Interval
from bench.compare.sweeps import speed_rows
from bench.records import Parameters, Result, Row
from bench.show.figures.style import (
    COLOURS,
    GUIDE,
    INK,
    PALE,
    SMALL,
    Style,
    beside,
    columns,
    engineering_axis,
    failed_bar,
    legend,
    name_bars,
    panel_of,
    panels,
    with_heading,
)
from bench.show.together import run_of, without_run
from bench.units import engineering


def profiled(rows: Sequence[Row]) -> list[Row]:
    """Profiles, grouped by environment, NumPy first."""
    profiles = [row for row in rows if row.case.measure == "profile" and (row.parts or not row.is_ok)]
    order = list(dict.fromkeys(row.case.environment for row in profiles))
    return sorted(profiles, key=lambda row: (order.index(row.case.environment), row.case.backend != "numpy"))


def phases(results: Iterable[Result]) -> Figure | None:
    """The step's phases side by side for NumPy and JAX, as shares of the whole step."""
    drawn = panels(results, profiled)
    if not drawn:
        return None
    height = 0.5 + 0.4 * max(len(rows) for _, rows in drawn)
    figure, axes = columns(drawn, "Phases of a step", height, sharex=True)
    parts = dict.fromkeys(part for _, rows in drawn for row in rows for part in row.parts)
    # Hatches when the colours run out.
    styles = ({"color": colour, "hatch": hatch} for hatch in ("", "//", "..") for colour in COLOURS)
    named = {part: {"label": part, **style} for part, style in zip(parts, styles, strict=False)}
    for axis, (_, rows) in zip(axes[0], drawn, strict=True):
        for y, row in enumerate(rows):
            phase_bar(axis, y, row, named) if row.is_ok else failed_bar(axis, y, row)
        name_bars(axis, [f"{row.case.environment} {row.case.mode}@{row.case.batch}" for row in rows])
        axis.axvline(100, label="the whole step", **GUIDE)
        engineering_axis(axis, "x", "share of the whole step (%)")
        axis.xaxis.set_major_locator(FixedLocator(range(0, 1001, 25)))
    axes[0, 0].set_xlim(0, 1.7 * max(axis.dataLim.x1 for axis in axes[0]))  # room for the text
    return legend(figure)


def phase_bar(axis: Axes, y: int, row: Row, styles: Mapping[str, Style]) -> None:
    """The phases end to end, each with its share; then the whole step, and the sum of the phases."""
    whole, left = row.numbers.median, 0.0
    for part, seconds in row.parts.items():
        share, style = 100 * seconds / whole, styles[part]
        axis.barh(y, share, left=left, height=0.7, edgecolor="white", linewidth=0.5, **style)
        if share >= 8:
            font: Style = {"color": INK if style["color"] in PALE else "white", "fontsize": SMALL}
            axis.text(left + share / 2, y, f"{share:.0f}", ha="center", va="center", **font)
        left += share
    beside(axis, f"{engineering(whole, 's')} a step, phases {left:.0f} %", (max(left, 100), y), 4)


def speeds(results: Iterable[Result]) -> Figure | None:
    """Steps per second of every mode, environment by environment."""
    drawn = panels(results, by_environment)
    if not drawn:
        return None
    groups = [(panel, group) for panel, groups in drawn for group in groups]
    sizes = [len(group) + 1.0 for _, group in groups]
    figure = Figure(figsize=(9, 1.2 + 0.3 * sum(sizes)), layout="constrained")
    axes = figure.subplots(len(groups), sharex=True, squeeze=False, height_ratios=sizes)[:, 0]
    middles = [row.numbers.median for _, group in groups for row in group if row.is_ok] or [1.0]
    low = min(middles) / 2
    high = max(middles) * (max(middles) / low) ** 0.3  # room for the text, a share of the axis
    for axis, (panel, group) in zip(axes, groups, strict=True):
        environment = without_run(group[0].case).environment
        axis.set_title(f"{environment}, {panel.title}", loc="left", fontsize=9)
        for y, row in enumerate(group):
            if not row.is_ok:
                failed_bar(axis, y, row)
                continue
            axis.barh(y, row.numbers.median, height=0.7, color=COLOURS[row.case.backend == "numpy"])
            doubt = f" ({row.doubt})" if row.doubt else ""
            beside(axis, engineering(row.numbers.median, row.unit) + doubt, (row.numbers.median, y))
        name_bars(axis, [mode_of(row) for row in group])
        axis.set(xscale="log", xlim=(low, high))
        engineering_axis(axis, "x", "", log=True)
    axes[-1].set_xlabel("steps per second of the whole batch")
    return with_heading(figure, drawn, "Steps per second")


def by_environment(rows: Sequence[Row]) -> list[list[Row]]:
    """The speeds of cogrid, grouped by environment; a single speed needs no picture.

    The same case of several runs is shown side by side.
    """
    groups: dict[str, dict[str, list[Row]]] = {}
    for row in speed_rows(rows):
        if row.ab is None:
            group = groups.setdefault(without_run(row.case).environment, {})
            group.setdefault(_mode(row.case), []).append(row)
    by_name = [[row for same in group.values() for row in same] for group in groups.values()]
    return by_name if sum(map(len, by_name)) > 1 else []


def mode_of(row: Row) -> str:
    return ", ".join(filter(None, [_mode(row.case), run_of(row.case)]))


def _mode(case: Parameters) -> str:
    steps = f" ×{case.steps}" if case.mode == "jax-scan" else ""
    return f"{case.mode}{f'@{case.batch}' if case.batch > 1 else ''}{steps}, {case.workload}"


class Bar(NamedTuple):
    """A target that asks for a speed, as a multiple of a peer's."""

    name: str
    ratio: Interval
    goal: float  # the target, or the stretch goal if there is no target


def targets(results: Iterable[Result]) -> Figure | None:
    """The speeds of the newest run that was compared with peers, as multiples of theirs."""
    with_bars = [result for result in results if bars_of(result)]
    if not with_bars:
        return None
    newest = max(with_bars, key=lambda result: result.when)
    bars = bars_of(newest)
    figure, axes = columns([(panel_of([newest]), bars)], "Beside others", 0.5 + 0.42 * len(bars))
    target_bars(axes[0, 0], bars)
    return figure


def bars_of(result: Result) -> list[Bar]:
    return [
        Bar(f"{one.what}\nvs {one.against}", Interval(one.median, one.low, one.high), goal)
        for one in result.targets
        if one.unit == "×" and not one.at_most and (goal := one.enough or one.stretch)
        if one.median and one.low is not None and one.high is not None
    ]


def target_bars(axis: Axes, bars: Sequence[Bar]) -> None:
    """A bar starting at equal speed, a line at the target, and the ratio."""
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
