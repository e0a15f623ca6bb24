"""Profiling: the step with its phases watched, for example by a timer."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from cogrid._core.rules import Parts, Rules
from cogrid._core.see.observation import observe
from cogrid._core.step import StepResult, step

VARIABLE = "COGRID_PROFILING"
#: The phases that `env.step_timing` lists for every game, in this order; those that only some have follow.
COMMON = ("interact", "move", "tick", "reward", "observe", "finish")

Function = Callable[..., Any]
Step = Callable[..., StepResult]


def wanted() -> bool:
    """Whether the environment variable asks for profiling."""
    value = os.environ.get(VARIABLE, "")
    if value not in ("", "0", "1"):
        raise ValueError(
            f"{VARIABLE}={value!r} is unknown: set it to 1 for timings, to 0 or nothing for none."
        )
    return value == "1"


def read(asked: bool, timing: dict[str, int] | None) -> dict[str, int] | None:
    """The value of `step_timing`: a copy, or None unless asked for; raises if no phase can be timed."""
    if asked and timing is None:
        raise ValueError(
            "step_timing is for NumPy: a compiled step has no phases to time from outside; "
            "`python -m bench profile` compiles those of JAX apart."
        )
    return None if timing is None else dict(timing)


def watched(rules: Rules, wrap: Callable[[str, Function], Function]) -> Parts:
    """The parts of a step, each as `wrap(name, part)`: the phases of the rules, and the observation."""
    return Parts(tuple(wrap(phase.name, phase) for phase in rules.phases), wrap("observe", observe))


def timed_step(rules: Rules) -> tuple[Step, dict[str, int]]:
    """A timed step, and the nanoseconds of each phase of its last call; 0 before the first."""
    timing = dict.fromkeys((*COMMON, *(phase.name for phase in rules.phases)), 0)

    def timed(name: str, function: Function) -> Function:
        def run(*arguments: Any) -> Any:
            start = perf_counter_ns()
            result = function(*arguments)
            timing[name] = perf_counter_ns() - start
            return result

        return run

    return functools.partial(step, watched=watched(rules, timed)), timing
