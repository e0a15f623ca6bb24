"""A case under `COGRID_SHADOW=1`: what was compared stands beside the speed, and a planted fault is seen."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from bench import runner
from bench.compare import findings
from bench.exit_codes import Code, UsageError, worst
from bench.measure.plan import Measured, Plan
from bench.processes import case_worker
from bench.processes.case_worker import shadowed
from bench.runner import row_of
from bench.storage import accepting, machine
from bench.storage.baselines import Baselines
from cogrid._core.phases.movement import Movement
from cogrid._core.rules import compile_rules
from cogrid.benchmarks.case import Case
from tests.bench.support import result
from tests.support import HAS_JAX, plant

VARIABLE = "COGRID_SHADOW"
ROOM = "Overcooked-CrampedRoom-V0"


@pytest.mark.parametrize("value", ["0", "", None])
def test_a_shadow_that_is_off_leaves_no_mark(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.setattr(machine, "_device", lambda: ("cpu", "cpu"))  # asking takes a process with JAX
    monkeypatch.delenv(VARIABLE, raising=False)
    plain = machine.fingerprint(machine.system())
    if value is not None:
        monkeypatch.setenv(VARIABLE, value)
    assert machine.fingerprint(machine.system()) == plain
    monkeypatch.setenv(VARIABLE, "1")
    assert machine.fingerprint(machine.system()) != plain


def test_times_with_a_shadow_are_no_baseline_and_are_not_compared(tmp_path: Path) -> None:
    configuration = {"suite": "quick", **Plan()._asdict(), "planned": []}
    base, beside = (result(configuration=configuration, flags=flags) for flags in ({}, {VARIABLE: "1"}))
    (finding,) = findings.judge(beside, Baselines([base]))
    assert finding.text == "not comparable: other flags"
    with pytest.raises(UsageError, match="measured under COGRID_SHADOW: unset that"):
        accepting.refuse(tmp_path, beside, "a reason", allow_dirty=False)


def test_workers_are_asked_for_a_shadow_and_measure_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    answer = (
        "import json, os, sys; request = json.loads(sys.stdin.readline()); "
        f"error = f\"{{request['shadow']}} {{os.environ[{VARIABLE!r}]}}\"; "
        "print(json.dumps({'failed': 'failed', 'error': error}))"
    )
    measurement = runner.in_own_process(Case(ROOM, "numpy-single"), Plan(), (sys.executable, "-c", answer))
    assert measurement.error == "True 0"


def test_rows_without_speeds_have_no_shadow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case_worker, "measure", lambda case, plan: Measured("s", [1.0]))
    case = Case(ROOM, "numpy-single", measure="latency")
    found = case_worker.measured(case, Plan(), shadow=True)
    assert (found.status, found.shadow) == ("ok", None)


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
        monkeypatch.setattr(case_worker, "measure", lambda case, plan: Measured("steps/s", [1.0]))
        case = Case(ROOM, mode, batch, steps=4)
        fine = case_worker.measured(case, Plan(), shadow=True)
        assert fine.status == "ok"
        assert (fine.shadow.comparisons, fine.shadow.mismatches) == (comparisons, 0)
        assert fine.shadow.ratio > 0
        rules = compile_rules(case.spec, "numpy")
        plant(monkeypatch, rules, Movement, turn=np.zeros_like)
        with pytest.warns(RuntimeWarning, match="the backends differ"):
            wrong = case_worker.measured(case, Plan(), shadow=True)
        assert wrong.status == "mismatch"
        assert wrong.error == f"{wrong.shadow.first}."
        assert "agent 0" in wrong.error
        judged = findings.judge(result([row_of(case, Plan(), wrong)]), Baselines())
        assert worst(code for finding in judged for code in finding.codes) == Code.MISMATCH
