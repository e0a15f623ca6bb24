"""The runner: every case a row, whatever happens to it; nothing is lost, and disagreement is noticed."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bench import results, runner
from bench.progress import Progress
from bench.results import ROOT
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.measures import Plan
from tests.bench.support import result

ROOM = "Overcooked-CrampedRoom-V0"
SINGLE = Case(ROOM, "numpy-single", steps=8)
BATCH = Case(ROOM, "numpy-batch", 4, steps=8)
PLAN = Plan(samples=2, seconds=0.001, warmup=0.0)


def planned(*cases: Case) -> dict[str, Any]:
    configuration = {"suite": "quick", **PLAN._asdict(), "planned": [case.parameters() for case in cases]}
    return result(rows=[], configuration=configuration)


def fake(case: Case, plan: Plan) -> dict[str, Any]:
    """A row without the work."""
    return {
        "agents": 2,
        "status": "ok",
        "error": None,
        "unit": "steps/s",
        "samples": [1.0, 2.0],
        "counters": {},
        "memory": {},
        "noise": {},
        "checksum": "0" * 16,
        "parts": {},
    }


def dies(code: str) -> Any:
    """A worker that does this instead of its work."""
    command = (sys.executable, "-c", f"import os, signal, sys; sys.stdin.read(); {code}")
    return lambda case, plan: runner.in_process_of_its_own(case, plan, command)


def test_a_real_worker_measures_each_case(tmp_path: Path) -> None:
    done = runner.run(planned(SINGLE, BATCH), tmp_path / "r.json", Progress())
    assert results.load(tmp_path / "r.json") == done
    assert [row["status"] for row in done["rows"]] == ["ok", "ok"]
    assert [row["name"] for row in done["rows"]] == [SINGLE.name, BATCH.name]
    for row in done["rows"]:
        assert len(row["samples"]) == 2
        assert row["memory"]["peak_rss_bytes"] > 2**20
        assert row["memory"]["state_bytes"] > 30
        assert row["checksum"]


@pytest.mark.parametrize(
    ("code", "status", "words"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "out of memory", "SIGKILL, most likely for want of memory"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "failed", "ended by signal SIGSEGV"),
        ("sys.exit(3)", "failed", "ended with exit code 3"),
    ],
)
def test_a_worker_that_dies_is_a_row_and_the_next_case_runs(
    tmp_path: Path, code: str, status: str, words: str
) -> None:
    broken = dies(code)

    def measure(case: Case, plan: Plan) -> dict[str, Any]:
        return dict(broken(case, plan) if case == SINGLE else fake(case, plan))

    done = runner.run(planned(SINGLE, BATCH), tmp_path / "r.json", Progress(), measure)
    first, second = done["rows"]
    assert (first["status"], second["status"]) == (status, "ok")
    assert words in first["error"]
    results.validate(done)


def test_what_goes_wrong_in_a_worker_is_told() -> None:
    arena = dataclasses.replace(SINGLE, id="Arena-V0", workload="cooperative")
    row = runner.in_process_of_its_own(arena, PLAN)
    assert row["status"] == "failed"
    assert row["error"].startswith("ValueError: workload='cooperative' needs a kitchen")


def test_resuming_measures_only_what_lacks(tmp_path: Path) -> None:
    asked: list[Case] = []

    def measure(case: Case, plan: Plan) -> dict[str, Any]:
        asked.append(case)
        return fake(case, plan)

    whole = runner.run(planned(SINGLE, BATCH), tmp_path / "r.json", Progress(), measure)
    half = {**whole, "rows": whole["rows"][:1]}
    assert runner.missing(half) == [BATCH]
    asked.clear()
    runner.run(half, tmp_path / "r.json", Progress(), measure)
    assert asked == [BATCH]
    stale = {**whole, "rows": [{**row, "identity": "0" * 12} for row in whole["rows"]]}
    asked.clear()
    again = runner.run(stale, tmp_path / "r.json", Progress(), measure)
    assert asked == [SINGLE, BATCH]
    assert len(again["rows"]) == 2


def test_a_checksum_that_differs_between_modes_is_a_mismatch(tmp_path: Path) -> None:
    other = dataclasses.replace(BATCH, mode="jax-vmap")
    third = dataclasses.replace(BATCH, steps=9)

    def measure(case: Case, plan: Plan) -> dict[str, Any]:
        checksum = {BATCH: "a" * 16, other: "b" * 16, third: "c" * 16}[case]
        return {**fake(case, plan), "checksum": checksum}

    done = runner.run(planned(BATCH, other, third), tmp_path / "r.json", Progress(), measure)
    assert [row["status"] for row in done["rows"]] == ["ok", "mismatch", "ok"]
    assert f"its checksum {'b' * 16} is not the {'a' * 16} of {BATCH.name}" in done["rows"][1]["error"]


def bench(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "bench", *arguments]


def test_a_killed_run_loses_at_most_the_case_under_way_and_can_be_resumed(tmp_path: Path) -> None:
    path = tmp_path / "killed.json"
    small = ("--only", "numpy-single", "--agents", "2", "--map-size", "5", "--rounds", "1")
    first = bench("run", *small, "--output", str(path))
    process = subprocess.Popen(first, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not path.exists() or not results.load(path)["rows"]:
        assert process.poll() is None, "the run ended before it could be killed"
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    left = results.load(path)
    planned_names = [Case.of(case).name for case in left["configuration"]["planned"]]
    kept = [row["name"] for row in left["rows"]]
    assert 1 <= len(kept) < len(planned_names) == 2
    assert kept == planned_names[: len(kept)]
    again = subprocess.run(
        bench("run", "--resume", "--output", str(path)), cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert again.returncode == 0, again.stderr
    whole = results.load(path)
    assert [row["name"] for row in whole["rows"]] == planned_names
    assert whole["rows"][: len(kept)] == left["rows"]
    assert f"[1/{2 - len(kept)}]" in again.stderr
    assert "2 measured, " in again.stdout
