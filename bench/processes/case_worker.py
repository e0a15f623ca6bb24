"""The worker of a suite: measures a case in a process of its own."""

from __future__ import annotations

import contextlib
import resource
import sys
from pathlib import Path
from typing import Any

import msgspec

from bench.measure.measures import measure
from bench.measure.plan import Plan
from bench.measure.shadowed import shadowed
from bench.processes.protocol import serve
from bench.records import Measurement, ShadowCheck
from cogrid.benchmarks.case import Case
from cogrid.shadow import show_progress


def handle(request: dict[str, Any]) -> dict[str, Any]:
    case, plan = Case.of(request["case"]), Plan(**request["plan"])
    if request["shadow"]:
        show_progress()
    answer: dict[str, Any] = msgspec.to_builtins(measured(case, plan, request["shadow"]))
    return answer


def measured(case: Case, plan: Plan, shadow: bool = False) -> Measurement:
    found = measure(case, plan)
    check = checked(case) if shadow and case.measure == "speed" else None
    wrong = check.first if check else None
    peaks = {"peak_rss_bytes": _peak_rss(), "device_peak_bytes": _device_peak()}
    return Measurement(
        agents=case.spec.num_agents,
        status="mismatch" if wrong else "ok",
        error=f"{wrong}." if wrong else None,
        unit=found.unit,
        samples=[] if wrong else found.samples,
        counters=dict(found.counters),
        memory={**found.memory, **peaks},
        noise=dict(found.noise),
        checksum=found.checksum,
        parts=dict(found.parts),
        verbs=dict(found.verbs),
        shadow=check,
    )


def checked(case: Case) -> ShadowCheck:
    """The case once more, with the other backend beside it."""
    report = shadowed(case)
    return ShadowCheck(
        beside=report.shadow,
        comparisons=report.comparisons,
        mismatches=report.mismatches,
        ratio=report.ratio,
        first=None if report.first is None else str(report.first),
    )


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
    serve(handle)
