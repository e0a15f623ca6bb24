"""Counting alone: the counters that a case's row has, without timing it."""

from __future__ import annotations

from collections.abc import Mapping

from bench.measure import training
from bench.measure.speed import counters_of
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.modes import ready

MEASURES = ("speed", "train")  # those whose rows have counters


def counted(case: Case) -> Mapping[str, int]:
    """The counters: of the compiled pass on JAX, of one step on NumPy."""
    if case.measure == "train":
        return training.ready(case).counters
    return counters_of(case, ready(case))
