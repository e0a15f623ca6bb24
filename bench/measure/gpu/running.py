"""Measures of the same programs on an actual device, to check the modelled speeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from bench.measure import clock
from bench.measure.gpu.programs import PROGRAMS, lowered, program
from bench.measure.plan import Measured, Plan
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.clock import block


def of(name: str) -> Callable[[Case, Plan], Measured]:
    """The measure `run-scan`: that program of a case on JAX's first device."""

    def measure(case: Case, plan: Plan) -> Measured:
        import jax

        device = [jax.devices()[0]]
        made = program(name, case, device)
        ready = lowered(made, case, device).compile()
        begin = jax.jit(made.arguments)
        arguments: list[Any] = []

        def prepare() -> None:  # a rollout donates its arguments, so every pass needs new ones
            arguments[:] = block(begin())

        work = clock.Pass(lambda: ready(*arguments), prepare)
        work.once()  # compiles what makes the arguments
        steps = case.steps * case.batch
        taken = plan.take(work, steps)
        return Measured("steps/s", [steps / one for one in taken.seconds], noise=taken.noise())

    return measure


def name_of(program: str) -> str:
    return f"run-{program}"


MEASURES: Mapping[str, Callable[[Case, Plan], Measured]] = MappingProxyType(
    {name_of(name): of(name) for name in PROGRAMS}
)
