"""Rows: a case with its numbers, and what stands beside them."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from cogrid.benchmarks.case import Case

UNSTABLE = 0.2  # a row whose coefficient of variation is larger is never compared
MIN_SAMPLES = 5  # nor is one with fewer samples

Status = Literal["ok", "failed", "out of memory", "mismatch"]
Hex12 = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{12}$")]
Hex16 = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{16}$")]
Positive = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=0)]
AtLeastOne = Annotated[int, msgspec.Meta(ge=1)]
#: Seconds of base and head in every round of every pair of processes.
Pairs = list[list[tuple[float, float]]]
Kind = TypeVar("Kind", bound=msgspec.Struct)


class Record(msgspec.Struct, forbid_unknown_fields=True):
    """A part of a file."""


def replace(record: Kind, **changes: Any) -> Kind:
    return msgspec.structs.replace(record, **changes)


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
        """The case; raises a ValueError where today's code does not know it."""
        # JSON has no tuples, and a case must be hashable.
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
    """Of the samples of a row."""

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
        """None where there are no samples."""
        if not samples:
            return None
        mean, several = statistics.fmean(samples), len(samples) > 1
        std = statistics.stdev(samples) if several else 0.0
        cuts = statistics.quantiles(samples, n=100, method="inclusive") if several else [*samples] * 99
        return cls(
            median=statistics.median(samples),
            mean=mean,
            std=std,
            min=min(samples),
            max=max(samples),
            p50=cuts[49],
            p95=cuts[94],
            p99=cuts[98],
            cv=std / mean if mean else 0.0,
        )


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
    verbs: dict[str, int] = msgspec.field(
        default_factory=dict
    )  # how often each verb happened in the steps that were compared with NumPy
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
        """Numbers or a reason, never both and never neither."""
        if (self.status == "ok") != (self.error is None):
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
        """The statistics of a row that is ok."""
        assert self.statistics is not None
        return self.statistics

    @property
    def is_rate(self) -> bool:
        """Whether more is better: steps/s and not seconds."""
        return self.unit.endswith("/s")

    @property
    def doubt(self) -> str:
        """Why the row must not be compared, "" if it may; times of single steps vary by nature."""
        if not self.is_ok or self.case.measure == "latency":
            return ""
        if len(self.samples) < MIN_SAMPLES:
            return "too few samples"
        if self.numbers.cv > UNSTABLE:
            return "unstable"
        return "disturbed" if self.noise.get("disturbed", 0) > len(self.samples) / 2 else ""
