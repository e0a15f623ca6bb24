"""The measures by name: a new one needs a function in a module of this folder and a line in the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from bench.measure import clock, counting, phases, speed, times, training
from bench.measure.gpu import compiled, running
from bench.measure.plan import Measured, Plan
from cogrid.benchmarks.case import Case

Measure = Callable[[Case, Plan], Measured]

MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        "speed": speed.speed,
        "latency": times.latency,
        "reset": times.reset,
        "create": times.create,
        "import": times.import_,
        "compile": times.compile_,
        "profile": phases.profile,
        "features": phases.features,
        "train": training.train,
        **compiled.MEASURES,
        **running.MEASURES,
    }
)


def named(name: str) -> Measure:
    if name not in MEASURES:
        raise ValueError(f"measure={name!r} is unknown: choose one of {', '.join(MEASURES)}.")
    return MEASURES[name]


def measure(case: Case, plan: Plan) -> Measured:
    how = named(case.measure)
    measured: Measured
    measured, noise = clock.noted(lambda: how(case, plan))
    if case.measure == "reset":  # counted apart: what counts it is no part of what times it
        measured = measured._replace(counters=counting.of_reset(case))
    return measured if measured.noise else measured._replace(noise=noise)
