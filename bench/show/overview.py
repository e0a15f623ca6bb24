"""The overview of a report: the speeds of a run as text, the history of all runs, and their list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.compare.sweeps import MODE, grouped, speed_rows
from bench.records import Result, Row
from bench.show.history import changes, failures, in_order, labels
from bench.show.html import Cell, Section, note, number, paragraph, table, text
from bench.units import engineering

RUNS = ("measured", "tag", "description", "suite", "revision", "rows", "too noisy", "file")


def speeds(run: Result, figure: str) -> Section:
    sentences = "".join(map(paragraph, in_words(run))) or paragraph("No speed was measured in this run.")
    return Section("speeds", "How fast", sentences + figure)


def has_speeds(run: Result) -> bool:
    """Whether speeds were measured, or were to be and failed."""
    return any(row.status != "counted" for row in speed_rows(run.rows))


def in_words(run: Result) -> list[str]:
    """For each environment and workload, the fastest mode, and how much faster it is than one on NumPy."""
    measured = [row for row in speed_rows(run.rows) if row.is_ok]
    return [_fastest(rows) for rows in grouped(measured, *MODE)]


def _fastest(rows: Sequence[Row]) -> str:
    best = max(rows, key=lambda row: row.numbers.median)
    name = f"{best.case.environment}, {best.case.workload} actions"
    single = next((row for row in rows if row.case.mode == "numpy-single"), best)
    words = f"{name}: fastest is {best.case.mode}@{best.case.batch} with {_speed(best)}"
    if single is not best:
        times = engineering(best.numbers.median / single.numbers.median)
        words += f", {times} times as fast as one NumPy environment ({_speed(single)})"
    return words + ("; that is doubtful, the machine was too noisy." if best.doubt or single.doubt else ".")


def _speed(row: Row) -> str:
    return engineering(row.numbers.median, row.unit)


def history(runs: Sequence[Result]) -> Section:
    """A line for each row and a column for each run, the newest first; `runs` are in time order."""
    cells = [changes(runs[:turn], run) for turn, run in enumerate(runs)][::-1]
    names = in_order(cells)
    lines = [[text(name), *(note(some.get(name, "")) for some in cells)] for name in names]
    how = "The newest run comes first. Each number shows its change from the last comparable run."
    errors = "".join(paragraph(line, "fine") for line in failures(runs, names))
    return Section(
        "history", "History", paragraph(how, "fine") + table(["case", *labels(runs)[::-1]], lines) + errors
    )


def runs(results: Mapping[str, Result]) -> Section:
    """Every run of the folder, the newest first; `found` is in time order."""
    count = f"{len(results)} runs, the newest first." if len(results) > 1 else "One run."
    lines = [_run(file, run) for file, run in reversed(list(results.items()))]
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
