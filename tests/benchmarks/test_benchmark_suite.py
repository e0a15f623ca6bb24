"""The suite that ships: what it returns and prints, and how its test ends."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import unittest
import warnings
from collections.abc import Iterator
from typing import Any
from unittest.mock import Mock

import pytest

from cogrid.benchmarks import agreement, benchmark_suite
from cogrid.benchmarks.agreement import Conclusion, Verdict
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.clock import Pass
from cogrid.benchmarks.modes import Mismatch, Ready
from tests.support import HAS_JAX

RATES = {"numpy-single": [90.0, 100.0, 101.0], "jax-single": [200.0] * 3, "jax-vmap": [1e5, 1.02e5, 1.01e5]}


def verdict(outcome: Conclusion) -> Verdict:
    return Verdict(outcome, "the reason.", seconds=[0.5] * 3, trend_pct=3.52)


@pytest.fixture
def outcome(monkeypatch: pytest.MonkeyPatch) -> list[Conclusion]:
    """Nothing is measured; the last of these is the outcome of the vmapped trials."""
    outcomes: list[Conclusion] = ["agree"]

    def measured(case: Case, n_trials: int) -> benchmark_suite._Trials:
        assert (case.steps, n_trials, case.id) == (500, 3, benchmark_suite.LAYOUT)
        assert case.batch == (1024 if case.mode == "jax-vmap" else 1)
        return benchmark_suite._Trials(RATES[case.mode], verdict(outcomes[-1] if case.batch > 1 else "agree"))

    monkeypatch.setattr(benchmark_suite, "_measured", measured)
    return outcomes


def test_what_a_run_returns_and_prints(outcome: list[Conclusion], capsys: pytest.CaptureFixture[str]) -> None:
    results = benchmark_suite.run_benchmark_suite()
    assert list(results) == ["numpy_single", "jax_single", "jax_vmap_1024"]
    assert results["numpy_single"] == {
        "trials": [90.0, 100.0, 101.0],
        "median": 100.0,
        "variance_pct": pytest.approx(11.0),
        "speedup_vs_numpy": 1.0,
        "verdict": "agree",
        "reason": "the reason.",
        "trend_pct": 3.52,
    }
    out, err = capsys.readouterr()
    assert err.splitlines() == [
        "[1/3] numpy_single: measuring for at most 4 s",
        "[2/3] jax_single: measuring for at most 4 s",
        "[3/3] jax_vmap_1024: measuring for at most 35 s",
    ]
    lines = out.splitlines()
    assert lines == [
        "CoGrid Benchmark Suite",
        "======================",
        "Layout: Overcooked-CrampedRoom-V0",
        "Steps per measurement: 500",
        "Trials: 3, taking turns",
        "vmap batch size: 1024",
        "",
        "Results (median of 3 trials):",
        "-------------------------------------------------------",
        "NumPy single-env:                  100 steps/sec",
        "JAX single-env (JIT):              200 steps/sec  (2.0x vs numpy)",
        "JAX vmap@1024 (total):         101,000 steps/sec  (1010.0x vs numpy, 505.0x vs JAX single)",
        "JAX vmap@1024 (per-env):            99 steps/sec",
        "-------------------------------------------------------",
        "",
        "Reproducibility (max trial variance):",
        "  NumPy:      11.0%",
        "  JAX single: 0.0%",
        "  JAX vmap:   2.0%",
        "",
        "Trend (time of a pass, last third of the run against the first):",
        "  NumPy:      +3.5%",
        "  JAX single: +3.5%",
        "  JAX vmap:   +3.5%",
    ]


def test_the_test_passes_in_silence_where_the_trials_agree(outcome: list[Conclusion]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        benchmark_suite.test_benchmark_reproducibility()


@pytest.mark.parametrize(
    ("found", "words"), [("differ", "the trials differ"), ("leaks", "the benchmark leaks memory")]
)
def test_the_test_fails_with_the_reason_where_they_differ(
    outcome: list[Conclusion], capsys: pytest.CaptureFixture[str], found: Conclusion, words: str
) -> None:
    outcome.append(found)
    with pytest.raises(AssertionError, match=r"the reason\."):
        benchmark_suite.test_benchmark_reproducibility()
    assert f"  JAX vmap:   2.0%  ({words}: the reason.)" in capsys.readouterr().out


def test_the_test_passes_with_a_warning_where_it_is_too_noisy(
    outcome: list[Conclusion], capsys: pytest.CaptureFixture[str]
) -> None:
    """Also here, where the settings of pytest make errors of all warnings."""
    outcome.append("too noisy")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        benchmark_suite.test_benchmark_reproducibility()
    assert [str(each.message) for each in caught] == ["too noisy to tell: the reason."]
    assert "JAX vmap:   2.0%  (too noisy to tell: the reason.)" in capsys.readouterr().out


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if it had been started as `nox -s bench` does, also without JAX."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(sys, "argv", ["benchmark_suite"])


@pytest.mark.usefixtures("script")
@pytest.mark.parametrize("found", ["differ", "too noisy"])
def test_the_script_reports_times_and_never_fails_on_them(
    outcome: list[Conclusion], capsys: pytest.CaptureFixture[str], found: Conclusion
) -> None:
    outcome.append(found)
    benchmark_suite.main()
    assert "the reason." in capsys.readouterr().out


@pytest.mark.usefixtures("script")
def test_the_script_fails_on_memory_that_grows(outcome: list[Conclusion]) -> None:
    outcome.append("leaks")
    with pytest.raises(SystemExit, match=r"^jax_vmap_1024: the reason\.$"):
        benchmark_suite.main()


@pytest.mark.usefixtures("script")
def test_the_script_fails_on_a_wrong_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark_suite, "_measured", Mock(side_effect=Mismatch("rewards differ")))
    with pytest.raises(Mismatch, match="rewards differ"):
        benchmark_suite.main()


def test_a_batch_slower_than_numpy_fails(outcome: list[Conclusion], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RATES, "jax-vmap", [50.0] * 3)
    with pytest.raises(AssertionError):
        benchmark_suite.test_benchmark_reproducibility()


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[list[Pass]]:
    """The passes of all trials that were to be measured; each is run once and said to take half a second."""
    seen: list[list[Pass]] = []

    def measure(trials: list[Pass], budget: float, threshold: float) -> Verdict:
        seen.append(trials)
        for work in trials:
            work.once()
        assert threshold == benchmark_suite.VARIANCE_THRESHOLD
        return verdict("agree")._replace(seconds=[0.5] * len(trials))

    monkeypatch.setattr(agreement, "measure", measure)
    return seen


def test_trials_are_prepared_apart(measured: list[list[Pass]]) -> None:
    assert benchmark_suite.benchmark_numpy_single(7, 2) == [14.0, 14.0]
    first, second = measured[0]
    assert first.run is not second.run


def test_a_wrong_game_is_not_measured(measured: list[list[Pass]], monkeypatch: pytest.MonkeyPatch) -> None:
    sound = benchmark_suite.ready

    def wrong(case: Case) -> Ready:
        prepared = sound(case)
        end = prepared.end

        def scored(output: Any) -> Any:
            state, obs, rewards = end(output)
            return state, obs, rewards + 1

        return prepared._replace(end=scored)

    monkeypatch.setattr(benchmark_suite, "ready", wrong)
    with pytest.raises(Mismatch, match="rewards"):
        benchmark_suite.benchmark_numpy_single(7, 1)
    assert measured == []


if HAS_JAX:

    def test_jax_counts_the_steps_of_the_whole_batch(measured: list[list[Pass]]) -> None:
        assert benchmark_suite.benchmark_jax_single(6, 1) == [12.0]
        assert benchmark_suite.benchmark_jax_vmap(6, 2, 5) == [60.0, 60.0]
        assert [len(trials) for trials in measured] == [1, 2]


def test_a_real_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark_suite, "SINGLE_BUDGET", 0.0)
    rates = benchmark_suite.benchmark_numpy_single(20, 2)
    assert len(rates) == 2
    assert all(rate > 0 for rate in rates)


def test_the_variance_is_the_range_in_per_cent_of_the_median() -> None:
    assert benchmark_suite.compute_variance([90.0, 120.0, 100.0]) == pytest.approx(30.0)


def runs(*medians: tuple[float, float, float], verdict: str = "agree") -> Iterator[benchmark_suite.Results]:
    """Whole runs of the suite, with these medians."""
    names = ("numpy_single", "jax_single", "jax_vmap_1024")
    for each in medians:
        rows = zip(names, each, strict=True)
        yield {name: {"median": median, "verdict": verdict, "reason": "why."} for name, median in rows}


def test_runs_are_compared_with_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    found = runs((100.0, 50.0, 10.0), (110.0, 50.0, 30.0))
    assert not benchmark_suite.repeated(2, lambda: next(found))
    lines = capsys.readouterr().out.splitlines()
    assert lines[-4] == "Run to run (max difference of the medians of 2 runs, at most 10%):"
    assert [line.split() for line in lines[-3:]] == [
        ["NumPy:", "9.5%"],
        ["JAX", "single:", "0.0%"],
        ["JAX", "vmap:", "100.0%", "(too", "much)"],
    ]


@pytest.mark.parametrize(
    ("options", "code"), [((), 21), (("--threshold", "9"), 21), (("--threshold", "11"), 0)]
)
def test_runs_that_differ_too_much_have_an_exit_code(
    options: tuple[str, ...], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = runs((100.0, 50.0, 10.0), (110.0, 50.0, 10.0), (99.0, 50.0, 10.0))
    monkeypatch.setattr(benchmark_suite, "in_a_fresh_process", lambda: next(found))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: True)
    monkeypatch.setattr(sys, "argv", ["benchmark_suite", "--repeat", "3", *options])
    assert benchmark_suite.main() == code


def test_the_exit_code_is_that_of_bench() -> None:
    from bench.exit_codes import Code

    assert benchmark_suite.UNSTABLE == Code.INCONCLUSIVE


def test_growing_memory_outranks_runs_that_differ() -> None:
    found = runs((100.0, 50.0, 10.0), (200.0, 50.0, 10.0), verdict="leaks")
    with pytest.raises(SystemExit, match=r"numpy_single: why\."):
        benchmark_suite.repeated(2, lambda: next(found))


@pytest.mark.parametrize("share", ["-1", "101", "nan", "ten"])
def test_a_threshold_is_a_share(share: str, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmark_suite", f"--threshold={share}"])
    with pytest.raises(SystemExit) as ended:
        benchmark_suite.main()
    assert ended.value.code == 2
    assert f"'{share}' is not a number from 0 to 100" in capsys.readouterr().err


@pytest.mark.parametrize("times", ["0", "-1", "1.5"])
def test_it_runs_at_least_once(times: str) -> None:
    command = [sys.executable, "-m", "cogrid.benchmarks.benchmark_suite", f"--repeat={times}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, encoding="utf-8")
    assert done.returncode == 2
    assert f"'{times}' is not a whole number of at least 1" in done.stderr


def test_without_jax_the_test_of_reproducibility_is_skipped_with_a_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(unittest.SkipTest, match="which is not installed"):
        benchmark_suite.test_benchmark_reproducibility()
