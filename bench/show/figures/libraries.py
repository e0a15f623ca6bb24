"""cogrid and other libraries: one line for each piece of work, on one page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.compare.sweeps import grouped, speed_rows
from bench.records import Result, Row
from bench.show.figures.style import (
    COLOURS,
    CROSS,
    SMALL,
    Style,
    engineering_axis,
    name_bars,
    panels,
    reason,
    spread,
    with_heading,
)
from bench.show.together import run_of, without_run
from bench.units import engineering

Work = list[Row]  # the same work done by several libraries
TITLES = ("batches", "one environment", "other games: different work")
STYLES: tuple[Style, Style] = (
    {"marker": "o", "color": COLOURS[0], "label": "cogrid"},
    {"marker": "s", "color": COLOURS[1], "label": "another library"},
)


def libraries(results: Iterable[Result]) -> Figure | None:
    """The speeds of all libraries that did the same work, in sections; at the right, cogrid's multiple."""
    drawn = panels(results, same_work)
    if not drawn:
        return None
    sections = [
        (f"{title}, {panel.title}", some)
        for panel, works in drawn
        for title, some in zip(TITLES, by_section(works), strict=True)
        if some
    ]
    sizes = [len(works) + 0.6 for _, works in sections]
    figure = Figure(figsize=(8, 1.4 + 0.38 * sum(sizes)), layout="constrained")  # a page
    axes = figure.subplots(len(sections), sharex=True, squeeze=False, height_ratios=sizes)[:, 0]
    for axis, (title, works) in zip(axes, sections, strict=True):
        axis.set_title(title, loc="left", fontsize=9)
        for y, work in enumerate(works):
            work_line(axis, y, work)
        name_bars(axis, [name_of(work) for work in works])
        axis.tick_params(axis="y", labelsize=SMALL)
        axis.set(xscale="log")
    measured = [row for _, works in sections for work in works for row in work if row.is_ok]
    ends = [value for row in measured for value in spread(row)]
    for axis in axes:
        axis.set_xlim(min(ends, default=1.0) / 1.5, max(ends, default=10.0) * 1.5)
        engineering_axis(axis, "x", "", log=True)
    axes[-1].set_xlabel("steps per second of the whole batch")
    marks = dict(zip(*axes[0].get_legend_handles_labels()[::-1], strict=True))
    figure.legend(marks.values(), marks, loc="outside upper right", ncols=2, fontsize=8, frameon=False)
    return with_heading(figure, drawn, "Libraries, and how many times as fast cogrid is")


def same_work(rows: Sequence[Row]) -> list[Work]:
    """The same work done by several libraries: cogrid first, then the fastest."""
    groups = grouped(speed_rows(rows, None), "library", "steps")
    return [
        sorted(group, key=lambda row: (is_peer(row), -row.numbers.median if row.is_ok else 0))
        for group in groups
        if any(map(is_peer, group))
    ]


def is_peer(row: Row) -> bool:
    return row.library != "cogrid"


def by_section(works: Sequence[Work]) -> tuple[list[Work], list[Work], list[Work]]:
    """Batches, one environment, and what cogrid has no row of."""
    shared = [work for work in works if not is_peer(work[0])]
    batched = [work for work in shared if work[0].case.batch > 1]
    single = [work for work in shared if work[0].case.batch == 1]
    return batched, single, [work for work in works if is_peer(work[0])]


def name_of(work: Work) -> str:
    case = without_run(work[0].case)
    batch = f"@{case.batch:,}" if case.batch > 1 else ""
    how = [f"{case.mode}{batch}", case.workload, run_of(work[0].case)]
    return f"{case.environment}\n{', '.join(filter(None, how))}"


def work_line(axis: Axes, y: int, work: Work) -> None:
    """A mark for each library from its least to its greatest sample, and at the right what they say."""
    measured = [row for row in work if row.is_ok]
    middles = [row.numbers.median for row in measured]
    if middles:
        axis.plot([min(middles), max(middles)], [y, y], color="#bbbbbb", linewidth=1, zorder=1)
    for row in measured:
        middle, least, greatest = spread(row)
        axis.plot([least, greatest], [y, y], color=STYLES[is_peer(row)]["color"], linewidth=3, alpha=0.4)
        axis.plot([middle], [y], linestyle="", markersize=5, **STYLES[is_peer(row)])
    if len(measured) < len(work):
        axis.plot([0.015], [y], transform=axis.get_yaxis_transform(), color="black", **CROSS)
    font: Style = {"va": "center", "fontsize": SMALL}
    axis.annotate("; ".join(said(work)), (1, y), (6, 0), axis.get_yaxis_transform(), "offset points", **font)


def said(work: Work) -> list[str]:
    """The ratio to every other library, the speed where there is no row of ours, and why a row is missing."""
    own = next((row.numbers.median for row in work if not is_peer(row) and row.is_ok), None)
    words = []
    for row, name in zip(work, labels(work), strict=True):
        if not row.is_ok:
            words.append(f"{name}: {reason(row)}")
        elif own is None:
            words.append(f"{name}: {engineering(row.numbers.median, row.unit)}")
        elif row.numbers.median != own:
            words.append(f"{own / row.numbers.median:.2g} × {name}")
    return words


def labels(work: Work) -> list[str]:
    """The libraries; where one did the work in several ways, with the words in which their names differ."""
    names = {row.library: [one.name.split() for one in work if one.library == row.library] for row in work}

    def way(row: Row) -> str:
        shared = set.intersection(*map(set, names[row.library])) if len(names[row.library]) > 1 else row.name
        return " ".join(word for word in row.name.split() if word not in shared)

    return [", ".join(filter(None, [row.library, way(row)])) for row in work]
