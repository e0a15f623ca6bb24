"""Results for the figures, and what their lines, marks and texts say."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from msgspec.structs import replace

from bench.records import Against, Result, Row
from tests.bench.support import around, paired, result, row

BATCHES = (1, 10, 100, 1000)
OUT_OF_MEMORY = {"status": "out of memory", "error": "RESOURCE_EXHAUSTED: 9 GB"}
NAME = "CrampedRoom features jax-scan"


def sweep(one: float = 1000, top: float = 20_000, **changes: Any) -> list[Row]:
    """Rows that scale until the top."""
    return [row(batch=batch, samples=around(min(one * batch, top)), **changes) for batch in BATCHES]


def everything() -> list[Row]:
    """Rows for each figure."""
    chunks = [row(batch=4096, steps=steps, speed=1e5 * steps) for steps in (1, 16, 256)]
    profile = row(measure="profile", mode="numpy-batch", samples=[1.0], parts={"move": 0.5})
    return [*sweep(), *chunks, profile, row(library="jaxmarl 0.2.0"), row(name="pair", ab=paired())]


def ab_run() -> Result:
    """A run with every verdict of an A/B, and a row that was measured alone."""
    rows = [
        row(name="same", ab=paired(1.01)),
        row(name="slow", ab=paired(1.12, "slower")),
        row(name="fast", ab=paired(0.8, "faster")),
        row(name="unsure", ab=paired(1.06, "inconclusive", low=0.9, high=1.3)),
        row(name="fresh", ab=replace(paired(verdict="new"), ratio=None, low=None, high=None, smallest=None)),
        row(name="broken", ab=paired(), error="ValueError: no"),
        row(name="alone"),
    ]
    found = result(rows)
    against = Against(revision="main", sha="a" * 40, head="b" * 40)
    return replace(found, configuration=replace(found.configuration, suite="ab", against=against))


def line(figure: Figure, name: str, panel: int = 0) -> list[list[float]]:
    """The points of the line with this name."""
    (found,) = (
        line
        for line in figure.axes[panel].get_lines()
        if line.get_label() == name and line.get_marker() != "x"
    )
    return found.get_xydata().tolist()


def marks(figure: Figure, panel: int = 0) -> list[Line2D]:
    return [line for line in figure.axes[panel].get_lines() if line.get_marker() == "x"]


def texts(figure: Figure, panel: int = 0) -> list[str]:
    return [text.get_text() for text in figure.axes[panel].texts]


def names(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def drawn(figure: Figure | None) -> Figure:
    assert figure is not None
    figure.draw_without_rendering()
    return figure
