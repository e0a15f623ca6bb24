"""Shared by the figures: panels, line styles, axes in engineering notation, crosses for failures."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from bench.records import Result, Row
from bench.units import engineering

# Okabe and Ito's colours, distinguishable with any colour vision; their yellow is too pale for lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
PALE = COLOURS[3:6]
INK = "#101010"  # for text on a pale colour: nearly black, and dark also where a page turns black to white
DASHES = ("-", "--", "-.", ":")
MARKERS = {"numpy-single": "v", "numpy-batch": "s", "jax-single": "^", "jax-vmap": "D", "jax-scan": "o"}
CROSS: dict[str, Any] = {"linestyle": "", "marker": "x", "markersize": 7, "markeredgewidth": 2}
GUIDE: dict[str, Any] = {"color": "#767676", "linestyle": (0, (4, 3)), "linewidth": 1, "zorder": 1}
SMALL = 7

Group = TypeVar("Group")
Style = dict[str, Any]  # keywords of matplotlib
Spread = tuple[float, float, float]  # median, least, greatest


class Panel(NamedTuple):
    """The rows of one machine and revision, and their title."""

    platform: str
    title: str
    machine: str
    rows: list[Row]


def panels(
    results: Iterable[Result], find: Callable[[list[Row]], list[Group]]
) -> list[tuple[Panel, list[Group]]]:
    """For each platform, the newest machine and revision with something to draw, and what that is."""
    campaigns: dict[tuple[str, str], list[Result]] = {}
    for result in sorted(results, key=lambda result: result.when, reverse=True):
        campaigns.setdefault((result.fingerprint, str(result.git)), []).append(result)
    by_platform: dict[str, tuple[Panel, list[Group]]] = {}
    for panel in map(panel_of, campaigns.values()):
        if groups := find(panel.rows):
            by_platform.setdefault(panel.platform, (panel, groups))
    return [by_platform[platform] for platform in sorted(by_platform)]


def panel_of(campaign: Sequence[Result]) -> Panel:
    """Runs of one machine and revision, newest first: if a row was measured twice, the newest counts."""
    rows = {row.name: row for result in reversed(campaign) for row in result.rows}
    system, git = campaign[0].system, campaign[0].git
    device = "" if system.device == system.platform else f" ({system.device})"
    facts = [
        system.cpu,
        f"{system.cores} cores",
        f"Python {system.python}",
        f"JAX {system.jax}" if system.jax else "no JAX",
        f"git {git.short}" if git else "",
    ]
    machine = ", ".join(filter(None, facts))
    return Panel(system.platform, f"{system.platform.upper()}{device}", machine, list(rows.values()))


class Styles:
    """Names and styles for the lines of a figure: the same name has the same style in every panel."""

    def __init__(
        self, drawn: Sequence[tuple[Panel, Sequence[Sequence[Row]]]], with_batch: bool = False
    ) -> None:
        workloads = {row.case.workload for _, groups in drawn for group in groups for row in group}
        self.with_batch, self.with_workload = with_batch, len(workloads) > 1
        self.chunks = {} if with_batch else self._chunks([group for _, groups in drawn for group in groups])
        self.by_name: dict[str, Style] = {}

    def _chunks(self, groups: Sequence[Sequence[Row]]) -> dict[int, str]:
        """The steps of a line's scans by the id of a row, if lines differ in them at the same batch size."""
        scans = [group for group in groups if group[0].case.mode == "jax-scan"]
        steps: dict[int, set[int]] = {}
        for row in (row for group in scans for row in group):
            steps.setdefault(row.case.batch, set()).add(row.case.steps)
        if all(len(some) == 1 for some in steps.values()):
            return {}
        named: dict[int, str] = {}
        for group in scans:
            ends = (choose(row.case.steps for row in group) for choose in (min, max))
            named |= dict.fromkeys(map(id, group), " … ".join(dict.fromkeys(f"×{end}" for end in ends)))
        return named

    def _name(self, row: Row) -> str:
        case = row.case
        mode = f"{case.mode}@{case.batch}" if self.with_batch else case.mode
        return " ".join([case.environment, mode, *self.with_workload * [case.workload]])

    def __call__(self, row: Row) -> Style:
        """The style of the row's line, named by environment, options and mode, and by what else differs."""
        case, turn = row.case, len(self.by_name)
        name = " ".join(filter(None, [self._name(row), self.chunks.get(id(row))]))
        fresh = {
            "label": name,
            "color": COLOURS[turn % len(COLOURS)],
            "linestyle": DASHES[turn // len(COLOURS) % len(DASHES)],
            "marker": MARKERS.get(case.mode, "o"),
            "markersize": 5,
        }
        return self.by_name.setdefault(name, fresh)


def spread(row: Row) -> Spread:
    return row.numbers.median, row.numbers.min, row.numbers.max


def reason(row: Row) -> str:
    error = row.error or ""
    if row.status != "failed":
        return row.status
    return "out of memory" if "memory" in error.lower() else textwrap.shorten(error, 40)


def columns(
    drawn: Sequence[tuple[Panel, Any]], title: str, height: float, rows: int = 1, **shared: Any
) -> tuple[Figure, Any]:
    figure = Figure(figsize=(5 * len(drawn) + 4, 1.3 + height), layout="constrained")
    axes = figure.subplots(rows, len(drawn), squeeze=False, **shared)
    for axis, (panel, _) in zip(axes[0], drawn, strict=True):
        axis.set_title(panel.title, fontsize=10)
    return with_heading(figure, drawn, title), axes


def with_heading(figure: Figure, drawn: Sequence[tuple[Panel, Any]], title: str) -> Figure:
    figure.suptitle(title, fontweight="bold", x=0.01, ha="left")
    machines = "\n".join(f"{panel.title}: {panel.machine}" for panel, _ in drawn)
    figure.supxlabel(machines, fontsize=SMALL, x=0.01, ha="left")
    return figure


def engineering_axis(
    axes: Axes, which: Literal["x", "y"], label: str, unit: str = "", log: bool = False
) -> None:
    """Label an axis, write its ticks in engineering notation and lay a grid."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_label_text(label)
    if log:
        axes.set(**{f"{which}scale": "log"})
        low, high = axis.get_view_interval()
        # Within two decades, powers of ten alone are too few to read values.
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 100 * low else (1.0,)))
        axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: engineering(value, unit)))
    axes.grid(True, axis=which, color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def curve(axis: Axes, style: Style, points: Sequence[tuple[float, Spread]]) -> None:
    xs, middle = [x for x, _ in points], [spread[0] for _, spread in points]
    bars = [[mid - low for _, (mid, low, _) in points], [high - mid for _, (mid, _, high) in points]]
    axis.plot(xs, middle, **style)
    axis.errorbar(xs, middle, bars, fmt="none", ecolor=style["color"], capsize=2.5, elinewidth=1)


def crosses(axis: Axes, failed: Iterable[tuple[float, Row, Style]]) -> None:
    """A cross at the axis for each failed row, with the reason; each at a height of its own."""
    place = axis.get_xaxis_transform()
    for turn, (x, row, style) in enumerate(sorted(failed, key=lambda cross: cross[0])):
        height, colour = 0.03 + 0.05 * turn, style["color"]
        # The line's name makes a legend entry even for a line that never ran.
        axis.plot([x], [height], label=style["label"], transform=place, color=colour, **CROSS)
        # To the left, into the picture; the leftmost cross has no room there.
        side, shift = ("right", -6) if x > axis.dataLim.x0 else ("left", 6)
        font: Style = {"ha": side, "va": "center", "fontsize": SMALL, "color": colour}
        axis.annotate(reason(row), (x, height), (shift, 0), place, "offset points", **font)


def make_room(axis: Axes, turns: int) -> None:
    """Lower the bottom of a log axis, so that this many crosses stand below the data."""
    low, high = axis.get_ylim()
    share = min(0.05 * turns, 0.4)
    axis.set_ylim(bottom=low * (low / high) ** (share / (1 - share)))


def failed_bar(axis: Axes, y: int, row: Row) -> None:
    """A cross at the axis with the reason, instead of a bar."""
    place = axis.get_yaxis_transform()
    axis.plot([0.015], [y], transform=place, color="black", **CROSS)
    axis.annotate(reason(row), (0.015, y), (8, 0), place, "offset points", va="center", fontsize=SMALL)


def beside(axis: Axes, text: str, point: tuple[float, float], shift: int = 6) -> None:
    axis.annotate(text, point, (shift, 0), textcoords="offset points", va="center", fontsize=SMALL)


def name_bars(axis: Axes, names: Sequence[str]) -> None:
    """The names beside the bars, the first one on top."""
    axis.set_yticks(range(len(names)), names, fontsize=8)
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.tick_params(axis="y", length=0)


def legend(figure: Figure) -> Figure:
    """One entry for each name, right of the data."""
    entries: dict[str, Any] = {}
    for axis in figure.axes:
        for handle, name in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(name, handle)
    figure.legend(list(entries.values()), list(entries), loc="outside right upper", fontsize=8, frameon=False)
    return figure
