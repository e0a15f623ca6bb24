"""The figures by name and the files that they are written to, made from results alone.

Each figure takes loaded results and is None if they have no data for it. A panel shows one machine and one
revision: for each platform, the newest with such rows. A new figure needs a function and a line in FIGURES.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import matplotlib
import matplotlib.style
from matplotlib.figure import Figure

from bench.records import Result
from bench.show.figures.bars import phases, speeds, targets
from bench.show.figures.intervals import intervals
from bench.show.figures.libraries import libraries
from bench.show.figures.sweeps import chunks, efficiency, memory, throughput
from bench.storage.results import write_bytes

FIGURES: dict[str, Callable[[Iterable[Result]], Figure | None]] = {
    "speeds": speeds,
    "throughput": throughput,
    "efficiency": efficiency,
    "memory": memory,
    "chunks": chunks,
    "phases": phases,
    "libraries": libraries,
    "forest": intervals,
    "ratios": targets,
}


def svg(figure: Figure, name: str, transparent: bool = False) -> str:
    """The figure as reproducible SVG: without a date, and with deterministic ids."""
    text = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name}):
        figure.savefig(text, format="svg", metadata={"Date": None}, transparent=transparent)
    return text.getvalue()


def drawn(results: Sequence[Result], names: Sequence[str] = tuple(FIGURES)) -> dict[str, Figure]:
    """Every figure that the results have data for, by name."""
    # A user's own matplotlibrc must not change the pictures.
    with matplotlib.style.context("default"):
        return {name: figure for name in names if (figure := FIGURES[name](results))}


def draw_all(results: Sequence[Result], folder: Path) -> list[Path]:
    return draw(results, tuple(FIGURES), folder)


def draw(
    results: Sequence[Result], names: Sequence[str], folder: Path, endings: Sequence[str] = ("png", "svg")
) -> list[Path]:
    """The files of those figures that the results have data for."""
    written: list[Path] = []
    for name, figure in drawn(results, names).items():
        for ending in endings:
            written.append(folder / f"{name}.{ending}")
            save(figure, written[-1])
    return written


def save(figure: Figure, path: Path) -> None:
    """As PNG or SVG, by the ending of the file."""
    with matplotlib.style.context("default"):
        write_bytes(path, svg(figure, path.stem).encode() if path.suffix == ".svg" else _png(figure))


def _png(figure: Figure) -> bytes:
    data = io.BytesIO()
    figure.savefig(data, dpi=300)
    return data.getvalue()
