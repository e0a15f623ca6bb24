"""The history of a folder of result files: a line for each row, a column for each run, changes in words."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from tabulate import tabulate

from bench import words
from bench.judge import refusal
from bench.results import ResultError, load
from bench.sweeps import Result, Row, batch_sweeps, efficiency, is_ok, when
from bench.units import change, engineering

Cells = dict[str, str]  # by the row's name
REFUSED = "not comparable"


def history(folder: Path, batch: int | None = None, scaling_only: bool = False) -> str:
    """All runs of a folder as a table, oldest first; what cannot be compared says why instead of a number."""
    runs = read(folder)
    if not runs:
        return f"{folder} holds no result files: `python -m bench run` writes one."
    cells = (
        [scaling(run) for run in runs] if scaling_only else [changes(runs, turn) for turn in range(len(runs))]
    )
    # The newest run's order, then what only older runs have.
    names = list(dict.fromkeys(name for found in reversed(cells) for name in found))
    if batch is not None:
        names = [name for name in names if batch_of(runs, name) == batch]
    if not names:
        return nothing(folder, batch, scaling_only)
    lines = [[name, *(found.get(name, "") for found in cells)] for name in names]
    table = tabulate(lines, ["case", *labels(runs)], "github", disable_numparse=True)
    return "\n".join([table, *failures(runs, names)])


def read(folder: Path) -> list[Result]:
    """The readable results of the folder in time order; stderr names the others, which stay as they are."""
    if not folder.is_dir():
        raise ResultError(f"{folder} is no folder: give the one that holds the result files.")
    runs = []
    for path in sorted(folder.glob("*.json")):
        try:
            runs.append(load(path))
        except (ResultError, OSError) as error:
            print(f"bench: left out: {error}", file=sys.stderr)
    return sorted(runs, key=when)


def labels(runs: list[Result]) -> list[str]:
    """A run's tag, or its date where it has none or others have the same."""
    tags = Counter(run["tag"] for run in runs)
    dates = [f"{when(run):%Y-%m-%d %H:%M}" for run in runs]
    return [
        date if not run["tag"] else run["tag"] if tags[run["tag"]] == 1 else f"{run['tag']} {date}"
        for run, date in zip(runs, dates, strict=True)
    ]


def batch_of(runs: list[Result], name: str) -> int:
    """The batch of the newest row of this name."""
    return next(int(row["case"]["batch"]) for run in runs[::-1] for row in run["rows"] if row["name"] == name)


def changes(runs: list[Result], turn: int) -> Cells:
    """The run's medians, each with its change against the last earlier run that can be compared."""
    return {row["name"]: cell(runs[:turn], runs[turn], row) for row in runs[turn]["rows"]}


def cell(earlier: list[Result], run: Result, row: Row) -> str:
    """A row's median and what it says beside the one before."""
    if not is_ok(row):
        return str(row["status"])
    median = engineering(row["statistics"]["median"], row["unit"])
    if words.doubt(row):
        return f"{median}, {words.doubt(row)}"
    pairs = [
        (other, before)
        for other in reversed(earlier)
        for before in other["rows"]
        if before["name"] == row["name"] and is_ok(before)
    ]
    verdicts = [verdict(other, before, run, row) for other, before in pairs]
    told = next((words for words in verdicts if not words.startswith(REFUSED)), (verdicts or [""])[0])
    return ", ".join(filter(None, [median, told]))


def verdict(other: Result, before: Row, run: Result, row: Row) -> str:
    """The change from a row before, or why there is none to tell."""
    refused, why = refusal(other, before, run, row)
    if refused:
        return f"{REFUSED}: {why}"
    return change(before["statistics"]["median"], row["statistics"]["median"], row["unit"])


def scaling(run: Result) -> Cells:
    """The speeds of the run's batch sweeps, with what is left of an environment's speed in each batch."""
    sweeps = batch_sweeps(run["rows"])
    return {row["name"]: share_of(row, efficiency(sweep)) for sweep in sweeps for row in sweep}


def share_of(row: Row, shares: dict[int, float]) -> str:
    """A row of a sweep in words."""
    if not is_ok(row):
        return str(row["status"])
    speed = engineering(row["statistics"]["median"], row["unit"])
    return f"{speed}, efficiency {words.percent(shares[row['case']['batch']])}"


def failures(runs: list[Result], names: list[str]) -> list[str]:
    """A line for each row that has no number, with its error."""
    found = [
        f"{label}: {row['name']}: {row['error']}"
        for label, run in zip(labels(runs), runs, strict=True)
        for row in run["rows"]
        if not is_ok(row) and row["name"] in names
    ]
    return ["", *found] if found else []


def nothing(folder: Path, batch: int | None, scaling_only: bool) -> str:
    """A sentence for a table without lines."""
    kind = "batch sweeps" if scaling_only else "rows"
    return f"The results in {folder} hold no {kind}{'' if batch is None else f' of batch {batch}'}."
