"""Several result files in one picture: none hides another, and rows are named after their files if needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from bench.records import Parameters, Result, Row, TargetResult

RUN = "run"  # the file of a row, as one more option of its case, so that figures group by it and name it


def by_label(runs: Mapping[Path, Result]) -> dict[str, Result]:
    """The results by the names of their files, or by their whole paths if two have the same name."""
    stems = [path.stem for path in runs]
    return {path.stem if stems.count(path.stem) == 1 else str(path): result for path, result in runs.items()}


def together(by_label: Mapping[str, Result]) -> list[Result]:
    """One result for each platform, with the rows of all; an A/B run, whose rows have a base, stays alone."""
    platforms: dict[str, dict[str, Result]] = {}
    for label, result in sorted(by_label.items(), key=lambda one: one[1].when):
        if not result.is_ab:
            platforms.setdefault(result.system.platform, {})[label] = result
    return [*map(_joined, platforms.values()), *(one for one in by_label.values() if one.is_ab)]


def _joined(some: Mapping[str, Result]) -> Result:
    """The newest result with the rows of all; it names a revision and machine only if all share them."""
    *_, newest = results = list(some.values())
    if len(results) == 1:
        return newest
    one_revision = len({str(one.git) for one in results}) == 1
    one_machine = len({one.fingerprint for one in results}) == 1
    if not (one_revision and one_machine) or _overlap(results):
        results = [
            _named(one, label if one_revision else _with_revision(label, one)) for label, one in some.items()
        ]
    return replace(
        newest,
        git=newest.git if one_revision else None,
        system=newest.system if one_machine else replace(newest.system, cpu="several machines or versions"),
        rows=[row for one in results for row in one.rows],
        targets=[target for one in results for target in one.targets],
    )


def _overlap(results: Sequence[Result]) -> bool:
    """Whether several results measured the same case."""
    rows = [(row.library, row.name) for one in results for row in one.rows]
    rows += [(target.what, target.against) for one in results for target in one.targets]
    return len(set(rows)) < len(rows)


def _with_revision(label: str, result: Result) -> str:
    return f"{label} (git {result.git.short})" if result.git else label


def _named(result: Result, label: str) -> Result:
    def row_of(row: Row) -> Row:
        case = replace(row.case, options={**row.case.options, RUN: label})
        return replace(row, name=f"{row.name}, {label}", case=case)

    def target_of(target: TargetResult) -> TargetResult:
        return replace(target, what=f"{target.what}, {label}")

    return replace(result, rows=[*map(row_of, result.rows)], targets=[*map(target_of, result.targets)])


def run_of(case: Parameters) -> str:
    """The file of a row, "" if it needs no name."""
    return str(case.options.get(RUN, ""))


def without_run(case: Parameters) -> Parameters:
    return replace(case, options={name: value for name, value in case.options.items() if name != RUN})
