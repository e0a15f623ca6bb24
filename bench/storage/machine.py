"""The machine: the facts that numbers depend on, its fingerprint, and the revision of the checkout."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil
from msgspec.structs import asdict

from bench import ROOT
from bench.exit_codes import NoDevice
from bench.records import Git, System
from cogrid._env.shadow import VARIABLE as SHADOW

# Environment variables that change what is measured.
FLAGS = ("XLA_FLAGS", "NPROC", "OMP_NUM_THREADS", "JAX_ENABLE_X64", "JAX_NUM_CPU_DEVICES", SHADOW)
# Not part of the fingerprint: these may differ between two runs that can be compared.
UNCOMPARED = ("os", "memory_bytes")


def system() -> System:
    device = _device()
    return System(
        os=platform.platform(),
        machine=platform.machine(),
        cpu=_cpu(),
        cores=_cores(),
        memory_bytes=psutil.virtual_memory().total,
        python=platform.python_version(),
        numpy=version("numpy"),
        jax=version_of("jax"),
        jaxlib=version_of("jaxlib"),
        platform=device[0],
        device=device[1],
        flags={name: os.environ[name] for name in FLAGS if _is_set(name)},
    )


def fingerprint(machine: System) -> str:
    """16 hex digits: only results with equal fingerprints are compared by time."""
    lasting = {name: value for name, value in asdict(machine).items() if name not in UNCOMPARED}
    return hashlib.sha256(json.dumps(lasting, sort_keys=True).encode()).hexdigest()[:16]


def differing(before: System, after: System) -> list[str]:
    old = asdict(before)
    return [name for name, value in asdict(after).items() if name not in UNCOMPARED and old[name] != value]


def git_state() -> Git | None:
    try:
        status = git("-c", "core.quotePath=false", "status", "--porcelain").splitlines()
        changes = [line[3:] for line in status]  # after two letters and a space
        return Git(sha=git("rev-parse", "HEAD").strip(), dirty=bool(changes), changes=changes)
    except (OSError, subprocess.CalledProcessError):
        return None


def changes_of(state: Git | None) -> str:
    """What makes a checkout unlike any revision: "changes (notes.txt)"."""
    if state is None:
        return "no revision"
    more = f" and {len(state.changes) - 3} more" if len(state.changes) > 3 else ""
    return f"changes ({', '.join(state.changes[:3])}{more})" if state.changes else "changes"


def git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8").stdout


def version_of(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _is_set(name: str) -> bool:
    """Whether a flag is set; a shadow that is switched off does not count."""
    return name in os.environ and (name != SHADOW or os.environ[name] == "1")


@functools.cache
def _device() -> tuple[str, str]:
    """JAX's platform and kind of device, queried in another process: this one should not hold a GPU."""
    if version_of("jax") is None:
        return "cpu", "cpu"
    program = "import jax; device = jax.devices()[0]; print(device.platform, device.device_kind, sep='\\t')"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, encoding="utf-8"
    )
    if run.returncode:
        last = (run.stderr.strip().splitlines() or ["no reason given"])[-1]
        asked = os.environ.get("JAX_PLATFORMS", "")
        raise NoDevice(f"JAX finds no device (JAX_PLATFORMS={asked!r}): {last}")
    name, _, kind = run.stdout.strip().partition("\t")
    return name, kind


def _cores() -> int:
    if hasattr(psutil.Process, "cpu_affinity"):
        return len(psutil.Process().cpu_affinity() or [0])
    return os.cpu_count() or 1


def _cpu() -> str:
    try:
        lines = iter(Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines())
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"
