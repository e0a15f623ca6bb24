"""The overview of a report: the speeds of the newest run as text, and every run of the folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.compare.sweeps import speed_rows
from bench.records import Result, Row
from bench.show.html import Cell, Section, note, number, paragraph, table, text
from bench.units import engineering

RUNS = ("measured", "tag", "description", "suite", "revision", "rows", "too noisy", "file")


def speeds(run: Result, figure: str) -> Section:
    sentences = "".join(map(paragraph, in_words(run))) or paragraph("No speed was measured in this run.")
    return Section("speeds", "How fast", sentences + figure)


def in_words(run: Result) -> list[str]:
    """For each environment, the fastest mode, and how much faster it is than one NumPy environment."""
    environments: dict[str, list[Row]] = {}
    for row in speed_rows(run.rows):
        if row.is_ok:
            environments.setdefault(row.case.environment, []).append(row)
    return [_fastest(name, rows) for name, rows in environments.items()]


def _fastest(name: str, rows: Sequence[Row]) -> str:
    best = max(rows, key=lambda row: row.numbers.median)
    single = next((row for row in rows if row.case.mode == "numpy-single"), best)
    words = f"{name}: fastest is {best.case.mode}@{best.case.batch} with {_speed(best)}"
    if single is not best:
        times = engineering(best.numbers.median / single.numbers.median)
        words += f", {times} times as fast as one NumPy environment ({_speed(single)})"
    return words + ("; that is doubtful, the machine was too noisy." if best.doubt or single.doubt else ".")


def _speed(row: Row) -> str:
    return engineering(row.numbers.median, row.unit)


def runs(found: Mapping[str, Result]) -> Section:
    """Every run of the folder, the newest first; `found` is in time order."""
    count = f"{len(found)} runs, the newest first." if len(found) > 1 else "One run."
    lines = [_run(file, run) for file, run in reversed(list(found.items()))]
    return Section("runs", "Every run here", paragraph(count) + table(RUNS, lines))


def _run(file: str, run: Result) -> list[Cell]:
    noisy = sum(bool(row.doubt) for row in run.rows)
    return [
        Cell(f"{run.when:%Y-%m-%d %H:%M}", run.when.timestamp()),
        text(run.tag),
        note(run.description),
        text(run.configuration.suite),
        text(run.git.short if run.git else ""),
        number(len(run.rows), str(len(run.rows))),
        number(noisy, str(noisy)),
        note(file),
    ]
