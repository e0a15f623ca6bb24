"""`bench gpu --measure`: with a CPU in the place of a GPU, and a planted compiler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench import runner, suites
from bench.commands import gpu
from bench.exit_codes import NoDevice
from bench.measure.gpu import targets
from bench.measure.measures import measure
from bench.measure.plan import Plan
from bench.records import Measurement
from bench.storage import results
from cogrid.benchmarks.case import Case
from tests.bench.commands.support import bench
from tests.bench.show.test_gpu import COUNTERS
from tests.support import HAS_JAX

pytestmark = pytest.mark.skipif(not HAS_JAX, reason="is about JAX")
PROGRAMS = ("scan", "rollout")


class Compiler(runner.OneProcess):
    """Says of every program that it would run at a million steps per second."""

    def measure(self, case: Case, plan: Plan) -> Measurement:
        assert case.measure.startswith("cuda12-a100-")
        facts = {"unit": "modelled steps/s", "samples": [1e6], "counters": dict(COUNTERS)}
        return Measurement(agents=2, status="ok", **facts)


@pytest.fixture
def cpu_as_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    options = suites.options(observation="lossless")

    def some(*arguments: Any) -> list[Case]:
        return [
            Case(suites.CRAMPED, "jax-scan", 4, 2, measure=f"cuda12-a100-{one}", options=options)
            for one in PROGRAMS
        ]

    monkeypatch.setattr(gpu, "MEASURED_ON", "cpu")
    monkeypatch.setattr(targets, "named_by", lambda kind: "a100")
    monkeypatch.setattr(targets, "installed", lambda: "cuda12")
    monkeypatch.setattr(suites, "gpu", some)
    monkeypatch.setattr(runner, "OneProcess", Compiler)


def test_programs_are_run_beside_what_is_modelled(
    cpu_as_gpu: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench("gpu", "--measure", "-o", tmp_path / "r.json") == 0
    out = capsys.readouterr().out
    rows = {row.case.measure: row for row in results.load(tmp_path / "r.json").rows}
    assert list(rows) == [*(f"cuda12-a100-{one}" for one in PROGRAMS), *(f"run-{one}" for one in PROGRAMS)]
    _, heading, table = out.partition("measured / modelled")
    assert heading
    for name in PROGRAMS:
        row = rows[f"run-{name}"]
        assert (row.is_ok, row.unit, len(row.samples)) == (True, "steps/s", 5)
        line = next(one for one in table.splitlines() if f"{name}@4" in one)
        assert " 1 M " in line, "what the planted compiler said"
        assert line.endswith(f"{row.numbers.median / 1e6:.2f}")


@pytest.mark.parametrize("program", ["step", "renew", "trajectory"])
def test_every_program_can_be_run(program: str) -> None:
    seen = suites.options(observation="none", max_steps=2)
    case = Case(suites.CRAMPED, "jax-scan", 4, 3, measure=f"run-{program}", options=seen)
    found = measure(case, Plan(samples=2, seconds=0.0, warmup=0.0))
    assert found.unit == "steps/s"
    assert len(found.samples) == 2
    assert min(found.samples) > 0


def test_without_a_gpu_nothing_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("gpu", "--measure") == 69
    assert "--measure needs a GPU, and JAX's platform here is cpu." in capsys.readouterr().err


def test_a_gpu_that_the_model_does_not_know(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gpu, "MEASURED_ON", "cpu")
    assert bench("gpu", "--measure") == 69
    reason = capsys.readouterr().err
    assert "this device is 'cpu', and the model has the facts of NVIDIA A100-SXM4-80GB and " in reason
    assert [targets.named_by(kind) for kind in ("NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3")] == [
        "a100",
        "h100",
    ]
    for slower in ("NVIDIA A100-SXM4-40GB", "NVIDIA H100 PCIe"):
        with pytest.raises(NoDevice, match=slower):
            targets.named_by(slower)


def test_one_gpu_is_measured_and_not_eight(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("gpu", "--measure", "--full") == 2
    assert "leave out --full" in capsys.readouterr().err
