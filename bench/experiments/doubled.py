"""Doubled: whether the shipped suite finds a trial that really does its work twice; exits with 1 if not."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from cogrid.benchmarks import agreement
from cogrid.benchmarks.agreement import Verdict
from cogrid.benchmarks.benchmark_suite import (
    BATCH_BUDGET,
    BATCH_SIZE,
    LAYOUT,
    N_BENCHMARK_STEPS,
    N_TRIALS,
    SEED,
    VARIANCE_THRESHOLD,
)
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.clock import Pass
from cogrid.benchmarks.modes import ready

# The suite's own batch.
CASE = Case(LAYOUT, "jax-vmap", BATCH_SIZE, steps=N_BENCHMARK_STEPS, workload="noop", seed=SEED)


def twice(work: Pass) -> Pass:
    """A pass that has finished its work once before it does it again."""

    def run() -> Any:
        work.once()
        return work.run()

    return work._replace(run=run)


def verdict(case: Case = CASE, budget: float = BATCH_BUDGET) -> Verdict:
    """The suite's verdict on trials of which the last does everything twice."""
    works = [ready(case).work for _ in range(N_TRIALS)]
    for work in works:
        work.once()
    return agreement.measure([*works[:-1], twice(works[-1])], budget, VARIANCE_THRESHOLD)


def main() -> int:
    argparse.ArgumentParser(description=__doc__).parse_args()
    result = verdict()
    print(f"{result.outcome}: {result.reason}")
    return int(result.outcome != "differ")


if __name__ == "__main__":
    sys.exit(main())
