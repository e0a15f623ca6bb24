"""Baselines: the committed files that a run is compared with, and how numbers get into them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from bench import ROOT
from bench.exit_codes import UsageError
from bench.measure.gpu.compiled import target_of
from bench.measure.plan import Plan
from bench.records import SCHEMA_VERSION, Acceptance, Hex12, Hex16, Parameters, Record, Result, Row, System
from bench.storage import machine, results
from bench.storage.identity import identity
from cogrid._env.shadow import VARIABLE as SHADOW
from cogrid._io.messages import several

FOLDER = ROOT / "bench" / "baselines"
COLUMNS = ("baseline", "holds", "here", "accepted", "revision", "because")
# Those of a result's environment variables that change what is compiled.
COMPILING = ("XLA_FLAGS", "JAX_ENABLE_X64", "JAX_NUM_CPU_DEVICES")

#: The jaxlib and platform or compiled target, or the NumPy and Python, that counters belong to.
CounterKey = Annotated[dict[str, str], msgspec.Meta(min_length=1)]


class CountedRow(Record):
    """The counters of a case."""

    name: str
    identity: Hex12
    case: Parameters
    checksum: Hex16 | None
    counters: Annotated[dict[str, int], msgspec.Meta(min_length=1)]

    @classmethod
    def of(cls, row: Row) -> CountedRow:
        return cls(**{name: getattr(row, name) for name in cls.__struct_fields__})


class CounterSet(Record):
    """Counters of one key; with `accepted` it is a baseline of counters."""

    schema: Literal[1]
    key: CounterKey
    rows: list[CountedRow]
    accepted: list[Acceptance] = msgspec.field(default_factory=list)


Baseline = Result | CounterSet


class Baselines(NamedTuple):
    timings: Sequence[Result] = ()
    counters: Sequence[CounterSet] = ()

    @classmethod
    def of(cls, *found: Baseline) -> Baselines:
        timings = [one for one in found if isinstance(one, Result)]
        sets = [one for one in found if isinstance(one, CounterSet)]
        return cls(timings, sets + [part for one in timings for part in counter_sets(one)])

    @property
    def is_empty(self) -> bool:
        return not (self.timings or self.counters)


class Accepted(NamedTuple):
    written: list[Path]
    left_out: list[str]


def load(path: Path) -> Baseline:
    """A valid baseline of either kind; any result can serve as one."""
    data = results.read(path)
    if "key" in json.loads(data):
        counted = results.decoded(data, CounterSet, str(path))
        if not any(names <= counted.key.keys() for names in ({"numpy", "python"}, {"jaxlib", "platform"})):
            raise UsageError(f"{path} is damaged: its key names no versions that counters depend on.")
        return counted
    return results.decoded(data, Result, str(path))


def files() -> list[Path]:
    return sorted(FOLDER.glob("*.json"))


def committed(paths: Iterable[Path] | None = None) -> Baselines:
    return Baselines.of(*map(load, files() if paths is None else paths))


def file_name(baseline: Baseline) -> str:
    if isinstance(baseline, Result):
        return f"{machine.fingerprint(baseline.system)}.json"
    key = baseline.key
    if "numpy" in key:
        return f"counters-numpy-{key['numpy']}-python-{key['python']}.json"
    return f"counters-{key['jaxlib']}-{key['platform']}.json"


# Counters


def has_counters(row: Row) -> bool:
    return bool(_is_sound(row) and row.counters and row.library == "cogrid")


def _is_sound(row: Row) -> bool:
    return row.is_ok or row.status == "counted"


def key_of(system: System, backend: str, measure: str = "") -> CounterKey:
    if backend == "numpy":  # this Python's instructions are counted
        return {"numpy": system.numpy, "python": ".".join(system.python.split(".")[:2])}
    flags = {name: value for name, value in system.flags.items() if name in COMPILING}
    return {"jaxlib": str(system.jaxlib), "platform": target_of(measure) or system.platform, **flags}


def describe_key(key: CounterKey) -> str:
    return ", ".join(f"{name} {value}" for name, value in key.items())


def counter_sets(result: Result) -> list[CounterSet]:
    found: dict[str, CounterSet] = {}
    for row in filter(has_counters, result.rows):
        key = key_of(result.system, row.case.backend, row.case.measure)
        empty = CounterSet(schema=SCHEMA_VERSION, key=key, rows=[])
        found.setdefault(describe_key(key), empty).rows.append(CountedRow.of(row))
    return list(found.values())


# Accepting


def accept(paths: Sequence[Path], reason: str, allow_dirty: bool = False) -> Accepted:
    """Put the rows of results into the baselines of their machines and versions: all or nothing."""
    found = [(path, results.load(path)) for path in paths]
    for path, result in found:
        refuse(path, result, reason, allow_dirty)
    now = results.now()
    merged: dict[Path, Baseline] = {}
    for _, result in found:
        for new in parts(result):
            path = FOLDER / file_name(new)
            old = merged.get(path) or (load(path) if path.exists() else None)
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
    """The parts of a result by baseline: stable rows with their times, and all counters."""
    rows = [row for row in result.rows if _is_sound(row) and is_current(row)]
    steady = [row for row in rows if row.is_ok and not row.doubt and not row.is_modelled]
    timed = [replace(result, rows=steady)] if steady else []
    return [*counter_sets(replace(result, rows=rows)), *timed]


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
            configuration.suite in ("ab", "peers"),
            f"its suite is {configuration.suite!r}: accept what `run` measured",
        ),
    ):
        if refused:
            raise UsageError(f"{path} is not accepted, {why}.")
    if not any(_is_sound(row) and is_current(row) for row in result.rows):
        raise UsageError(f"{path} is not accepted, it has no row that today's code measured: measure again.")


def left_out(row: Row) -> str:
    """Why a row, or its times, was not put into a baseline; "" if it was."""
    if not _is_sound(row):
        return f"{row.name}: {row.status}: {row.error}"
    if not is_current(row):
        return f"{row.name}: measured by code that has changed since."
    kept = ", its counters were kept" if row.counters else ""
    return f"{row.name}: {row.doubt}{kept}." if row.doubt else ""


def is_current(row: Row | CountedRow) -> bool:
    """Whether the current code would measure the row in the same way."""
    try:
        return identity(row.case.case, Plan()) == row.identity
    except (TypeError, ValueError):  # a case that no longer exists
        return False


def merge(old: Baseline | None, new: Baseline, record: Acceptance) -> Baseline:
    """Put rows into a baseline; they replace those of the same name and their records."""
    names = set(record.rows)
    records = [
        replace(one, rows=kept)
        for one in (old.accepted if old else [])
        if (kept := [name for name in one.rows if name not in names])
    ]
    old_rows: dict[str, Row | CountedRow] = {row.name: row for row in old.rows} if old else {}
    kept_rows = [row for name, row in old_rows.items() if name not in names]
    new_rows = [_with_checksum(row, old_rows.get(row.name)) for row in new.rows]
    rows = sorted([*kept_rows, *new_rows], key=lambda row: row.name)
    merged: Baseline = replace(new, accepted=[*records, record], rows=rows)
    if isinstance(merged, Result):
        planned: list[Parameters] = [row.case for row in merged.rows]
        merged.configuration = replace(merged.configuration, planned=planned)
    return merged


def _with_checksum(row: Row | CountedRow, old: Row | CountedRow | None) -> Row | CountedRow:
    """A row that was counted but not run has no results, so it keeps the earlier checksum."""
    keeps = row.checksum is None and old is not None and old.identity == row.identity
    return replace(row, checksum=old.checksum) if keeps and old else row


# Inspecting


def troubles(path: Path) -> list[str]:
    try:
        found = load(path)
    except UsageError as error:
        return [str(error)]
    wrong = []
    if not found.accepted:
        wrong.append(f"{path.name} has no record of acceptance: `python -m bench baseline accept` makes it.")
    if path.name != file_name(found):
        wrong.append(f"{path.name} should be called {file_name(found)} after what it holds.")
    if isinstance(found, Result) and found.fingerprint != machine.fingerprint(found.system):
        wrong.append(f"{path.name} has the fingerprint of another machine than it describes.")
    stale = [row.name for row in found.rows if not is_current(row)]
    if stale:
        count = f"{len(stale)} of its {len(found.rows)} rows are measured in another way today"
        wrong.append(f"{path.name} is out of date, {count}: {stale[0]}.")
    return wrong


def fit(baseline: Baseline, here: System) -> str:
    if isinstance(baseline, CounterSet):
        keys = [key_of(here, "numpy"), *(key_of(here, "jax", row.case.measure) for row in baseline.rows)]
        fits = baseline.key in keys
        return "fits" if fits else f"not comparable: counted for {describe_key(baseline.key)}"
    others = machine.differing(baseline.system, here)
    return f"not comparable: other {' and '.join(others)}" if others else "fits"


def described(path: Path, here: System) -> list[str]:
    """A line of the list: file, rows, fit, and when and why its newest rows were accepted."""
    found = load(path)
    newest = found.accepted[-1] if found.accepted else None
    kind = "counters" if isinstance(found, CounterSet) else "times"
    return [
        path.name,
        f"{kind} of {several(len(found.rows), 'case')}",
        fit(found, here),
        newest.when[:10] if newest else "",
        (newest.sha or "")[:10] if newest else "",
        newest.reason if newest else "",
    ]
