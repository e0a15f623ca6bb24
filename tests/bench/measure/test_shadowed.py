"""A benchmark under `COGRID_SHADOW=1`: counts beside the speeds, a mark, and 22 for a planted fault."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import __main__ as command
from bench import baselines, judge, results, runner, worker
from bench.codes import Code, worst
from bench.judge import Earlier
from bench.results import ResultError
from bench.shadowed import shadowed
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.measures import Measured, Plan
from cogrid.core.rules import compile_rules
from tests.bench import test_main
from tests.bench.support import result, row
from tests.support import HAS_JAX

VARIABLE = "COGRID_SHADOW"
ROOM = "Overcooked-CrampedRoom-V0"
BESIDE = {"beside": "jax", "comparisons": 1234, "mismatches": 0, "ratio": 2.5, "first": None}

measured = test_main.measured


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asking for it takes a process that imports JAX."""
    monkeypatch.setattr(results, "_device", lambda: ("cpu", "cpu"))


@pytest.mark.parametrize("value", ["0", "", None])
def test_a_shadow_that_is_off_leaves_no_mark(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    plain = results.fingerprint(results.system())
    if value is not None:
        monkeypatch.setenv(VARIABLE, value)
    assert results.fingerprint(results.system()) == plain
    monkeypatch.setenv(VARIABLE, "1")
    assert results.fingerprint(results.system()) != plain


def test_times_with_a_shadow_are_no_baseline_and_are_not_compared(tmp_path: Path) -> None:
    configuration = {"suite": "quick", **Plan()._asdict(), "planned": []}
    base, shadowed = (result(configuration=configuration, flags=flags) for flags in ({}, {VARIABLE: "1"}))
    (finding,) = judge.judge(shadowed, Earlier([base]))
    assert finding.told == "not comparable: other flags"
    with pytest.raises(ResultError, match="measured under COGRID_SHADOW: unset that"):
        baselines.refuse(tmp_path, shadowed, "a reason", allow_dirty=False)


def test_workers_are_told_and_measure_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    tell = (
        "import json, os, sys; request = json.load(sys.stdin); "
        f"print(json.dumps({{'asked': request['shadow'], 'set': os.environ.get({VARIABLE!r})}}))"
    )
    case, python = Case(ROOM, "numpy-single"), runner.WORKER[0]
    assert runner.in_process_of_its_own(case, Plan(), (python, "-c", tell)) == {"asked": True, "set": None}


def test_rows_without_speeds_have_no_shadow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "measure", lambda case, plan, also: Measured("s", [1.0]))
    case = Case(ROOM, "numpy-single", measure="latency")
    found = worker.row_of(case, Plan(), shadow=True)
    assert found["status"] == "ok"
    assert "shadow" not in found


if HAS_JAX:

    @pytest.mark.xdist_group("shadow")
    def test_a_scan_may_go_beyond_the_end_of_an_episode() -> None:
        report = shadowed(Case(ROOM, "jax-scan", 3, steps=4, options=(("max_steps", 3),)))
        assert (report.comparisons, report.mismatches) == (24, 0)

    @pytest.mark.xdist_group("shadow")
    @pytest.mark.parametrize(
        ("mode", "batch", "comparisons"),
        [("numpy-single", 1, 5), ("numpy-batch", 3, 15), ("jax-vmap", 3, 15), ("jax-scan", 3, 24)],
    )
    def test_every_way_to_run_has_a_shadow(
        monkeypatch: pytest.MonkeyPatch, mode: str, batch: int, comparisons: int
    ) -> None:
        """The measuring itself is left out; the tape is played on both backends, and a fault is seen."""
        monkeypatch.setattr(worker, "measure", lambda case, plan, also: Measured("steps/s", [1.0]))
        case = Case(ROOM, mode, batch, steps=4)
        fine = worker.row_of(case, Plan(), shadow=True)
        assert fine["status"] == "ok"
        assert (fine["shadow"]["comparisons"], fine["shadow"]["mismatches"]) == (comparisons, 0)
        assert fine["shadow"]["ratio"] > 0
        rules = compile_rules(case.spec, "numpy")
        monkeypatch.setattr(rules, "turn", np.zeros_like(rules.turn))
        with pytest.warns(RuntimeWarning, match="the backends differ"):
            wrong = worker.row_of(case, Plan(), shadow=True)
        assert wrong["status"] == "mismatch"
        assert wrong["error"] == f"{wrong['shadow']['first']}."
        assert "agent 0" in wrong["error"]
        assert worst(judge.codes(judge.judge(result([{**row(), **wrong}]), Earlier()))) == Code.MISMATCH
