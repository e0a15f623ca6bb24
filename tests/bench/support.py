"""Records as the benchmarks write them, built from the few facts that a test cares about."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec

from bench.records import Comparison, Result, Row, Statistics
from bench.storage import results
from cogrid.benchmarks.case import MODES
from tests.support import BACKENDS

#: Backends that have modes of measurement.
MEASURED = tuple(name for name in BACKENDS if f"{name}-single" in MODES)

CASE = {
    "id": "Overcooked-CrampedRoom-V0",
    "options": {"observation": "features"},
    "measure": "speed",
    "mode": "jax-scan",
    "batch": 1024,
    "steps": 256,
    "workload": "cooperative",
    "seed": 42,
}
SYSTEM = {
    "os": "Linux-6.1-x86_64",
    "machine": "x86_64",
    "cpu": "AMD EPYC 7B13",
    "cores": 2,
    "memory_bytes": 25_769_803_776,
    "python": "3.11.7",
    "numpy": "2.4.0",
    "jax": "0.10.2",
    "jaxlib": "0.10.2",
    "platform": "cpu",
    "device": "cpu",
    "flags": {},
}
GPU = {"platform": "gpu", "device": "NVIDIA A100-SXM4-40GB", "cores": 12, "cpu": "Intel Xeon"}


def built(facts: dict[str, Any], kind: type[Any]) -> Any:
    """A record that is valid as one read from a file."""
    return msgspec.convert(msgspec.to_builtins(facts), kind)


def around(value: float, share: float = 0.02) -> list[float]:
    """Five samples whose median is the value and whose ends are the share away."""
    return [value * (1 + share * x) for x in (-1, -0.4, 0, 0.3, 1)]


def row(**changes: Any) -> Row:
    """A row: parameters of the case go to the case, `speed` is short for samples around it."""
    case = CASE | {name: changes.pop(name) for name in CASE.keys() & changes.keys()}
    if "error" in changes:
        changes = {"status": "failed", "samples": []} | changes
    samples = changes.pop("samples", None)
    samples = around(changes.pop("speed", 1e6)) if samples is None else samples
    library = changes.get("library", "cogrid")
    name = (
        f"{case['id']} {case['mode']}@{case['batch']} ×{case['steps']} {case['measure']} {case['workload']}"
    )
    facts = {
        "name": f"{library} {name} {case['options'].get('observation', '')}",
        "identity": hashlib.sha256(json.dumps(case, sort_keys=True).encode()).hexdigest()[:12],
        "case": case,
        "library": library,
        "agents": 2,
        "status": "ok",
        "error": None,
        "unit": "steps/s" if case["measure"] == "speed" else "s",
        "samples": samples,
        "statistics": Statistics.of(samples),
        "counters": {"equations": 153, "flops": 1000, "bytes_accessed": 2000},
        "memory": {
            "state_bytes": 43,
            "observation_bytes": 768,
            "peak_rss_bytes": 400_000_000 + 900 * case["batch"],
            "device_peak_bytes": None,
        },
        "noise": {
            "steal": 0.01,
            "others": 0.1,
            "free": 0.9,
            "pressure": 0.2,
            "load": 1.1,
            "dropped": 0,
            "disturbed": 0,
        },
        "checksum": "0123456789abcdef",
        "parts": {},
    }
    return built(facts | changes, Row)


def paired(ratio: float = 1.0, verdict: str = "same", **changes: Any) -> Comparison:
    """What an A/B run says of a row; the interval reaches 2 % to both sides."""
    facts = {
        "verdict": verdict,
        "ratio": ratio,
        "low": ratio * 0.98,
        "high": ratio * 1.02,
        "smallest": 0.03,
        "confirmed": verdict == "slower",
        "pairs": [[[0.1, 0.1 * ratio]] * 3] * 3,
        "counters": {},
    }
    return built(facts | changes, Comparison)


def result(rows: list[Row] | None = None, **changes: Any) -> Result:
    """A result; what belongs to the system goes there, and gives another fingerprint."""
    system = SYSTEM | {name: changes.pop(name) for name in SYSTEM.keys() & changes.keys()}
    facts = {
        "schema": 1,
        "created": "2026-11-16T04:40:00+00:00",
        "tag": "",
        "description": "",
        "configuration": {
            "suite": "quick",
            "samples": 5,
            "seconds": 0.05,
            "warmup": 0.1,
            "iterations": 0,
            "warmup_iterations": 0,
            "planned": [],
        },
        "git": {"sha": "3fabcf2" + 33 * "0", "dirty": False},
        "system": system,
        "fingerprint": hashlib.sha256(json.dumps(system, sort_keys=True).encode()).hexdigest()[:16],
        "rows": [row()] if rows is None else rows,
    }
    return built(facts | changes, Result)


def by_file(*runs: Result) -> dict[str, Result]:
    """As a folder holds them, in time order."""
    return {results.file_name(one): one for one in runs}
