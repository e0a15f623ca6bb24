"""Pictures of results, made from the result files alone.

Each figure takes loaded results and is None when they have nothing for it. A panel shows one machine and one
revision: for each platform the newest that has such rows.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import matplotlib
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator

from bench.canvas import (
    COLOURS,
    GUIDE,
    INK,
    PALE,
    SMALL,
    Look,
    Looks,
    Spread,
    columns,
    crosses,
    curve,
    engineered,
    failed_bar,
    headed,
    legend,
    make_room,
    name_bars,
    panels,
    spread,
)
from bench.forest import forest
from bench.ratios import ratios
from bench.sweeps import (
    Result,
    Row,
    batch_sweeps,
    chunk_sweeps,
    grouped,
    is_ok,
    per_environment,
    scene,
    speed_rows,
)
from bench.units import engineering

Sweeps = list[list[Row]]
Draw = Callable[[Axes, Sweeps, Looks], None]

# Sweeps


def throughput(results: Iterable[Result]) -> Figure | None:
    """Steps per second against the batch, with the line on which twice the batch is twice the steps."""

    def draw(axis: Axes, sweeps: Sweeps, looks: Looks) -> None:
        lines(axis, sweeps, looks, "batch", lambda row, first: spread(row))
        ideal(axis, sweeps)

    return against_batch(
        results, "Throughput against batch", "throughput of the whole batch (steps/s)", "", draw
    )


def ideal(axis: Axes, sweeps: Sweeps) -> None:
    """The fastest sweep if it went on in proportion to the batch from its first point."""
    measured = [rows for sweep in sweeps if (rows := [row for row in sweep if is_ok(row)])]
    if measured:
        fastest = max(measured, key=lambda rows: max(spread(row)[0] for row in rows))
        batches = [fastest[0]["case"]["batch"], fastest[-1]["case"]["batch"]]
        speeds = [batch * per_environment(fastest[0]) for batch in batches]
        # An artist and not a plot: where this line ends must not stretch the axes.
        axis.add_artist(Line2D(batches, speeds, label="ideal: in proportion to the batch", **GUIDE))


def efficiency(results: Iterable[Result]) -> Figure | None:
    """What is left of an environment's speed in larger batches."""

    def share(row: Row, first: Row) -> Spread:
        whole = row["case"]["batch"] * per_environment(first) / 100
        middle, least, greatest = spread(row)
        return middle / whole, least / whole, greatest / whole

    def draw(axis: Axes, sweeps: Sweeps, looks: Looks) -> None:
        lines(axis, sweeps, looks, "batch", share)
        axis.axhline(100, label="ideal: as in the smallest batch", **GUIDE)

    label = "throughput per environment\n(% of that in the smallest batch)"
    return against_batch(results, "Scaling efficiency", label, "%", draw)


def memory(results: Iterable[Result]) -> Figure | None:
    """Peak memory against the batch, above the bytes of the states alone."""

    def draw(axis: Axes, sweeps: Sweeps, looks: Looks) -> None:
        peaks(axis, sweeps, looks, "batch")
        sizes = [(row["memory"].get("state_bytes"), row) for sweep in sweeps for row in sweep]
        floors = dict.fromkeys((short(row), size) for size, row in sizes if size)
        for turn, (name, size) in enumerate(floors):
            batches = sorted({row["case"]["batch"] for _, row in sizes if short(row) == name})
            label = f"floor: state of {name}, {engineering(size, 'B')} × batch"
            look = {**GUIDE, "linestyle": (0, (4, 3, *turn % 4 * (1, 3))), "label": label}
            axis.plot(batches, [size * batch for batch in batches], **look)

    return against_batch(results, "Memory against batch", "peak RSS of the process (bytes)", "B", draw)


def short(row: Row) -> str:
    """The environment without options."""
    return scene({**row["case"], "options": {}})


def against_batch(results: Iterable[Result], title: str, label: str, unit: str, draw: Draw) -> Figure | None:
    """A log-log figure of the batch sweeps."""
    found = panels(results, batch_sweeps)
    if not found:
        return None
    figure, axes = columns(found, title, 4, sharey=True)
    looks = Looks(found)
    for axis, (_, sweeps) in zip(axes[0], found, strict=True):
        draw(axis, sweeps, looks)
    rows = [[row for sweep in sweeps for row in sweep] for _, sweeps in found]
    if not any(is_ok(row) for panel in rows for row in panel):
        axes[0, 0].set_ylim(1, 10)  # a log axis without data has no limits of its own
    for axis in axes[0]:  # all panels are drawn, and the limits they share are known
        engineered(axis, "x", "environments in the batch", log=True)
        engineered(axis, "y", label, unit, log=True)
        axis.label_outer()
    make_room(axes[0, 0], max(sum(not is_ok(row) for row in panel) for panel in rows))
    return legend(figure)


