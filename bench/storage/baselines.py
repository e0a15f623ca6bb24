"""Baselines: the committed files that a run is compared with; `accepting` puts numbers into them."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from bench import ROOT
from bench.exit_codes import UsageError
from bench.measure.gpu.compiled import target_of
from bench.measure.plan import Plan
from bench.records import SCHEMA_VERSION, Acceptance, Hex12, Hex16, Parameters, Record, Result, Row, System
from bench.storage import machine, results
from bench.storage.identity import identity
from cogrid._io.messages import several

FOLDER = ROOT / "bench" / "baselines"
COLUMNS = ("baseline", "holds", "here", "accepted", "revision", "because")
# Those of a result's environment variables that change what is compiled.
COMPILING = ("XLA_FLAGS", "JAX_ENABLE_X64", "JAX_NUM_CPU_DEVICES")

# Counters were found to be equal on all of these (decision 050); another machine has its own.
COUNTED_ON = ("x86_64", "AMD64")

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


class Slowdown(Record):
    """A case of an A/B that may be this much slower than before."""

    name: str
    limit: Annotated[float, msgspec.Meta(ge=1)]  # of the ratio of times


class Slowdowns(Record):
    """The accepted slowdowns."""

    schema: Literal[1]
    rows: list[Slowdown]
    accepted: list[Acceptance]


Baseline = Result | CounterSet | Slowdowns


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


def load(path: Path) -> Baseline:
    """A valid baseline of any kind; any result can serve as one. Raises an error if it was edited by hand."""
    data = results.read(path)
    found = decoded(data, str(path))
    if found.accepted and not _is_as_accepted(found, json.loads(data)["rows"]):
        raise UsageError(
            f"{path} is damaged: its rows are not those that were accepted, so it was edited without "
            "`python -m bench baseline accept`."
        )
    return found


def _is_as_accepted(baseline: Baseline, rows: Sequence[Any]) -> bool:
    """Whether each row, as it is in the file, belongs to a record with the digest of its rows."""
    named = {name for one in baseline.accepted for name in one.rows}
    whole = all(one.digest == digest(rows, one.rows) for one in baseline.accepted)
    return whole and {row["name"] for row in rows} == named


def decoded(data: bytes, name: str) -> Baseline:
    """A baseline from its bytes, whether it was edited or not."""
    fields = json.loads(data).keys()
    if "key" in fields:
        counted = results.decoded(data, CounterSet, name)
        if not any(names <= counted.key.keys() for names in ({"numpy", "python"}, {"jaxlib", "platform"})):
            raise UsageError(f"{name} is damaged: its key names no versions that counters depend on.")
        return counted
    if fields == {"schema", "rows", "accepted"}:
        return results.decoded(data, Slowdowns, name)
    return results.decoded(data, Result, name)


def digest(rows: Iterable[Any], names: Iterable[str]) -> str:
    """16 hex digits of the named rows as a file has them, so that later fields of a row change nothing."""
    chosen = set(names)
    text = json.dumps([row for row in rows if row["name"] in chosen], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def sealed(baseline: Baseline) -> Baseline:
    """The baseline with the digests of its rows."""
    raw = json.loads(results.encoded(baseline))["rows"]
    return replace(
        baseline, accepted=[replace(one, digest=digest(raw, one.rows)) for one in baseline.accepted]
    )


def at_revision(sha: str, name: str) -> Baseline | None:
    """The committed baseline of that name at a revision; None if it had none, or not in today's form."""
    try:
        data = machine.git("show", f"{sha}:./bench/baselines/{name}").encode()
        return decoded(data, f"{name} of {sha[:10]}")
    except (subprocess.CalledProcessError, UsageError):
        return None


def files() -> list[Path]:
    return sorted(FOLDER.glob("*.json"))


def committed(paths: Iterable[Path] | None = None) -> Baselines:
    return Baselines.of(*map(load, files() if paths is None else paths))


def file_name(baseline: Baseline) -> str:
    if isinstance(baseline, Slowdowns):
        return "slowdowns.json"
    if isinstance(baseline, Result):
        return f"{machine.fingerprint(baseline.system)}.json"
    key = baseline.key
    other = f"-{key['machine']}" if "machine" in key else ""
    if "numpy" in key:
        return f"counters-numpy-{key['numpy']}-python-{key['python']}{other}.json"
    return f"counters-{key['jaxlib']}-{key['platform']}{other}.json"


# Counters


def has_counters(row: Row) -> bool:
    return bool(is_sound(row) and row.counters and row.library == "cogrid")


def is_sound(row: Row) -> bool:
    return row.is_ok or row.status == "counted"


def key_of(system: System, backend: str, measure: str = "") -> CounterKey:
    other = {} if system.machine in COUNTED_ON else {"machine": system.machine}
    if backend == "numpy":  # this Python's instructions are counted
        return {"numpy": system.numpy, "python": ".".join(system.python.split(".")[:2]), **other}
    flags = {name: value for name, value in system.flags.items() if name in COMPILING}
    platform = target_of(measure) or system.platform
    return {"jaxlib": str(system.jaxlib), "platform": platform, **other, **flags}


def describe_key(key: CounterKey) -> str:
    return ", ".join(f"{name} {value}" for name, value in key.items())


def counter_sets(result: Result) -> list[CounterSet]:
    found: dict[str, CounterSet] = {}
    for row in filter(has_counters, result.rows):
        key = key_of(result.system, row.case.backend, row.case.measure)
        empty = CounterSet(schema=SCHEMA_VERSION, key=key, rows=[])
        counted = replace(CountedRow.of(row), identity=counting_identity(result, row))
        found.setdefault(describe_key(key), empty).rows.append(counted)
    return list(found.values())


def counting_identity(result: Result, row: Row) -> str:
    """The identity of a row's counters, which do not depend on --iterations and --warmup."""
    usual, plan = Plan(), result.configuration.plan
    if plan._replace(samples=usual.samples) == usual:
        return row.identity
    try:
        case = row.case.case
        return identity(case, usual) if identity(case, plan) == row.identity else row.identity
    except (TypeError, ValueError):  # a case that no longer exists
        return row.identity


# Inspecting


def is_current(row: Row | CountedRow) -> bool:
    """Whether the current code would measure the row in the same way."""
    try:
        return identity(row.case.case, Plan()) == row.identity
    except (TypeError, ValueError):  # a case that no longer exists
        return False


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
    rows = [] if isinstance(found, Slowdowns) else found.rows
    stale = [row.name for row in rows if not is_current(row)]
    if stale:
        count = f"{len(stale)} of its {len(rows)} rows are measured in another way today"
        wrong.append(f"{path.name} is out of date, {count}: {stale[0]}.")
    return wrong


def fit(baseline: Baseline, here: System) -> str:
    if isinstance(baseline, Slowdowns):
        return "fits"
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
    kind = {CounterSet: "counters", Result: "times", Slowdowns: "slowdowns"}[type(found)]
    return [
        path.name,
        f"{kind} of {several(len(found.rows), 'case')}",
        fit(found, here),
        newest.when[:10] if newest else "",
        (newest.sha or "")[:10] if newest else "",
        newest.reason if newest else "",
    ]
