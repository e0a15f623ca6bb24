"""The suite that ships: NumPy and JAX on one kitchen, as a script and as a test of their reproducibility."""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import sys
from typing import Any

from cogrid.benchmarks import clock
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.clock import Length
from cogrid.benchmarks.modes import check, ready

N_BENCHMARK_STEPS = 500
N_WARMUP_STEPS = 5
N_TRIALS = 3
BATCH_SIZE = 1024
VARIANCE_THRESHOLD = 10.0
LAYOUT = "Overcooked-CrampedRoom-V0"
SEED = 42

# A trial is the median of the passes that fill a second, and of at least twenty: fewer agree only by luck,
# since on a shared machine with two cores single passes of the batch differ by 14 %.
TRIAL_SECONDS, MIN_PASSES = 1.0, 20


def benchmark_numpy_single(n_steps: int = N_BENCHMARK_STEPS, n_trials: int = N_TRIALS) -> list[float]:
    """Steps per second of each trial: one environment through `env.step`."""
    return _trials(Case(LAYOUT, "numpy-single", steps=n_steps, workload="noop", seed=SEED), n_trials)


def benchmark_jax_single(n_steps: int = N_BENCHMARK_STEPS, n_trials: int = N_TRIALS) -> list[float]:
    """Steps per second of each trial: one environment, its step compiled."""
    return _trials(Case(LAYOUT, "jax-single", steps=n_steps, workload="noop", seed=SEED), n_trials)


def benchmark_jax_vmap(
    n_steps: int = N_BENCHMARK_STEPS, n_trials: int = N_TRIALS, batch_size: int = BATCH_SIZE
) -> list[float]:
    """Steps per second of each trial, over the whole batch: the vmapped step in a Python loop."""
    case = Case(LAYOUT, "jax-vmap", batch_size, steps=n_steps, workload="noop", seed=SEED)
    return _trials(case, n_trials)


def _trials(case: Case, n_trials: int) -> list[float]:
    """Every pass begins in the same reset state, and is compiled and fed before the clock starts."""
    prepared = ready(case)
    work = prepared.work
    check(case, prepared, prepared.end(work.once()))
    warmup = Length(clock.WARMUP_SECONDS, -(-N_WARMUP_STEPS // case.steps))
    passes = max(MIN_PASSES, round(TRIAL_SECONDS / clock.take(work, 1, clock.LENGTH, warmup).seconds[0]))
    seconds = clock.take(work, passes * n_trials, clock.LENGTH, Length(0.0, 1)).seconds
    # Trials take turns pass by pass: a machine that gets slower for some seconds does so for all of them.
    medians = [statistics.median(seconds[trial::n_trials]) for trial in range(n_trials)]
    return [case.steps * case.batch / median for median in medians]


def compute_variance(trials: list[float]) -> float:
    """The spread of the trials, in per cent of their median."""
    return (max(trials) - min(trials)) / statistics.median(trials) * 100


def run_benchmark_suite() -> dict[str, dict[str, Any]]:
    """Measure, print the table, return its numbers."""
    trials = {
        "numpy_single": benchmark_numpy_single(),
        "jax_single": benchmark_jax_single(),
        "jax_vmap_1024": benchmark_jax_vmap(),
    }
    numpy_median = statistics.median(trials["numpy_single"])
    results = {
        name: {
            "trials": values,
            "median": statistics.median(values),
            "variance_pct": compute_variance(values),
            "speedup_vs_numpy": statistics.median(values) / numpy_median,
        }
        for name, values in trials.items()
    }
    print(_table(**results))
    return results


def _table(numpy_single: dict[str, Any], jax_single: dict[str, Any], jax_vmap_1024: dict[str, Any]) -> str:
    vmap = jax_vmap_1024["median"]
    return f"""\
CoGrid Benchmark Suite
======================
Layout: {LAYOUT}
Steps per measurement: {N_BENCHMARK_STEPS}
Trials: {N_TRIALS}, taking turns
vmap batch size: {BATCH_SIZE}

Results (median of {N_TRIALS} trials):
NumPy single-env:         {numpy_single["median"]:>12,.0f} steps/sec
JAX single-env (JIT):     {jax_single["median"]:>12,.0f} steps/sec  \
({jax_single["speedup_vs_numpy"]:.1f}x vs numpy)
JAX vmap@{BATCH_SIZE} (total):    {vmap:>12,.0f} steps/sec  \
({jax_vmap_1024["speedup_vs_numpy"]:.1f}x vs numpy, {vmap / jax_single["median"]:.1f}x vs JAX single)
JAX vmap@{BATCH_SIZE} (per-env):  {vmap / BATCH_SIZE:>12,.0f} steps/sec

Reproducibility (max trial variance):
NumPy:      {numpy_single["variance_pct"]:.1f}%
JAX single: {jax_single["variance_pct"]:.1f}%
JAX vmap:   {jax_vmap_1024["variance_pct"]:.1f}%"""


def test_benchmark_reproducibility() -> None:
    """The batch beats one NumPy environment, and its trials agree."""
    results = run_benchmark_suite()
    assert results["jax_vmap_1024"]["median"] > results["numpy_single"]["median"]
    assert results["jax_vmap_1024"]["variance_pct"] <= VARIANCE_THRESHOLD


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    if importlib.util.find_spec("jax") is None:
        sys.exit("the suite compares NumPy with JAX, which is not installed: run pip install '.[jax]' here.")
    run_benchmark_suite()