def lines(axis: Axes, sweeps: Sweeps, looks: Looks, x: str, y: Callable[[Row, Row], Spread]) -> None:
    """A curve of y(row, first row of its sweep) for each sweep, and crosses for what failed."""
    for sweep in sweeps:
        measured = [row for row in sweep if is_ok(row)]
        if measured:
            curve(axis, looks(sweep[0]), [(row["case"][x], y(row, measured[0])) for row in measured])
    crosses(axis, [(row["case"][x], row, looks(row)) for sweep in sweeps for row in sweep if not is_ok(row)])


def peaks(axis: Axes, sweeps: Sweeps, looks: Looks, x: str) -> None:
    """The process's peak for each sweep, the device's where it is known, and crosses for what failed."""
    for sweep in sweeps:
        look = looks(sweep[0])
        on_device = {"label": f"{look['label']}, on the device", "fillstyle": "none", "linestyle": ":"}
        for field, changes in (("peak_rss_bytes", {}), ("device_peak_bytes", on_device)):
            sizes = {row["case"][x]: row["memory"].get(field) for row in sweep if is_ok(row)}
            sizes = {place: size for place, size in sizes.items() if size}
            if sizes:
                axis.plot(list(sizes), list(sizes.values()), **look | changes)
    crosses(axis, [(row["case"][x], row, looks(row)) for sweep in sweeps for row in sweep if not is_ok(row)])


def chunks(results: Iterable[Result]) -> Figure | None:
    """Speed and memory against the length of the scan."""
    found = panels(results, chunk_sweeps)
    if not found:
        return None
    figure, axes = columns(found, "Sensitivity to the chunk of a scan", 5.5, rows=2, sharex="col")
    looks = Looks(found, with_batch=True)
    for (speed, used), (_, sweeps) in zip(axes.T, found, strict=True):
        lines(speed, sweeps, looks, "steps", lambda row, first: spread(row))
        peaks(used, sweeps, looks, "steps")
        for axis, label, unit in ((speed, "throughput (steps/s)", ""), (used, "peak RSS (bytes)", "B")):
            axis.set_xscale("log", base=2)
            engineered(axis, "x", "")
            engineered(axis, "y", label, unit)
            axis.set_ylim(bottom=0)
        used.set_xlabel("steps in one scan (chunk)")
        used.xaxis.set_major_locator(
            FixedLocator(sorted({row["case"]["steps"] for rows in sweeps for row in rows}))
        )
    return legend(figure)


# Bars


def profiled(rows: list[Row]) -> list[Row]:
    """Profiles, those of one environment together and NumPy first."""
    found = [row for row in rows if row["case"]["measure"] == "profile" and (row["parts"] or not is_ok(row))]
    scenes = list(dict.fromkeys(scene(row["case"]) for row in found))
    return sorted(found, key=lambda row: (scenes.index(scene(row["case"])), row["case"]["mode"][:3] != "num"))


def phases(results: Iterable[Result]) -> Figure | None:
    """The step's phases side by side for NumPy and JAX, as shares of the whole step."""
    found = panels(results, profiled)
    if not found:
        return None
    figure, axes = columns(
        found, "Phases of a step", 0.5 + 0.4 * max(len(rows) for _, rows in found), sharex=True
    )
    parts = dict.fromkeys(part for _, rows in found for row in rows for part in row["parts"])
    # Hatches where the colours run out.
    looks = ({"color": colour, "hatch": hatch} for hatch in ("", "//", "..") for colour in COLOURS)
    named = {part: {"label": part, **look} for part, look in zip(parts, looks, strict=False)}
    for axis, (_, rows) in zip(axes[0], found, strict=True):
        for y, row in enumerate(rows):
            phase_bar(axis, y, row, named) if is_ok(row) else failed_bar(axis, y, row)
        name_bars(
            axis, [f"{scene(row['case'])} {row['case']['mode']}@{row['case']['batch']}" for row in rows]
        )
        axis.axvline(100, label="the whole step", **GUIDE)
        engineered(axis, "x", "share of the whole step (%)")
        axis.xaxis.set_major_locator(FixedLocator(range(0, 1001, 25)))
    axes[0, 0].set_xlim(0, 1.7 * max(axis.dataLim.x1 for axis in axes[0]))  # room for the words
    return legend(figure)


