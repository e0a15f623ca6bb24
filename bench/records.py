"""The records of a result file: typed, read and written as JSON by msgspec at the edge and nowhere else."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec

from bench.measure.plan import Plan
from cogrid.benchmarks.case import Case

SCHEMA_VERSION: Literal[1] = 1
UNSTABLE = 0.2  # a row whose coefficient of variation is larger is never compared
MIN_SAMPLES = 5  # nor is one with fewer samples

Status = Literal["ok", "counted", "failed", "out of memory", "mismatch"]  # counted: compiled and not run
Hex12 = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{12}$")]
Hex16 = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{16}$")]
Sha = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{40}$")]
Stamp = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")]
Positive = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=0)]
AtLeastOne = Annotated[int, msgspec.Meta(ge=1)]
Pairs = list[list[tuple[float, float]]]  # seconds of base and head, for every round of every pair


class Record(msgspec.Struct, forbid_unknown_fields=True):
    """A part of a file."""


class Parameters(Record):
    """A case as a file names it; one that today's code no longer knows can be read too."""

    id: str
    mode: str
    batch: AtLeastOne
    steps: AtLeastOne
    workload: str
    measure: str
    options: dict[str, Any]
    seed: int

    @classmethod
    def of(cls, case: Case) -> Parameters:
        return cls(**case.parameters())

    @property
    def case(self) -> Case:
        """The case, with tuples for JSON's lists; raises a ValueError if today's code does not know it."""
        options = {n: tuple(v) if isinstance(v, list) else v for n, v in self.options.items()}
        return Case.of({**msgspec.structs.asdict(self), "options": options})

    @property
    def backend(self) -> str:
        return self.mode.partition("-")[0]

    @property
    def environment(self) -> str:
        """The environment and its options in short: 'CrampedRoom features'."""
        options = (str(v) if n == "observation" else f"{n}={v}" for n, v in self.options.items())
        return " ".join([re.sub(r"^Overcooked-|-V\d+$", "", self.id), *options])


class Statistics(Record):
    median: float
    mean: float
    std: float
    min: float
    max: float
    p50: float
    p95: float
    p99: float
    cv: float  # coefficient of variation: std / mean

    @classmethod
    def of(cls, samples: Sequence[float]) -> Statistics | None:
        if not samples:
            return None
        mean, several = statistics.fmean(samples), len(samples) > 1
        std = statistics.stdev(samples) if several else 0.0
        cuts = statistics.quantiles(samples, n=100, method="inclusive") if several else [*samples] * 99
        tail = (cuts[49], cuts[94], cuts[98], std / mean if mean else 0.0)
        return cls(statistics.median(samples), mean, std, min(samples), max(samples), *tail)


class ShadowCheck(Record):
    """What a shadow compared beside a row."""

    beside: str
    comparisons: Count
    mismatches: Count
    ratio: float | None
    first: str | None


class Comparison(Record):
    """What an A/B says of a row, with every sample, so that a file can be judged again."""

    verdict: Literal["slower", "faster", "same", "inconclusive", "new", "mismatch", "failed", "out of memory"]
    ratio: Positive | None
    low: Positive | None
    high: Positive | None
    smallest: float | None  # the smallest slowdown that this run would have found
    confirmed: bool
    pairs: Pairs
    counters: dict[str, tuple[int | None, int | None]]  # of base and head
    second: Pairs = msgspec.field(default_factory=list)  # the second look
    why_new: str | None = None  # why base cannot run the case
    accepted: dict[str, str] = msgspec.field(default_factory=dict)  # reasons: of results, time or a counter


class Measurement(Record):
    """What a worker process reports of a case."""

    agents: AtLeastOne
    status: Status
    error: str | None = None
    unit: str = "steps/s"
    samples: list[Positive] = msgspec.field(default_factory=list)
    counters: dict[str, int] = msgspec.field(default_factory=dict)
    memory: dict[str, int | None] = msgspec.field(default_factory=dict)
    noise: dict[str, float] = msgspec.field(default_factory=dict)
    checksum: Hex16 | None = None
    parts: dict[str, float] = msgspec.field(default_factory=dict)
    part_means: dict[str, float] = msgspec.field(default_factory=dict)
    verbs: dict[str, int] = msgspec.field(default_factory=dict)  # how often in the steps that were compared
    shadow: ShadowCheck | None = None


class Row(Measurement, kw_only=True):
    """A case with its numbers; fields of Measurement stand beside these in the file."""

    name: str
    identity: Hex12
    case: Parameters
    library: str
    statistics: Statistics | None
    ab: Comparison | None = None

    def __post_init__(self) -> None:
        """Numbers, or counters alone, or a reason: never several and never none."""
        if (self.status in ("ok", "counted")) != (self.error is None):
            raise ValueError(f"{self.name} has status {self.status!r} and error {self.error!r}")
        if self.status == "ok" and not (self.samples and self.statistics):
            raise ValueError(f"{self.name} is ok and has no samples or no statistics")

    @classmethod
    def of(cls, measurement: Measurement, **identity: Any) -> Row:
        """A measurement with the name, identity, case and library that it belongs to."""
        fields = {name: getattr(measurement, name) for name in Measurement.__struct_fields__}
        return cls(**fields, **identity, statistics=Statistics.of(measurement.samples))

    @property
    def is_ok(self) -> bool:
        return self.status == "ok"

    @property
    def numbers(self) -> Statistics:
        assert self.statistics is not None
        return self.statistics

    @property
    def is_rate(self) -> bool:
        """Whether more is better: steps/s and not seconds."""
        return self.unit.endswith("/s")

    @property
    def is_modelled(self) -> bool:
        """Whether the program was compiled and not run: a model tells its speed from its counters."""
        return self.unit.startswith("modelled")

    @property
    def doubt(self) -> str:
        """Why the row must not be compared, else ""; an A/B has paired ratios, single steps always vary."""
        if not self.is_ok or self.is_modelled or self.case.measure == "latency" or self.ab:
            return ""
        if len(self.samples) < MIN_SAMPLES:
            return "too few samples"
        if self.numbers.cv > UNSTABLE:
            return "unstable"
        return "disturbed" if self.noise.get("disturbed", 0) > len(self.samples) / 2 else ""


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
    changes: list[str] = msgspec.field(default_factory=list)  # the paths that differ

    @property
    def short(self) -> str:
        return f"{self.sha[:10]}{' with changes' if self.dirty else ''}"


class Against(Record):
    revision: str  # or the checkout itself without a setting
    sha: str
    head: str | None
    setting: str = ""  # of head


class Configuration(Record):
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
    digest: Hex16 | None = None  # of the rows


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
        if self.when.tzinfo is None:
            raise ValueError(f"created={self.created!r} has no time zone")

    @property
    def when(self) -> datetime:
        return datetime.fromisoformat(self.created)

    @property
    def is_ab(self) -> bool:
        return any(row.ab for row in self.rows)
