"""A new case, a new measure and a new peer are one place each: added to a copy, and run there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bench import ROOT
from bench.storage import results

MEASURE = '''"""Sizes: how many cells an environment has."""

from __future__ import annotations

from bench.measure.plan import Measured, Plan
from cogrid.benchmarks.case import Case


def cells(case: Case, plan: Plan) -> Measured:
    """Cells of the board, the same each time."""
    return Measured("cells", [float(case.spec.height * case.spec.width)] * plan.samples)
'''
PEER = '''"""A library that does nothing."""

from __future__ import annotations

from bench.peers.cases import beside, single
from bench.peers.peer_worker import Prepared
from bench.peers.target import PeerTarget, python_peer
from cogrid.benchmarks.case import Case

NOBODY = python_peer("nobody", __name__)
TARGETS = (
    PeerTarget(
        "NumPy one environment", "nobody", beside(NOBODY, "rest", single("numpy-single", 16)), enough=1.0
    ),
)


def prepare(way: str, case: Case) -> Prepared:
    return Prepared("nobody 1.0", "steps/s", lambda: {"value": 2.0})
'''


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    without = shutil.ignore_patterns("__pycache__", "results")
    for folder in ("cogrid", "bench", "examples"):
        shutil.copytree(ROOT / folder, tmp_path / "copy" / folder, ignore=without)
    return tmp_path / "copy"


def insert(path: Path, before: str, line: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1, f"{path} has {text.count(before)} of {before!r}"
    path.write_text(text.replace(before, f"{line}\n{before}"), encoding="utf-8")


def bench(copy: Path, *arguments: str) -> str:
    return run(copy, "-m", "bench", *arguments)


def run(copy: Path, *arguments: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(copy), "GITHUB_STEP_SUMMARY": ""}
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=copy, env=env, capture_output=True, text=True, check=False, encoding="utf-8"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def identities(copy: Path) -> str:
    """Of all cases of the quick suite."""
    program = (
        "from bench import suites; from bench.measure.plan import Plan\n"
        "from bench.storage.identity import identity\n"
        "print(*(identity(case, Plan()) for case in suites.quick()))"
    )
    return run(copy, "-c", program)


@pytest.mark.slow  # the measure below brings a case too
def test_a_case_is_one_line(copy: Path) -> None:
    line = '        Case("Overcooked-CounterCircuit-V0", "numpy-batch", 3, 5),'
    insert(copy / "bench" / "suites.py", "        *quick(arena),", line)
    name = "CounterCircuit numpy-batch@3 ×5"
    assert name in bench(copy, "list", "--full")
    out = bench(copy, "run", "--full", "--only", name, "--rounds", "5", "-o", "r.json")
    assert f"{name} " in out
    (row,) = results.load(copy / "r.json").rows
    assert row.is_ok
    assert row.checksum


def test_a_measure_is_a_function_and_a_line(copy: Path) -> None:
    before = identities(copy)
    (copy / "bench" / "measure" / "sizes.py").write_text(MEASURE, encoding="utf-8")
    table = copy / "bench" / "measure" / "measures.py"
    insert(table, '        "train": training.train,', '        "cells": sizes.cells,')
    insert(table, "from bench.measure.plan import", "from bench.measure import sizes")
    line = '        Case(CRAMPED, "numpy-single", measure="cells"),'
    insert(copy / "bench" / "suites.py", "        *quick(arena),", line)
    bench(copy, "run", "--full", "--only", "cells", "-o", "r.json")
    (row,) = results.load(copy / "r.json").rows
    assert (row.unit, row.numbers.median) == ("cells", 20.0)
    assert identities(copy) == before, "other rows stay comparable"


def test_a_peer_is_one_module(copy: Path) -> None:
    (copy / "bench" / "peers" / "libraries" / "nobody.py").write_text(PEER, encoding="utf-8")
    out = bench(copy, "peers", "--only", "nobody", "--rounds", "2", "-o", "r.json")
    assert "1 of 1 targets met" in out
    result = results.load(copy / "r.json")
    assert [row.library for row in result.rows] == ["cogrid", "nobody 1.0"]
    assert result.targets[0].figures[0] == result.rows[0].samples[0] / 2.0
