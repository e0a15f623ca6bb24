"""Files: a result, a baseline, and the machine and revision that they come from."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

import msgspec

from bench.measure.plan import Plan
from bench.records.rows import AtLeastOne, Count, Hex12, Hex16, Parameters, Record, Row
from cogrid.benchmarks.case import Case

SCHEMA_VERSION: Literal[1] = 1

Sha = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{40}$")]
Stamp = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")]
#: Which jaxlib and platform, or which NumPy and Python, counters belong to.
CounterKey = Annotated[dict[str, str], msgspec.Meta(min_length=1)]


class System(Record):
    """The machine and the versions that the numbers depend on."""

    os: str
    machine: str
    cpu: str
    cores: AtLeastOne
    memory_bytes: AtLeastOne
    python: str
    numpy: str
    jax: str | None
    jaxlib: str | None
    platform: str
    device: str
    flags: dict[str, str]


class Git(Record):
    """The revision of the checkout, and whether files differ from it."""

    sha: Sha
    dirty: bool

    @property
    def short(self) -> str:
        return f"{self.sha[:10]}{' with changes' if self.dirty else ''}"


class Against(Record):
    """What an A/B compared with."""

    revision: str
    sha: str
    head: str | None


class Configuration(Record):
    """What was asked for."""

    suite: str
    samples: AtLeastOne
    seconds: float
    warmup: float
    iterations: Count
    warmup_iterations: Count
    planned: list[Parameters]
    against: Against | None = None

    @classmethod
    def of(
        cls, suite: str, plan: Plan, planned: Sequence[Case], against: Against | None = None
    ) -> Configuration:
        cases = [Parameters.of(case) for case in planned]
        return cls(suite=suite, **plan._asdict(), planned=cases, against=against)

    @property
    def plan(self) -> Plan:
        return Plan(*(getattr(self, name) for name in Plan._fields))


class TargetResult(Record):
    """What came of a target: the ratio to a peer, with its samples and limits."""

    what: str
    against: str
    unit: str
    rows: list[str]
    samples: list[list[float]]
    figures: list[float]
    median: float | None
    low: float | None
    high: float | None
    verdict: str
    enough: float | None = None
    stretch: float | None = None
    at_most: bool = False


class Acceptance(Record):
    """When, at which revision and why rows got into a baseline."""

    when: Stamp
    sha: Sha | None
    dirty: bool
    reason: Annotated[str, msgspec.Meta(pattern=r"\S")]
    rows: Annotated[list[str], msgspec.Meta(min_length=1)]


class Result(Record):
    """A result file; with `accepted` it is a baseline of times."""

    schema: Literal[1]
    created: Stamp
    tag: str
    description: str
    configuration: Configuration
    git: Git | None
    system: System
    fingerprint: Hex16
    rows: list[Row]
    targets: list[TargetResult] = msgspec.field(default_factory=list)
    accepted: list[Acceptance] = msgspec.field(default_factory=list)

    def __post_init__(self) -> None:
        """A time that exists."""
        if self.when.tzinfo is None:
            raise ValueError(f"created={self.created!r} has no time zone")

    @property
    def when(self) -> datetime:
        return datetime.fromisoformat(self.created)

    @property
    def is_ab(self) -> bool:
        return any(row.ab for row in self.rows)


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
