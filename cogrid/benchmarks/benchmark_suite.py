"""The shipped suite: NumPy and JAX on one kitchen, as a script and as a reproducibility test."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import statistics
import sys
import unittest
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from types import MappingProxyType
from typing import Any, NamedTuple

from cogrid._io import installed
from cogrid._io.reading import whole_number
from cogrid.benchmarks import agreement
from cogrid.benchmarks.agreement import Verdict
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.clock import Pass
from cogrid.benchmarks.modes import check, ready

__all__ = (
    "benchmark_jax_single",
    "benchmark_jax_vmap",
    "benchmark_numpy_single",
    "compute_variance",
    "run_benchmark_suite",
)

N_BENCHMARK_STEPS = 500
N_WARMUP_STEPS = 5
N_TRIALS = 3
BATCH_SIZE = 1024
VARIANCE_THRESHOLD = 10.0  # per cent, of trials and of whole runs
UNSTABLE = 21  # the exit code for runs that differ more, as in `python -m bench`
LAYOUT = "Overcooked-CrampedRoom-V0"
SEED = 42

_RULE = "-" * 55
_NAMES = MappingProxyType(
    {"numpy_single": "NumPy:", "jax_single": "JAX single:", "jax_vmap_1024": "JAX vmap:"}
)
_VERDICTS = MappingProxyType(
    {"differ": "the trials differ", "too noisy": "too noisy to tell", "leaks": "the benchmark leaks memory"}
)

# Seconds per mode, after which its trials are judged as they are; on a quiet machine a third is enough.
SINGLE_BUDGET, BATCH_BUDGET = 4.0, 35.0


def benchmark_numpy_single(n_steps: int = N_BENCHMARK_STEPS, n_trials: int = N_TRIALS) -> list[float]:
    """Steps per second of each trial: one environment through `env.step`."""
    return _measured(_single("numpy-single", n_steps), n_trials).rates


def benchmark_jax_single(n_steps: int = N_BENCHMARK_STEPS, n_trials: int = N_TRIALS) -> list[float]:
    """Steps per second of each trial: one environment, its step compiled."""
    return _measured(_single("jax-single", n_steps), n_trials).rates


def benchmark_jax_vmap(
    n_steps: int = N_BENCHMARK_STEPS, n_trials: int = N_TRIALS, batch_size: int = BATCH_SIZE
) -> list[float]:
    """Steps per second of each trial, over the whole batch: the vmapped step in a Python loop."""
    return _measured(_batch(n_steps, batch_size), n_trials).rates


def _single(mode: str, n_steps: int) -> Case:
    return Case(LAYOUT, mode, steps=n_steps, workload="noop", seed=SEED)


def _batch(n_steps: int, batch_size: int) -> Case:
    return Case(LAYOUT, "jax-vmap", batch_size, steps=n_steps, workload="noop", seed=SEED)


class _Trials(NamedTuple):
    rates: list[float]  # steps per second
    verdict: Verdict


def _measured(case: Case, n_trials: int) -> _Trials:
    """Trials that share nothing: each has its own environment, compiled code and inputs.

    Every pass starts from the same reset state; compilation and transfers happen before the clock starts.
    """
    works = [_warm(case) for _ in range(n_trials)]
    verdict = agreement.measure(works, _budget(case), VARIANCE_THRESHOLD)
    return _Trials([case.steps * case.batch / seconds for seconds in verdict.seconds], verdict)


def _budget(case: Case) -> float:
    return SINGLE_BUDGET if case.batch == 1 else BATCH_BUDGET


def _warm(case: Case) -> Pass:
    """A pass that has been checked against NumPy and warmed up."""
    prepared = ready(case)
    check(case, prepared, prepared.end(prepared.work.once()))
    for _ in range(-(-N_WARMUP_STEPS // case.steps)):
        prepared.work.once()
    return prepared.work


def compute_variance(trials: list[float]) -> float:
    """The spread of the trials, in per cent of their median."""
    return (max(trials) - min(trials)) / statistics.median(trials) * 100


Results = dict[str, dict[str, Any]]


def run_benchmark_suite() -> Results:
    """Measure, print the table, return its numbers."""
    cases = {
        "numpy_single": _single("numpy-single", N_BENCHMARK_STEPS),
        "jax_single": _single("jax-single", N_BENCHMARK_STEPS),
        "jax_vmap_1024": _batch(N_BENCHMARK_STEPS, BATCH_SIZE),
    }
    measured = {}
    for number, (name, case) in enumerate(cases.items(), 1):
        limit = f"measuring for at most {_budget(case):.0f} s"
        print(f"[{number}/{len(cases)}] {name}: {limit}", file=sys.stderr, flush=True)
        measured[name] = _measured(case, N_TRIALS)
    numpy_median = statistics.median(measured["numpy_single"].rates)
    results = {
        name: {
            "trials": rates,
            "median": statistics.median(rates),
            "variance_pct": compute_variance(rates),
            "speedup_vs_numpy": statistics.median(rates) / numpy_median,
            "verdict": verdict.outcome,
            "reason": verdict.reason,
            "trend_pct": verdict.trend_pct,
        }
        for name, (rates, verdict) in measured.items()
    }
    print(_table(results))
    return results


def _table(results: Results) -> str:
    numpy_single, jax_single, jax_vmap = results.values()
    vmap = jax_vmap["median"]
    return f"""\
