"""Measures of programs that are compiled for a GPU but not run: counters, and a modelled speed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from bench.measure.gpu import counting, programs
from bench.measure.gpu.compiling import compiled
from bench.measure.gpu.programs import PROGRAMS, lowered
from bench.measure.gpu.targets import GPUS, VARIANTS, Target, devices
from bench.measure.plan import Measured, Plan
from cogrid.benchmarks.case import Case

UNIT = "modelled steps/s"
COUNTS = (1, 8)


def of(target: Target, program: str) -> Callable[[Case, Plan], Measured]:
    """The measure `cuda12-a100-scan`: that program of a case, compiled for that target."""

    def measure(case: Case, plan: Plan) -> Measured:
        there = devices(target)
        found = compiled(lowered(programs.program(program, case, there), case, there))
        seconds = counting.seconds(found, target.facts)
        if found.loop is not None:
            seconds += counting.looped(found.loop, case.steps, case.batch // target.number, target.facts)
        speed = case.steps * case.batch / seconds
        return Measured(UNIT, [speed], counting.counters(found))

    return measure


def name_of(target: Target, program: str) -> str:
    return f"{target.name}-{program}"


def target_of(measure: str) -> str | None:
    """The target that a measure compiles for; None for all other measures."""
    return measure.rpartition("-")[0] if measure in MEASURES else None


TARGETS = tuple(Target(variant, gpu, count) for variant in VARIANTS for gpu in GPUS for count in COUNTS)
MEASURES: Mapping[str, Callable[[Case, Plan], Measured]] = MappingProxyType(
    {name_of(target, program): of(target, program) for target in TARGETS for program in PROGRAMS}
)
