"""Profiling: the step with its phases replaced, for example by the same phases with a timer."""

from __future__ import annotations

import os
import types
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from cogrid._core.step import StepResult, step

VARIABLE = "COGRID_PROFILING"
#: Phase -> the name that the step calls it by, in the order of `env.step_timing`.
PHASES = types.MappingProxyType(
    {
        "interact": "interact",
        "move": "move",
        "tick": "tick",
        "reward": "score",
        "observe": "observe",
        "finish": "finish",
    }
)

#: Phases that only some games have; they are listed only if they run.
SOME = types.MappingProxyType(
    {"draw": "draw", "join": "join", "enter": "enter", "reply": "reply", "leave": "leave"}
)

Phase = Callable[..., Any]
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
            "step_timing is for NumPy: a compiled JAX step has no phases to time from outside; "
            "`python -m bench profile` compiles them apart."
        )
    return None if timing is None else dict(timing)


def woven(wrap: Callable[[str, Phase], Phase]) -> Step:
    """The step with `wrap(phase, function)` in place of each phase.

    It is the code of `step` itself with other globals: there is no second copy of the step that could get
    out of sync, and the original pays for no hooks.
    """
    phases = {name: wrap(phase, step.__globals__[name]) for phase, name in (PHASES | SOME).items()}
    code = step.__code__.replace()  # a copy: the interpreter's caches in it are for one set of globals
    other = types.FunctionType(code, {**step.__globals__, **phases}, step.__name__, step.__defaults__)
    other.__kwdefaults__ = step.__kwdefaults__
    return other


def timed_step() -> tuple[Step, dict[str, int]]:
    """A timed step, and the nanoseconds of each phase of its last call; 0 before the first."""
    timing = dict.fromkeys(PHASES, 0)

    def timed(phase: str, function: Phase) -> Phase:
        def run(*arguments: Any) -> Any:
            start = perf_counter_ns()
            result = function(*arguments)
            timing[phase] = perf_counter_ns() - start
            return result

        return run

    return woven(timed), timing
