"""The history of a folder of result files: a line for each row, a column for each run, changes as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from tabulate import tabulate

from bench.compare.findings import doubtful, judge_pair, refusal, time_ratio
from bench.compare.sweeps import batch_sweeps, efficiency
from bench.records import Result, Row
from bench.storage.results import all_in
from bench.units import engineering, pace, percent

SCALING = (
    "The latest run with a batch sweep. Efficiency: steps/s of the batch, relative to the best batch of the "
    "sweep."
)
Cells = dict[str, str]  # by the row's name


def history(folder: Path, batch: int | None = None, scaling_only: bool = False) -> str:
    """All runs of a folder as a table, oldest first; rows that cannot be compared have the reason instead.

    `scaling_only` shows the sweeps of the latest run that has any.
    """
    found = all_in(folder)
    if scaling_only:
        found = dict([one for one in found.items() if batch_sweeps(one[1].rows)][-1:])
    runs = list(found.values())
    cells = [scaling(run) if scaling_only else changes(runs[:turn], run) for turn, run in enumerate(runs)]
    names = in_order(cells[::-1])
    if batch is not None:
        batches = {row.name: row.case.batch for run in runs for row in run.rows}
        names = [name for name in names if batches[name] == batch]
    if not names:
        what = "batch sweeps" if scaling_only else "rows"
        return f"The results in {folder} hold no {what}{'' if batch is None else f' of batch {batch}'}."
    lines = [[name, *(some.get(name, "") for some in cells)] for name in names]
    errors = failures(runs, names)
    table = tabulate(lines, ["case", *labels(runs)], "github", disable_numparse=True)
    about = [SCALING] if scaling_only else []
    return "\n".join([table, "", *about, *descriptions(found), *([""] if errors else []), *errors])


def in_order(newest_first: Sequence[Cells]) -> list[str]:
    """The rows in the newest run's order, then those that only older runs have."""
    return list(dict.fromkeys(name for some in newest_first for name in some))


def descriptions(runs: Mapping[str, Result]) -> list[str]:
    """The date, purpose, revision and file of each run."""
    lines = []
    for label, (file, run) in zip(labels(list(runs.values())), runs.items(), strict=True):
        date, revision = _date(run), run.git.short if run.git else ""
        facts = ["" if date in label else date, run.description, kind(run), revision, file]
        lines.append(f"{label}: {', '.join(filter(None, facts))}")
    return lines


def kind(run: Result) -> str:
    """The suite, or for an A/B what was compared."""
    against = run.configuration.against
    if against is None:
        return run.configuration.suite
    return f"A/B with and without {against.setting}" if against.setting else f"A/B against {against.revision}"


def _date(run: Result) -> str:
    return f"{run.when:%Y-%m-%d %H:%M}"


def labels(runs: Sequence[Result]) -> list[str]:
    """A run's tag, or its date if it has no unique tag."""
    tags = Counter(run.tag for run in runs)
    dates = map(_date, runs)
    return [
        run.tag if run.tag and tags[run.tag] == 1 else f"{run.tag} {date}".lstrip()
        for run, date in zip(runs, dates, strict=True)
    ]


def changes(earlier: Sequence[Result], run: Result) -> Cells:
    """The run's medians, each with its change from the last comparable run, or the verdict of its A/B."""
    cells = {}
    for row in run.rows:
        comparison = ""
        if row.is_ok:
            comparison = judge_pair(row, row.ab).text if row.ab else beside_earlier(earlier, run, row)
        cells[row.name] = ", ".join(filter(None, [median(row), comparison]))
    return cells


def median(row: Row) -> str:
    return engineering(row.numbers.median, row.unit) if row.is_ok else row.status


def beside_earlier(earlier: Sequence[Result], run: Result, row: Row) -> str:
    """The change from the last comparable row, else why the last one is not comparable; "" for a new row.

    A noisy row shows its change too, marked as doubtful; a steady earlier row is preferred to a noisy one.
    """
    noisy: Row | None = None
    refused = ""
    for other in reversed(earlier):
        for before in other.rows:
            if before.name != row.name or not before.is_ok:
                continue
            verdict, why = refusal(other, before, run, row)
            if not verdict:
                return _change(before, row)
            if verdict == "unstable":
                noisy = noisy or before
            else:
                refused = refused or f"not comparable: {why}"
    if noisy:
        return _change(noisy, row)
    return ", ".join(filter(None, [row.doubt, refused]))


def _change(before: Row, row: Row) -> str:
    ratio = time_ratio(before, row).median
    doubt = row.doubt or (before.doubt and f"{before.doubt} before")
    return doubtful(doubt, ratio) if doubt else pace(ratio)


def scaling(run: Result) -> Cells:
    """The speeds of the run's batch sweeps, with the efficiency at each batch size, and what is noisy."""
    cells = {}
    for sweep in batch_sweeps(run.rows):
        shares = efficiency(sweep)
        for row in sweep:
            share = f"efficiency {percent(shares[row.case.batch])}" if row.is_ok else ""
            cells[row.name] = ", ".join(filter(None, [median(row), share, row.doubt]))
    return cells


def failures(runs: Sequence[Result], names: Sequence[str]) -> list[str]:
    return [
        f"{label}: {row.name}: {row.error}"
        for label, run in zip(labels(runs), runs, strict=True)
        for row in run.rows
        if row.error and row.name in names
    ]
