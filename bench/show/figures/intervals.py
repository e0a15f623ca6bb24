"""The forest plot of an A/B run: an interval for each case, worst on top."""

from __future__ import annotations

from collections.abc import Iterable

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from bench.canvas import COLOURS, GUIDE, SMALL, Look, columns, failed_bar, name_bars, panels
from bench.judge import COMPARED, judge_pair
from bench.sweeps import Result, Row, is_ok, when
from bench.units import more
from bench.verdicts import MARGIN

LOOKS: dict[str, Look] = {
    "slower": {"color": COLOURS[1], "marker": "s"},
    "faster": {"color": COLOURS[2], "marker": "D"},
    "same": {"color": COLOURS[0], "marker": "o"},
    "inconclusive": {"color": "#767676", "marker": "o", "markerfacecolor": "none"},
}
# Which ticks have room on an axis that reaches this far.
TICKS = {1.2: (0.9, 1, 1.1), 1.6: (0.8, 0.9, 1, 1.1, 1.25), 1e9: (0.25, 0.5, 1, 2, 4)}


def forest(results: Iterable[Result]) -> Figure | None:
    """How much longer a step takes than at the base, with the interval of each case."""
    ours = [result for result in results if any("ab" in row for row in result["rows"])]
    found = panels(ours, pairs)
    if not found:
        return None
    newest = max(ours, key=when)
    base = newest["configuration"].get("against", {}).get("revision", "the base")
    height = 0.7 + 0.34 * max(len(rows) for _, rows in found)
    figure, axes = columns(found, f"A/B against {base}", height)
    for axis, (_, rows) in zip(axes[0], found, strict=True):
        draw(axis, rows)
    return figure


def pairs(rows: list[Row]) -> list[Row]:
    """The rows that were measured in pairs: what has no ratio first, then the slowest."""
    found = [row for row in rows if "ab" in row]
    return sorted(found, key=lambda row: -row["ab"]["ratio"] if compared(row) else float("-inf"))


def compared(row: Row) -> bool:
    """Whether the row has an interval."""
    return is_ok(row) and row["ab"]["verdict"] in COMPARED


def draw(axis: Axes, rows: list[Row]) -> None:
    """The intervals around the line on which nothing changed, and the words of each verdict."""
    axis.axvspan(1 / (1 + MARGIN), 1 + MARGIN, color="#767676", alpha=0.15, linewidth=0)
    axis.axvline(1, **GUIDE)
    ends = [row["ab"][end] for row in rows if compared(row) for end in ("low", "high")]
    reach = max([1.12, *ends, *(1 / end for end in ends)]) ** 1.05
    axis.set(xscale="log", xlim=(1 / reach, reach**2.2))  # room for the words
    for y, row in enumerate(rows):
        interval_of(axis, y, row, reach) if compared(row) else without(axis, y, row)
    name_bars(axis, [row["name"] for row in rows])
    ticks = next(ticks for limit, ticks in TICKS.items() if reach <= limit)
    axis.xaxis.set_major_locator(FixedLocator([tick for tick in ticks if 1 / reach <= tick <= reach]))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda ratio, _: more(ratio)))
    axis.grid(True, axis="x", color="#dddddd", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.set_xlabel("time against the base (shaded: the same)")
    axis.spines[["top", "right"]].set_visible(False)


def interval_of(axis: Axes, y: int, row: Row, reach: float) -> None:
    """One case."""
    ab = row["ab"]
    look = LOOKS[ab["verdict"]]
    axis.plot([ab["low"], ab["high"]], [y, y], color=look["color"], linewidth=1.8, solid_capstyle="butt")
    axis.plot([ab["ratio"]], [y], linestyle="", markersize=6, **look)
    axis.annotate(
        judge_pair(row).told, (reach, y), (4, 0), textcoords="offset points", va="center", fontsize=SMALL
    )


def without(axis: Axes, y: int, row: Row) -> None:
    """A case that has no interval, and why."""
    if is_ok(row):
        axis.annotate(
            row["ab"]["verdict"], (1, y), (6, 0), textcoords="offset points", va="center", fontsize=SMALL
        )
    else:
        failed_bar(axis, y, row)
