"""Counting alone: the counters that a case's row has, without timing it."""

from __future__ import annotations

from collections.abc import Mapping

from bench.measure import training
from bench.measure.speed import counters_of
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.modes import ready

MEASURES = ("speed", "train")  # those whose rows have counters


def counted(case: Case) -> Mapping[str, int]:
    """JAX's of the compiled pass, NumPy's of one step."""
    if case.measure == "train":
        return training.ready(case).counters
    return counters_of(case, ready(case))
