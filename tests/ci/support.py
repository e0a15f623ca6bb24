"""What these tests share: nox and the scripts of ci/, commands that fail at will, a pretended driver."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REPORTS = ROOT / "build" / "test-reports"  # of sessions that tests start; those of this session lie elsewhere
COMPILER = shutil.which("cc") or shutil.which("gcc")
needs_driver = pytest.mark.skipif(
    COMPILER is None or sys.platform != "linux", reason="a pretended driver needs Linux and a C compiler"
)

Done = subprocess.CompletedProcess[str]


def start(*command: str, **environment: str) -> Done:
    """Run a command in the checkout, as on a person's machine: on GitHub nox has other defaults."""
    hidden = ("GITHUB_", "NOX")
    env = {k: value for k, value in os.environ.items() if k != "CI" and not k.startswith(hidden)}
    env["COGRID_REPORTS"] = str(REPORTS)
    return subprocess.run(
        command,
        cwd=ROOT,
        env={**env, **environment},
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )


def script(name: str, *arguments: str, **environment: str) -> Done:
    """Run a script of ci/ by hand."""
    return start(sys.executable, str(ROOT / "ci" / name), *arguments, **environment)


def nox(*arguments: str, **environment: str) -> Done:
    """Run nox on this project."""
    return start(sys.executable, "-m", "nox", *arguments, **environment)


def stubs(directory: Path, codes: dict[str, int]) -> str:
    """A PATH that begins with commands which write themselves to `calls` and exit with the given codes."""
    directory.mkdir(exist_ok=True)
    for name, code in codes.items():
        path = directory / name
        path.write_text(
            f'#!/bin/sh\necho "{name} $*" >> "{directory}/calls"\nexit {code}\n', encoding="utf-8"
        )
        path.chmod(0o755)
    return os.pathsep.join([str(directory), os.environ["PATH"]])


def calls(directory: Path) -> list[str]:
    """What the stubs were called with."""
    path = directory / "calls"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def driver(directory: Path, version: int = 13000, devices: int = 1, code: int = 0) -> str:
    """Compile a library that answers like the NVIDIA driver's; `version` is 1000 · major + 10 · minor."""
    assert COMPILER is not None
    source, library = directory / "cuda.c", directory / f"libcuda-{version}-{devices}-{code}.so"
    source.write_text(
        f"int cuInit(unsigned flags) {{ return {code}; }}\n"
        f"int cuDeviceGetCount(int *count) {{ *count = {devices}; return 0; }}\n"
        f"int cuDriverGetVersion(int *version) {{ *version = {version}; return 0; }}\n",
        encoding="utf-8",
    )
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    return str(library)
