"""Sweeps: speed, efficiency and memory against the batch size, and against the chunk of a scan."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator
from msgspec.structs import replace

from bench.compare.sweeps import batch_sweeps, chunk_sweeps, per_environment
from bench.records import Result, Row
from bench.show.figures.style import (
    GUIDE,
    Spread,
    Styles,
    columns,
    crosses,
    curve,
    engineering_axis,
    legend,
    make_room,
    panels,
    spread,
)
from bench.units import engineering
from cogrid.backend.backends import BACKENDS

Sweeps = list[list[Row]]
Draw = Callable[[Axes, Sweeps, Styles], None]
PlaceOnAxis = Callable[[Row], int]  # where on the axis


def batch_of(row: Row) -> int:
    return row.case.batch


def chunk_of(row: Row) -> int:
    return row.case.steps


def throughput(results: Iterable[Result]) -> Figure | None:
    """Steps per second against the batch size, with a line of ideal scaling."""

    def draw(axis: Axes, sweeps: Sweeps, styles: Styles) -> None:
        lines(axis, sweeps, styles, batch_of, lambda row, best: spread(row))
        ideal(axis, sweeps)

    label = "throughput of the whole batch (steps/s)"
    return against_batch(results, "Throughput against batch", label, "", draw)


def ideal(axis: Axes, sweeps: Sweeps) -> None:
    """The fastest sweep, extrapolated in proportion to the batch size from its first point."""
    measured = [rows for sweep in sweeps if (rows := [row for row in sweep if row.is_ok])]
    if measured:
        fastest = max(measured, key=lambda rows: max(row.numbers.median for row in rows))
        batches = [fastest[0].case.batch, fastest[-1].case.batch]
        speeds = [batch * per_environment(fastest[0]) for batch in batches]
        # An artist, not a plot: this line must not stretch the axes.
        axis.add_artist(Line2D(batches, speeds, label="ideal: in proportion to the batch", **GUIDE))


def efficiency(results: Iterable[Result]) -> Figure | None:
    """Throughput of each batch, as a share of the best batch of its line."""

    def share(row: Row, best: Row) -> Spread:
        middle, least, greatest = (100 * value / best.numbers.median for value in spread(row))
        return middle, least, greatest

    def draw(axis: Axes, sweeps: Sweeps, styles: Styles) -> None:
        lines(axis, sweeps, styles, batch_of, share)
        axis.axhline(100, label="the best batch", **GUIDE)

    label = "throughput of the whole batch\n(% of that of the best batch)"
    return against_batch(results, "Scaling efficiency", label, "%", draw)


def memory(results: Iterable[Result]) -> Figure | None:
    """Peak memory against the batch, above the bytes of the states alone."""

    def draw(axis: Axes, sweeps: Sweeps, styles: Styles) -> None:
        peaks(axis, sweeps, styles, batch_of)
        rows = [(state_of(row), row) for sweep in sweeps for row in sweep]
        floors = dict.fromkeys((name, size) for name, row in rows if (size := row.memory.get("state_bytes")))
        for turn, (name, size) in enumerate(floors):
            batches = sorted({row.case.batch for other, row in rows if other == name})
            label = f"floor: {name}, {engineering(size, 'B')} × batch"
            style = {**GUIDE, "linestyle": (0, (4, 3, *turn % 4 * (1, 3))), "label": label}
            axis.plot(batches, [size * batch for batch in batches], **style)

    return against_batch(results, "Memory against batch", "peak RSS of the process (bytes)", "B", draw)


def state_of(row: Row) -> str:
    """What a floor is of; the backends store the same state in numbers of different widths."""
    return f"state of {replace(row.case, options={}).environment} on {BACKENDS[row.case.backend].library}"


def against_batch(results: Iterable[Result], title: str, label: str, unit: str, draw: Draw) -> Figure | None:
    drawn = panels(results, batch_sweeps)
    if not drawn:
        return None
    figure, axes = columns(drawn, title, 4, sharey=True)
    styles = Styles(drawn)
    for axis, (_, sweeps) in zip(axes[0], drawn, strict=True):
        draw(axis, sweeps, styles)
    rows = [[row for sweep in sweeps for row in sweep] for _, sweeps in drawn]
    if not any(row.is_ok for panel in rows for row in panel):
        axes[0, 0].set_ylim(1, 10)  # a log axis without data has no limits of its own
    for axis in axes[0]:  # all panels are drawn, so their shared limits are known
        engineering_axis(axis, "x", "environments in the batch", log=True)
        engineering_axis(axis, "y", label, unit, log=True)
        axis.label_outer()
    make_room(axes[0, 0], max(sum(not row.is_ok for row in panel) for panel in rows))
    return legend(figure)


def chunks(results: Iterable[Result]) -> Figure | None:
    drawn = panels(results, chunk_sweeps)
    if not drawn:
        return None
    figure, axes = columns(drawn, "Sensitivity to the chunk of a scan", 5.5, rows=2, sharex="col")
    styles = Styles(drawn, with_batch=True)
    for (speed, used), (_, sweeps) in zip(axes.T, drawn, strict=True):
        lines(speed, sweeps, styles, chunk_of, lambda row, best: spread(row))
        peaks(used, sweeps, styles, chunk_of)
        for axis, label, unit in ((speed, "throughput (steps/s)", ""), (used, "peak RSS (bytes)", "B")):
            axis.set_xscale("log", base=2)
            engineering_axis(axis, "x", "")
            engineering_axis(axis, "y", label, unit)
            axis.set_ylim(0, 1.03 * axis.get_ylim()[1])  # from zero, and no marker cut at the top
        used.set_xlabel("steps in one scan (chunk)")
        used.xaxis.set_major_locator(FixedLocator(sorted({chunk_of(row) for rows in sweeps for row in rows})))
    return legend(figure)


def lines(
    axis: Axes, sweeps: Sweeps, styles: Styles, x: PlaceOnAxis, y: Callable[[Row, Row], Spread]
) -> None:
    """A curve of y(row, fastest row of its sweep) for each sweep, and crosses for what failed."""
    for sweep in sweeps:
        measured = [row for row in sweep if row.is_ok]
        if measured:
            best = max(measured, key=lambda row: row.numbers.median)
            curve(axis, styles(sweep[0]), [(x(row), y(row, best)) for row in measured])
    failures(axis, sweeps, styles, x)


def peaks(axis: Axes, sweeps: Sweeps, styles: Styles, x: PlaceOnAxis) -> None:
    """The process's peak for each sweep, the device's where it is known, and crosses for what failed."""
    for sweep in sweeps:
        style = styles(sweep[0])
        on_device = {"label": f"{style['label']}, on the device", "fillstyle": "none", "linestyle": ":"}
        for field, changes in (("peak_rss_bytes", {}), ("device_peak_bytes", on_device)):
            sizes = {x(row): size for row in sweep if row.is_ok and (size := row.memory.get(field))}
            if sizes:
                axis.plot(list(sizes), list(sizes.values()), **style | changes)
    failures(axis, sweeps, styles, x)


def failures(axis: Axes, sweeps: Sweeps, styles: Styles, x: PlaceOnAxis) -> None:
    crosses(axis, [(x(row), row, styles(row)) for sweep in sweeps for row in sweep if not row.is_ok])
