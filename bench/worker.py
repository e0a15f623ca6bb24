"""The worker: measures one case in a process of its own; a request in JSON on stdin, the row on stdout."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

from bench import training
from bench.shadowed import shadowed, told
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.measures import Measured, Plan, measure
from cogrid.benchmarks.modes import Mismatch
from cogrid.shadow import show_progress

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Whatever anything prints goes to stderr, so that stdout holds the row and nothing else."""
    request = json.load(sys.stdin)
    with os.fdopen(os.dup(1), "w") as answer:
        os.dup2(2, 1)
        stand_below_the_runner()
        case, plan = Case.of(request["case"]), Plan(**request["plan"])
        if request["shadow"]:
            show_progress()
        json.dump(row_of(case, plan, request["shadow"]), answer)


def stand_below_the_runner() -> None:
    """If memory runs out this process goes first, and if the runner is killed this one goes too (Linux)."""
    with contextlib.suppress(OSError, AttributeError):
        Path("/proc/self/oom_score_adj").write_text("1000")
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def row_of(case: Case, plan: Plan, shadow: bool = False) -> dict[str, Any]:
    """The case's part of a row; what goes wrong is a part of it too."""
    status: str = "ok"
    error: str | None = None
    beside: dict[str, Any] = {}
    try:
        measured = measure(case, plan, also={"train": training.measure})
        if shadow and case.measure == "speed":
            beside = {"shadow": told(shadowed(case))}
            if first := beside["shadow"]["first"]:
                raise Mismatch(f"{first}.")
    except Exception as failure:  # any library may raise anything; the row says what, the others go on
        measured = Measured("steps/s", [])
        status, error = failure_of(failure)
    return {
        "agents": case.spec.num_agents,
        "status": status,
        "error": error,
        **beside,
        **measured._asdict(),
        "memory": {**measured.memory, "peak_rss_bytes": _peak_rss(), "device_peak_bytes": _device_peak()},
    }


def failure_of(failure: Exception) -> tuple[str, str]:
    """The status of a row that failed, and why."""
    if isinstance(failure, Mismatch):
        return "mismatch", str(failure)
    out_of_memory = isinstance(failure, MemoryError) or "RESOURCE_EXHAUSTED" in str(failure)
    first = (str(failure).splitlines() or [""])[0]
    return "out of memory" if out_of_memory else "failed", f"{type(failure).__name__}: {first}"


def _peak_rss() -> int:
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _device_peak() -> int | None:
    if jax := sys.modules.get("jax"):
        statistics = jax.devices()[0].memory_stats()  # None on a CPU
        return statistics["peak_bytes_in_use"] if statistics else None
    return None


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:  # the runner, interrupted too, says what there is to say
        sys.exit(130)
