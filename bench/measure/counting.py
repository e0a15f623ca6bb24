"""Counting alone: the counters that a case's row has, without timing it."""

from __future__ import annotations

from collections.abc import Mapping

from bench.measure import training
from bench.measure.counters import counters, numpy_counters
from bench.measure.speed import counters_of
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.modes import keys, ready
from cogrid.cogrid_env import CoGridEnv

MEASURES = ("speed", "train", "reset")  # those whose rows have counters


def counted(case: Case) -> Mapping[str, int]:
    """The counters: of the compiled pass or reset on JAX, of one step or reset on NumPy."""
    if case.measure == "train":
        return training.ready(case).counters
    if case.measure == "reset":
        return of_reset(case)
    return counters_of(case, ready(case))


def of_reset(case: Case) -> Mapping[str, int]:
    env = CoGridEnv(case.spec, case.backend)
    count = counters if case.backend == "jax" else numpy_counters
    return count(env.reset_fn, env.rules.backend.key(keys(case)))
