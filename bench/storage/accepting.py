"""Accepting: how numbers get into the baselines, with the reason and a digest of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from bench.exit_codes import UsageError
from bench.measure.plan import Plan
from bench.records import SCHEMA_VERSION, Acceptance, Parameters, Result, Row
from bench.storage import baselines, machine, results
from bench.storage.baselines import (
    COMPILING,
    Baseline,
    CountedRow,
    Slowdown,
    Slowdowns,
    counter_sets,
    is_current,
    is_sound,
)
from cogrid._env.shadow import VARIABLE as SHADOW

AnyRow = Row | CountedRow | Slowdown


class Accepted(NamedTuple):
    written: list[Path]
    left_out: list[str]


def accept(paths: Sequence[Path], reason: str, allow_dirty: bool = False) -> Accepted:
    """Put the rows of results into the baselines of their machines and versions: all or nothing."""
    found = [(path, results.load(path)) for path in paths]
    for path, result in found:
        refuse(path, result, reason, allow_dirty)
    now = results.now()
    merged: dict[Path, Baseline] = {}
    for _, result in found:
        for new in parts(result):
            path = baselines.FOLDER / baselines.file_name(new)
            old = merged.get(path) or (baselines.load(path) if path.exists() else None)
            record = Acceptance(
                when=now,
                sha=result.git.sha if result.git else None,
                dirty=result.git.dirty if result.git else True,
                reason=reason,
                rows=sorted(row.name for row in new.rows),
            )
            merged[path] = merge(old, new, record)
    for path, baseline in merged.items():
        results.write(path, baseline)
    rows = [row for _, result in found for row in result.rows]
    return Accepted(list(merged), list(filter(None, map(left_out, rows))))


def parts(result: Result) -> list[Baseline]:
    """The parts of a result by baseline: stable rows with their times, and all counters.

    Of an A/B they are its confirmed slowdowns: its speeds say something only about each other.
    """
    if result.configuration.suite == "ab":
        return (
            [Slowdowns(schema=SCHEMA_VERSION, rows=slower, accepted=[])]
            if (slower := slowdowns(result))
            else []
        )
    rows = [row for row in result.rows if is_sound(row) and is_current(row)]
    steady = [row for row in rows if row.is_ok and not row.doubt and not row.is_modelled]
    timed = [replace(result, rows=steady)] if steady else []
    return [*counter_sets(replace(result, rows=rows)), *timed]


def slowdowns(result: Result) -> list[Slowdown]:
    """The confirmed slowdowns of an A/B, each up to the upper end of its interval."""
    against = result.configuration.against
    if against is None or against.setting:  # a setting is no change of the code
        return []
    found = [(row.name, row.ab) for row in result.rows if row.ab]
    return [
        Slowdown(name=name, limit=ab.high)
        for name, ab in found
        if ab.verdict == "slower" and ab.confirmed and ab.high is not None
    ]


def refuse(path: Path, result: Result, reason: str, allow_dirty: bool) -> None:
    """Raise an error if a whole result is unusable as a baseline."""
    configuration, git = result.configuration, result.git
    set_flags = [name for name in (*COMPILING, SHADOW) if name in result.system.flags]
    wrong = [row.name for row in result.rows if row.status == "mismatch"]
    for refused, why in (
        (not reason.strip(), "--reason is empty: say why these numbers are accepted"),
        (bool(wrong), f"it has wrong results ({', '.join(wrong)}): fix them first"),
        (
            not allow_dirty and (git is None or git.dirty),
            f"its checkout had {machine.changes_of(git)}: commit and measure again, or say --allow-dirty",
        ),
        (
            configuration.plan._replace(samples=0) != Plan(samples=0),
            "it was sampled in a way of its own: run without --iterations and --warmup",
        ),
        (bool(set_flags), f"it was measured under {', '.join(set_flags)}: unset that"),
        (
            configuration.suite == "peers",
            "its suite is 'peers': accept what `run` measured",
        ),
        (
            configuration.suite == "ab" and not slowdowns(result),
            "it has no confirmed slowdown: results are accepted from `run`, counters from `count`",
        ),
    ):
        if refused:
            raise UsageError(f"{path} is not accepted, {why}.")
    if not any(is_sound(row) and is_current(row) for row in result.rows):
        raise UsageError(f"{path} is not accepted, it has no row that today's code measured: measure again.")


def left_out(row: Row) -> str:
    """Why a row, or its times, was not put into a baseline; "" if it was."""
    if not is_sound(row):
        return f"{row.name}: {row.status}: {row.error}"
    if not is_current(row):
        return f"{row.name}: measured by code that has changed since."
    kept = ", its counters were kept" if row.counters else ""
    return f"{row.name}: {row.doubt}{kept}." if row.doubt else ""


def merge(old: Baseline | None, new: Baseline, record: Acceptance) -> Baseline:
    """Put rows into a baseline; they replace those of the same name and their records."""
    names = set(record.rows)
    records = [
        replace(one, rows=kept)
        for one in (old.accepted if old else [])
        if (kept := [name for name in one.rows if name not in names])
    ]
    old_rows: dict[str, AnyRow] = {row.name: row for row in old.rows} if old else {}
    kept_rows = [row for name, row in old_rows.items() if name not in names]
    new_rows = [_with_checksum(row, old_rows.get(row.name)) for row in new.rows]
    rows = sorted([*kept_rows, *new_rows], key=lambda row: row.name)
    merged: Baseline = replace(new, accepted=[*records, record], rows=rows)
    if isinstance(merged, Result):
        planned: list[Parameters] = [row.case for row in merged.rows]
        merged.configuration = replace(merged.configuration, planned=planned)
    return baselines.sealed(merged)


def _with_checksum(row: AnyRow, old: AnyRow | None) -> AnyRow:
    """A row that was counted but not run has no results, so it keeps the earlier checksum."""
    if isinstance(row, Slowdown) or isinstance(old, Slowdown | None) or row.checksum is not None:
        return row
    return replace(row, checksum=old.checksum) if old.identity == row.identity else row
