"""Bursts and doubled trials: what is started is stopped, exit codes are counted, the work is done twice."""

from __future__ import annotations

import contextlib
import subprocess
import sys

import pytest

from bench.experiments import bursts, doubled
from cogrid.benchmarks import agreement
from cogrid.benchmarks.agreement import Verdict
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.clock import Pass


def test_bursts_end_with_the_block(started: list[subprocess.Popen[bytes]]) -> None:
    with contextlib.suppress(KeyboardInterrupt), bursts.bursts():
        assert [one.poll() for one in started] == [None, None]
        raise KeyboardInterrupt
    assert all(one.poll() is not None for one in started)


@pytest.mark.parametrize(("alone", "kind"), [(["--quiet"], "alone"), ([], "beside bursts")])
@pytest.mark.parametrize("code", [0, 3])
def test_exit_codes_are_counted(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    alone: list[str],
    kind: str,
    code: int,
) -> None:
    command = [sys.executable, "-c", f"raise SystemExit({code})"]
    monkeypatch.setattr(sys, "argv", ["bursts", "--times", "2", *alone, "--", *command])
    assert bursts.main() == (code > 0)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("run 1 of 2: ")
    assert lines[1:] == [lines[1], f"2 runs {kind}: 2 with exit code {code}."]


@pytest.mark.parametrize(("outcome", "code"), [("differ", 0), ("too noisy", 1)])
def test_the_last_trial_does_its_work_twice(
    monkeypatch: pytest.MonkeyPatch, outcome: agreement.Conclusion, code: int
) -> None:
    runs: list[int] = []

    class Prepared:
        def __init__(self, case: Case) -> None:
            self.work = Pass(lambda: runs.append(1))

    def measure(trials: list[Pass], budget: float, threshold: float) -> Verdict:
        counts = []
        for trial in trials:
            runs.clear()
            trial.run()
            counts.append(len(runs))
        assert counts == [1, 1, 2]
        return Verdict(outcome, "the reason.", [], 0.0)

    monkeypatch.setattr(doubled, "ready", Prepared)
    monkeypatch.setattr(agreement, "measure", measure)
    monkeypatch.setattr(sys, "argv", ["doubled"])
    assert doubled.main() == code