def phase_bar(axis: Axes, y: int, row: Row, looks: dict[str, Look]) -> None:
    """The phases end to end, each with its share; then the whole, and how much of it they sum up to."""
    whole, left = row["statistics"]["median"], 0.0
    for part, seconds in row["parts"].items():
        share = 100 * seconds / whole
        axis.barh(y, share, left=left, height=0.7, edgecolor="white", linewidth=0.5, **looks[part])
        if share >= 8:
            ink = INK if looks[part]["color"] in PALE else "white"
            axis.text(
                left + share / 2, y, f"{share:.0f}", ha="center", va="center", color=ink, fontsize=SMALL
            )
        left += share
    words = f"{engineering(whole, 's')} a step, phases {left:.0f} %"
    axis.annotate(words, (max(left, 100), y), (4, 0), textcoords="offset points", va="center", fontsize=SMALL)


def foreign(row: Row) -> bool:
    """Whether another library was measured."""
    return bool(row["library"] != "cogrid")


def compared(rows: list[Row]) -> Sweeps:
    """The same work done by several libraries: cogrid first, then the fastest."""
    groups = [
        group for group in grouped(speed_rows(rows, None), "library", "steps") if any(map(foreign, group))
    ]
    return [
        sorted(group, key=lambda row: (foreign(row), -spread(row)[0] if is_ok(row) else 0))
        for group in groups
    ]


def libraries(results: Iterable[Result]) -> Figure | None:
    """The speed of other libraries beside cogrid's at the same work."""
    found = panels(results, compared)
    if not found:
        return None
    groups = [(panel, group) for panel, groups in found for group in groups]
    sizes = [len(group) + 1.0 for _, group in groups]
    figure = Figure(figsize=(9, 1.2 + 0.36 * sum(sizes)), layout="constrained")
    axes = figure.subplots(len(groups), sharex=True, squeeze=False, height_ratios=sizes)[:, 0]
    for axis, (panel, group) in zip(axes, groups, strict=True):
        case = group[0]["case"]
        title = f"{scene(case)}, {case['mode']}@{case['batch']}, {case['workload']}, {panel.title}"
        axis.set_title(title, loc="left", fontsize=9)
        library_bars(axis, group)
    speeds = [value for _, group in groups for row in group if is_ok(row) for value in spread(row)] or [1.0]
    for axis in axes:
        axis.set(xscale="log", xlim=(min(speeds) / 5, 100 * max(speeds)))  # room for the words
        engineered(axis, "x", "", log=True)
    axes[-1].set_xlabel("throughput of the whole batch (steps/s)")
    return headed(figure, found, "Libraries on the same machine")


def library_bars(axis: Axes, group: list[Row]) -> None:
    """A bar for each library, with its speed and how cogrid compares."""
    ours = next((spread(row)[0] for row in group if not foreign(row) and is_ok(row)), None)
    for y, row in enumerate(group):
        if not is_ok(row):
            failed_bar(axis, y, row)
            continue
        middle, least, greatest = spread(row)
        axis.barh(y, middle, height=0.7, color=COLOURS[foreign(row)])
        axis.errorbar(middle, y, xerr=[[middle - least], [greatest - middle]], ecolor="black", capsize=2.5)
        words = engineering(middle, row["unit"])
        if foreign(row):
            words += f", cogrid is {ours / middle:.3g} × as fast" if ours else ", no matching row of cogrid"
        axis.annotate(words, (greatest, y), (6, 0), textcoords="offset points", va="center", fontsize=SMALL)
    name_bars(axis, [row["library"] for row in group])


# Files

FIGURES: dict[str, Callable[[Iterable[Result]], Figure | None]] = {
    "throughput": throughput,
    "efficiency": efficiency,
    "memory": memory,
    "chunks": chunks,
    "phases": phases,
    "libraries": libraries,
    "forest": forest,
    "ratios": ratios,
}


def svg(figure: Figure, name: str, transparent: bool = False) -> str:
    """The figure as SVG, the same text each time: no date, and ids that follow from what is drawn."""
    text = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name}):
        figure.savefig(text, format="svg", metadata={"Date": None}, transparent=transparent)
    return text.getvalue()


def drawn(results: Sequence[Result]) -> dict[str, Figure]:
    """Every figure that the results have data for, by name."""
    # A person's own matplotlibrc must not change the pictures.
    with style.context("default"):
        return {name: figure for name, draw in FIGURES.items() if (figure := draw(results))}


def draw_all(results: Sequence[Result], folder: Path) -> list[Path]:
    """Draw every figure that the results have data for, as PNG and SVG; the files that were written."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, figure in drawn(results).items():
        written += [folder / f"{name}.png", folder / f"{name}.svg"]
        with style.context("default"):
            figure.savefig(written[-2], dpi=300)
            written[-1].write_text(svg(figure, name))
    return written
