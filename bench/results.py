"""Result files: what is in them, how they are written so that nothing is lost, and how they are read."""

from __future__ import annotations

import datetime
import functools
import hashlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import jsonschema
import psutil

import cogrid
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.measures import Plan
from cogrid.shadow import VARIABLE as SHADOW

SCHEMA_VERSION = 1
ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results"
SCHEMA = Path(__file__).parent / "schema.json"
# Environment variables that change what is measured.
FLAGS = ("XLA_FLAGS", "NPROC", "OMP_NUM_THREADS", "JAX_ENABLE_X64", "JAX_NUM_CPU_DEVICES", SHADOW)
# What the fingerprint leaves out of the system: it may differ between two runs that can be compared.
PASSING = ("os", "memory_bytes")

Result = dict[str, Any]


class ResultError(ValueError):
    """What cannot be used or done, and why, in one sentence."""


class NoDevice(ResultError):
    """JAX cannot use the device that it was told to use."""


def new(configuration: dict[str, Any], tag: str = "", description: str = "") -> Result:
    """A result without rows."""
    machine = system()
    return {
        "schema": SCHEMA_VERSION,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "tag": tag,
        "description": description,
        "configuration": configuration,
        "git": git_state(),
        "system": machine,
        "fingerprint": fingerprint(machine),
        "rows": [],
    }


def default_path(tag: str = "") -> Path:
    """benchmark_[TAG_]YYYYMMDD_HHMMSS.json"""
    while True:
        now = datetime.datetime.now().strftime("%Y%m%d_%H%M%S")
        path = RESULTS / f"benchmark_{tag + '_' if tag else ''}{now}.json"
        if not path.exists():
            return path
        time.sleep(0.1)  # another run began in this very second


def write(path: Path, result: Result) -> None:
    """All of it or nothing: a crash leaves the old file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("w") as file:
            json.dump(result, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def load(path: Path) -> Result:
    """A valid result; a ResultError says in one sentence why a file is none."""
    result = parsed(path)
    validate(result, str(path))
    return result


def parsed(path: Path) -> dict[str, Any]:
    """The JSON object of a file that has our version, not validated yet."""
    try:
        found = json.loads(Path(path).read_text())
    except OSError as error:
        raise ResultError(f"{path} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise ResultError(f"{path} is damaged, it holds no JSON: {error}.") from None
    version = found.get("schema") if isinstance(found, dict) else None
    if version != SCHEMA_VERSION:
        raise ResultError(
            f"{path} has schema version {version!r} and this program reads {SCHEMA_VERSION}: measure anew."
        )
    return dict(found)


def validate(result: Result, name: str = "the result", kind: str = "") -> None:
    """Hold a result, or what a definition of the JSON Schema describes, to it."""
    found = _validator(kind).iter_errors(result)
    errors = sorted(found, key=lambda error: list(map(str, error.absolute_path)))
    if errors:
        place = "/".join(map(str, errors[0].absolute_path)) or "top"
        raise ResultError(f"{name} is damaged at {place}: {errors[0].message[:200]}.")


@functools.cache
def _validator(kind: str) -> Any:
    whole = json.loads(SCHEMA.read_text())
    part = {"$defs": whole["$defs"], "$ref": f"#/$defs/{kind}"} if kind else whole
    return jsonschema.Draft202012Validator(part)


def summarise(samples: list[float]) -> dict[str, float] | None:
    """Statistics of the samples."""
    if not samples:
        return None
    mean = statistics.fmean(samples)
    deviation = statistics.stdev(samples) if len(samples) > 1 else 0.0
    cuts = statistics.quantiles(samples, n=100, method="inclusive") if len(samples) > 1 else samples * 99
    return {
        "median": statistics.median(samples),
        "mean": mean,
        "std": deviation,
        "min": min(samples),
        "max": max(samples),
        "p50": cuts[49],
        "p95": cuts[94],
        "p99": cuts[98],
        "cv": deviation / mean if mean else 0.0,
    }


def identity(case: Case, plan: Plan) -> str:
    """12 hex digits of case, plan and measuring code: another identity was measured in another way.

    The number of samples is left out: more of them measure the same thing better.
    """
    sampling = {name: value for name, value in plan._asdict().items() if name != "samples"}
    parameters = json.dumps([case.parameters(), sampling], sort_keys=True)
    return hashlib.sha256(parameters.encode() + measuring_code()).hexdigest()[:12]


def measuring_files() -> list[Path]:
    """Everything between a case and its numbers but the engine, seen from the top of the checkout."""
    measuring = ("case", "clock", "counters", "measures", "modes", "phases", "workloads")
    playing = ("floor_plan", "planning", "policies")  # the cooks of the cooperative tapes
    package = Path("cogrid")
    files = [package / "benchmarks" / f"{name}.py" for name in measuring]
    files += [package / "envs" / "overcooked" / f"{name}.py" for name in playing]
    return [*files, package / "testing.py", package / "core" / "profiling.py", Path("bench/training.py")]


@functools.cache
def measuring_code() -> bytes:
    """Their source."""
    return b"".join((Path(cogrid.__file__).parents[1] / file).read_bytes() for file in measuring_files())


def system() -> dict[str, Any]:
    """The machine and the versions that the numbers depend on."""
    device = _device()
    return {
        "os": platform.platform(),
        "machine": platform.machine(),
        "cpu": _cpu(),
        "cores": len(psutil.Process().cpu_affinity())
        if hasattr(psutil.Process, "cpu_affinity")
        else os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "python": platform.python_version(),
        "numpy": version_of("numpy"),
        "jax": version_of("jax"),
        "jaxlib": version_of("jaxlib"),
        "platform": device[0],
        "device": device[1],
        "flags": {name: os.environ[name] for name in FLAGS if _is_set(name)},
    }


def _is_set(name: str) -> bool:
    """Whether a flag says anything; a shadow that is switched off is none."""
    return name in os.environ and (name != SHADOW or os.environ[name] == "1")


def fingerprint(machine: dict[str, Any]) -> str:
    """16 hex digits: only results of equal fingerprints are compared by time."""
    lasting = {name: value for name, value in machine.items() if name not in PASSING}
    return hashlib.sha256(json.dumps(lasting, sort_keys=True).encode()).hexdigest()[:16]


def git_state() -> dict[str, Any] | None:
    """The revision of the checkout, and whether files differ from it."""
    try:
        sha = _git("rev-parse", "HEAD").strip()
        return {"sha": sha, "dirty": bool(_git("status", "--porcelain"))}
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@functools.cache
def _device() -> tuple[str, str]:
    """JAX's platform and kind of device, asked in a process of its own: this one should not hold a GPU."""
    if version_of("jax") is None:
        return "cpu", "cpu"
    program = "import jax; device = jax.devices()[0]; print(device.platform, device.device_kind, sep='\\t')"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    if run.returncode:
        last = (run.stderr.strip().splitlines() or ["no reason given"])[-1]
        asked = os.environ.get("JAX_PLATFORMS", "")
        raise NoDevice(f"JAX finds no device (JAX_PLATFORMS={asked!r}): {last}")
    name, _, kind = run.stdout.strip().partition("\t")
    return name, kind


def version_of(package: str) -> str | None:
    """The version of an installed package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cpu() -> str:
    try:
        lines: Iterator[str] = iter(Path("/proc/cpuinfo").read_text().splitlines())
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"