CoGrid Benchmark Suite
======================
Layout: {LAYOUT}
Steps per measurement: {N_BENCHMARK_STEPS}
Trials: {N_TRIALS}, taking turns
vmap batch size: {BATCH_SIZE}

Results (median of {N_TRIALS} trials):
{_RULE}
NumPy single-env:         {numpy_single["median"]:>12,.0f} steps/sec
JAX single-env (JIT):     {jax_single["median"]:>12,.0f} steps/sec  \
({jax_single["speedup_vs_numpy"]:.1f}x vs numpy)
JAX vmap@{BATCH_SIZE} (total):    {vmap:>12,.0f} steps/sec  \
({jax_vmap["speedup_vs_numpy"]:.1f}x vs numpy, {vmap / jax_single["median"]:.1f}x vs JAX single)
JAX vmap@{BATCH_SIZE} (per-env):  {vmap / BATCH_SIZE:>12,.0f} steps/sec
{_RULE}

Reproducibility (max trial variance):
{_lines({name: _spread(row) for name, row in results.items()})}

Trend (time of a pass, last third of the run against the first):
{_lines({name: f"{row['trend_pct']:+.1f}%" for name, row in results.items()})}"""


def _lines(values: dict[str, str]) -> str:
    """An indented line for each mode."""
    return "\n".join(f"  {_NAMES[name]:11} {value}" for name, value in values.items())


def _spread(row: dict[str, Any]) -> str:
    """The spread of the trials, with the reason if they do not agree."""
    spread = f"{row['variance_pct']:.1f}%"
    return (
        spread if row["verdict"] == "agree" else f"{spread}  ({_VERDICTS[row['verdict']]}: {row['reason']})"
    )


def repeated(count: int, run: Callable[[], Results], threshold: float = VARIANCE_THRESHOLD) -> bool:
    """Run the suite `count` times and print the differences between runs, which trials within a run hide.

    Returns whether the medians of every mode agree within `threshold` per cent.
    """
    runs = [run() for _ in range(count)]
    apart = {name: compute_variance([each[name]["median"] for each in runs]) for name in _NAMES}
    lines = _lines(
        {name: f"{value:.1f}%{'' if value <= threshold else '  (too much)'}" for name, value in apart.items()}
    )
    print(f"\nRun to run (max difference of the medians of {count} runs, at most {threshold:g}%):\n{lines}")
    _refuse_leaks(runs)
    return max(apart.values()) <= threshold


def _refuse_leaks(runs: Sequence[Results]) -> None:
    """End the process with the reasons if the memory of any run kept growing."""
    rows = [(name, row) for run in runs for name, row in run.items()]
    if leaks := [f"{name}: {row['reason']}" for name, row in rows if row["verdict"] == "leaks"]:
        sys.exit("\n".join(leaks))


def in_a_fresh_process() -> Results:
    """Run the suite in a new process, so that runs also differ in memory layout and the like."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(run_benchmark_suite).result()


class TooNoisyWarning(UserWarning):
    """The machine is too noisy to tell whether the trials agree."""


def test_benchmark_reproducibility() -> None:
    """The batch beats one NumPy environment, and its trials agree within `VARIANCE_THRESHOLD` per cent.

    They differ only if chance does not explain it; `agreement` has the rule. If the machine is too noisy to
    tell, the test warns and passes: noise is not the benchmark's fault.
    """
    if importlib.util.find_spec("jax") is None:
        raise unittest.SkipTest("the suite compares NumPy with JAX, which is not installed.")
    results = run_benchmark_suite()
    vmap = results["jax_vmap_1024"]
    assert vmap["median"] > results["numpy_single"]["median"]
    assert vmap["verdict"] not in ("differ", "leaks"), vmap["reason"]
    if vmap["verdict"] == "too noisy":
        with warnings.catch_warnings():
            warnings.simplefilter("always", TooNoisyWarning)  # also where warnings are errors
            warnings.warn(f"too noisy to tell: {vmap['reason']}", TooNoisyWarning, stacklevel=1)


def main() -> int:
    """Print the table; trials that differ are a line of it, not a failure, but growing memory is one."""
    codes = f"exit codes: 0 fine, 1 growing memory, 2 usage, {UNSTABLE} runs that differ by more than allowed"
    parser = argparse.ArgumentParser(description=__doc__, epilog=codes)
    text = "number of runs, each in a fresh process; prints the run-to-run difference of the medians"
    parser.add_argument("--repeat", type=whole_number(1), default=1, metavar="N", help=text)
    text = f"with --repeat: exit with {UNSTABLE} if medians differ by more per cent than this (%(default)g)"
    parser.add_argument("--threshold", type=_percent, default=VARIANCE_THRESHOLD, metavar="P", help=text)
    options = parser.parse_args()
    if importlib.util.find_spec("jax") is None:
        sys.exit(f"the suite compares NumPy with JAX, which is not installed: {installed.remedy('jax')}.")
    try:
        if options.repeat > 1:
            return 0 if repeated(options.repeat, in_a_fresh_process, options.threshold) else UNSTABLE
        _refuse_leaks([run_benchmark_suite()])
        return 0
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130


def _percent(text: str) -> float:
    """A share from 0 to 100, as argparse reads it."""
    with contextlib.suppress(ValueError):
        if 0 <= (value := float(text)) <= 100:
            return value
    raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 100")


if __name__ == "__main__":
    sys.exit(main())
