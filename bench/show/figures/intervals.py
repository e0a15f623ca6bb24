"""The intervals of A/B runs: a panel for each run, one interval for each case, worst on top."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from bench.compare.ab_statistics import MARGIN
from bench.compare.findings import Finding, judge_pair
from bench.records import Result, Row
from bench.show.figures.style import (
    COLOURS,
    GUIDE,
    Style,
    beside,
    columns,
    engineering_axis,
    failed_bar,
    name_bars,
    panel_of,
)
from bench.show.history import kind
from bench.units import more

STYLES: dict[str, Style] = {
    "slower": {"color": COLOURS[1], "marker": "s"},
    "faster": {"color": COLOURS[2], "marker": "D"},
    "same": {"color": COLOURS[0], "marker": "o"},
    "inconclusive": {"color": "#767676", "marker": "o", "markerfacecolor": "none"},
}
# The ticks that fit on an axis with this reach.
TICKS = {1.2: (0.9, 1, 1.1), 1.6: (0.8, 0.9, 1, 1.1, 1.25), 1e9: (0.25, 0.5, 1, 2, 4)}


class Line(NamedTuple):
    """A case of the figure; the finding has no ratio if it could not be compared."""

    row: Row
    finding: Finding


def intervals(results: Iterable[Result]) -> Figure | None:
    """How much longer a step takes than at the base, with the interval of each case.

    The rows of two A/B runs are never mixed: what each was compared with may differ.
    """
    order = [(one.system.platform, one.when, one) for one in results if one.is_ab]
    runs = [one for *_, one in sorted(order, key=lambda one: one[:2])]
    if not runs:
        return None
    drawn = [(panel_of([run]), compared(run.rows)) for run in runs]
    names = [kind(run) if run.configuration.against else "A/B" for run in runs]
    height = 0.7 + 0.34 * max(len(lines) for _, lines in drawn)
    figure, axes = columns(drawn, names[0] if len(set(names)) == 1 else "A/B runs", height)
    for axis, run, name, (panel, lines) in zip(axes[0], runs, names, drawn, strict=True):
        if len(runs) > 1:
            axis.set_title(f"{panel.title}, {run.when:%Y-%m-%d %H:%M}\n{name}", fontsize=10)
        draw(axis, lines)
    return figure


def compared(rows: Sequence[Row]) -> list[Line]:
    """The rows that were measured in pairs: those without a ratio first, then the slowest."""
    lines = [Line(row, judge_pair(row, row.ab)) for row in rows if row.ab]
    return sorted(lines, key=lambda line: -line.finding.ratio.median if line.finding.ratio else float("-inf"))


def draw(axis: Axes, lines: Sequence[Line]) -> None:
    """The intervals around the line on which nothing changed, and the text of each verdict."""
    axis.axvspan(1 / (1 + MARGIN), 1 + MARGIN, color="#767676", alpha=0.15, linewidth=0)
    axis.axvline(1, **GUIDE)
    ratios = [line.finding.ratio for line in lines if line.finding.ratio]
    reach = max([1.12, *(max(ratio.high, 1 / ratio.low) for ratio in ratios)]) ** 1.05
    axis.set(xscale="log", xlim=(1 / reach, reach**2.2))  # room for the text
    for y, (row, finding) in enumerate(lines):
        if finding.ratio:
            (median, low, high), style = finding.ratio, STYLES[finding.verdict]
            axis.plot([low, high], [y, y], color=style["color"], linewidth=1.8, solid_capstyle="butt")
            axis.plot([median], [y], linestyle="", markersize=6, **style)
            beside(axis, finding.text, (reach, y), 4)
        elif row.is_ok:
            beside(axis, finding.text, (1, y))
        else:
            failed_bar(axis, y, row)
    name_bars(axis, [line.row.name for line in lines])
    engineering_axis(axis, "x", "time against the base (shaded: the same)")
    ticks = next(ticks for limit, ticks in TICKS.items() if reach <= limit)
    axis.xaxis.set_major_locator(FixedLocator([tick for tick in ticks if 1 / reach <= tick <= reach]))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda ratio, _: more(ratio)))
