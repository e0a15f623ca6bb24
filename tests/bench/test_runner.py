"""The runner: every case a row, whatever happens to it; nothing is lost, and disagreement is noticed."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bench import ROOT, runner
from bench.measure.plan import Plan
from bench.records import Configuration, Measurement, Result
from bench.show.progress import Progress
from bench.storage import results
from cogrid.benchmarks.case import Case
from tests.bench.support import result

ROOM = "Overcooked-CrampedRoom-V0"
SINGLE = Case(ROOM, "numpy-single", steps=8)
BATCH = Case(ROOM, "numpy-batch", 4, steps=8)
PLAN = Plan(samples=2, seconds=0.001, warmup=0.0)


def planned(*cases: Case) -> Result:
    return result(rows=[], configuration=Configuration.of("quick", PLAN, cases))


def run(planned: Result, path: Path, measure: Any = runner.in_own_process) -> Result:
    """The result after a run, which is what the file holds too."""
    runner.run(planned, path, Progress(), measure)
    assert results.load(path) == planned
    return planned


def fake(case: Case, plan: Plan) -> Measurement:
    """A measurement without the work."""
    return Measurement(
        agents=2,
        status="ok",
        error=None,
        unit="steps/s",
        samples=[1.0, 2.0],
        counters={},
        memory={},
        noise={},
        checksum="0" * 16,
        parts={},
    )


def dies(code: str) -> Any:
    """A worker that does this instead of its work."""
    command = (sys.executable, "-c", f"import os, signal, sys; sys.stdin.readline(); {code}")
    return lambda case, plan: runner.in_own_process(case, plan, command)


def test_a_real_worker_measures_each_case(tmp_path: Path) -> None:
    done = run(planned(SINGLE, BATCH), tmp_path / "r.json")
    assert [row.status for row in done.rows] == ["ok", "ok"]
    assert [row.name for row in done.rows] == [SINGLE.name, BATCH.name]
    for row in done.rows:
        assert len(row.samples) == 2
        assert row.memory["peak_rss_bytes"] > 2**20
        assert row.memory["state_bytes"] > 30
        assert row.checksum


@pytest.mark.parametrize(
    ("code", "status", "words"),
    [
        (
            "os.kill(os.getpid(), signal.SIGKILL)",
            "out of memory",
            "was killed, most likely because memory ran out",
        ),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "failed", "ended by signal SIGSEGV"),
        ("sys.exit(3)", "failed", "ended with exit code 3"),
    ],
)
def test_a_worker_that_dies_is_a_row_and_the_next_case_runs(
    tmp_path: Path, code: str, status: str, words: str
) -> None:
    broken = dies(code)

    def measure(case: Case, plan: Plan) -> Measurement:
        return broken(case, plan) if case == SINGLE else fake(case, plan)

    done = run(planned(SINGLE, BATCH), tmp_path / "r.json", measure)
    first, second = done.rows
    assert (first.status, second.status) == (status, "ok")
    assert words in first.error


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"agents": 2, "status": "ok"}, "it has no samples"),
        ({"agents": 2, "status": "ok", "samples": [0.0]}, "samples"),
        ({"agents": 2}, "missing required field `status`"),
    ],
)
def test_an_answer_that_is_no_measurement_is_a_row_with_the_reason(answer: Any, reason: str) -> None:
    program = f"import sys; sys.stdin.readline(); print({json.dumps(json.dumps(answer))}, flush=True)"
    found = runner.in_own_process(SINGLE, PLAN, (sys.executable, "-c", program))
    assert found.status == "failed"
    assert reason in str(found.error)


def test_what_goes_wrong_in_a_worker_is_reported() -> None:
    arena = dataclasses.replace(SINGLE, id="Arena-V0", workload="cooperative")
    row = runner.in_own_process(arena, PLAN)
    assert row.status == "failed"
    assert row.error.startswith("ValueError: workload='cooperative' needs a script")


def test_resuming_measures_only_what_lacks(tmp_path: Path) -> None:
    asked: list[Case] = []

    def measure(case: Case, plan: Plan) -> Measurement:
        asked.append(case)
        return fake(case, plan)

    whole = run(planned(SINGLE, BATCH), tmp_path / "r.json", measure)
    half = replace(whole, rows=whole.rows[:1])
    assert runner.missing(half) == [BATCH]
    asked.clear()
    run(half, tmp_path / "r.json", measure)
    assert asked == [BATCH]
    stale = replace(whole, rows=[replace(row, identity="0" * 12) for row in whole.rows])
    asked.clear()
    again = run(stale, tmp_path / "r.json", measure)
    assert asked == [SINGLE, BATCH]
    assert len(again.rows) == 2


def test_a_checksum_that_differs_between_modes_is_a_mismatch(tmp_path: Path) -> None:
    other = dataclasses.replace(BATCH, mode="jax-vmap")
    third = dataclasses.replace(BATCH, steps=9)

    def measure(case: Case, plan: Plan) -> Measurement:
        checksum = {BATCH: "a" * 16, other: "b" * 16, third: "c" * 16}[case]
        return replace(fake(case, plan), checksum=checksum)

    done = run(planned(BATCH, other, third), tmp_path / "r.json", measure)
    assert [row.status for row in done.rows] == ["ok", "mismatch", "ok"]
    assert f"its checksum {'b' * 16} is not the {'a' * 16} of {BATCH.name}" in done.rows[1].error


def test_a_single_environment_and_a_batch_of_one_play_other_tapes(tmp_path: Path) -> None:
    """The one plays all tapes one after the other."""
    single = Case(BATCH.id, "numpy-single", steps=8)
    scan, other = Case(BATCH.id, "jax-scan", 1, 8), Case(BATCH.id, "jax-single", steps=8)

    def measure(case: Case, plan: Plan) -> Measurement:
        return replace(fake(case, plan), checksum={single: "a", scan: "b", other: "c"}[case] * 16)

    done = run(planned(single, scan, other), tmp_path / "r.json", measure)
    assert [row.status for row in done.rows] == ["ok", "ok", "mismatch"]


def bench(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "bench", *arguments]


def test_a_killed_run_loses_at_most_the_case_under_way_and_can_be_resumed(tmp_path: Path) -> None:
    path = tmp_path / "killed.json"
    small = ("--only", "CrampedRoom numpy-single", "--rounds", "1")
    first = bench("run", *small, "--output", str(path))
    process = subprocess.Popen(first, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not path.exists() or not results.load(path).rows:
        assert process.poll() is None, "the run ended before it could be killed"
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    left = results.load(path)
    planned_names = [parameters.case.name for parameters in left.configuration.planned]
    kept = [row.name for row in left.rows]
    assert 1 <= len(kept) < len(planned_names) == 2
    assert kept == planned_names[: len(kept)]
    again = subprocess.run(
        bench("run", "--resume", "--output", str(path)),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )
    assert again.returncode == 0, again.stderr
    whole = results.load(path)
    assert [row.name for row in whole.rows] == planned_names
    assert whole.rows[: len(kept)] == left.rows
    assert f"[1/{2 - len(kept)}]" in again.stderr
    assert "2 measured; " in again.stdout
