"""The protocol of a side: a line of JSON when it is ready, then one sample for every line that it is sent.

Imports nothing but the standard library: it also runs beside the older cogrid, whose name is ours.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]

Sample = dict[str, float]  # its "value", and what disturbed it
Job = dict[str, Any]


class Prepared(NamedTuple):
    """A side that can be sampled; `end` is how its tape ended, for those that play by the same rules."""

    library: str
    unit: str
    sample: Callable[[], Sample]
    end: Mapping[str, Any] = MappingProxyType({})


def serve(prepare: Callable[[Job], Prepared], job: Job) -> None:
    """Prepare, say so, and take samples until stdin ends; whatever else is printed goes to stderr."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # also what a library prints by itself

    def answer(words: dict[str, Any]) -> None:
        print(json.dumps(words), file=answers, flush=True)

    # If memory runs out, the system should end this process and not the one that keeps the results.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    try:
        side = prepare(job)
        answer({"library": side.library, "unit": side.unit, "end": dict(side.end)})
        for _ in sys.stdin:
            answer(side.sample())
    except Exception as failure:  # any library may raise anything; the row says what, the others go on
        first = (str(failure).splitlines() or [""])[0]
        answer({"error": f"{type(failure).__name__}: {first}", "status": _status(failure)})


def _status(failure: Exception) -> str:
    """Of the row."""
    if isinstance(failure, MemoryError) or "RESOURCE_EXHAUSTED" in str(failure):
        return "out of memory"
    return "mismatch" if type(failure).__name__ == "Mismatch" else "failed"


def speed(clock: Any, work: Any, steps: int) -> Callable[[], Sample]:
    """Steps per second of a pass, warmed up; every sample begins with a call that is not timed."""
    clock.take(work, 1)

    def sample() -> Sample:
        taken = clock.take(work, 1, clock.LENGTH, clock.Length(0.0, 1))
        return {"value": steps / taken.seconds[0], **taken.noise()}

    return sample


def clock_of_ours() -> Any:
    """Our clock, also where `cogrid` is another one."""
    spec = importlib.util.spec_from_file_location("clock", ROOT / "cogrid" / "benchmarks" / "clock.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["clock"] = module  # where its named tuples look for their annotations
    spec.loader.exec_module(module)
    return module
