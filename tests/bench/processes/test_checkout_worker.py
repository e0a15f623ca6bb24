"""The worker of an A/B: a case that is slowed on purpose."""

from __future__ import annotations

import time

import pytest

from bench.processes.checkout_worker import slowed
from cogrid.benchmarks.clock import Pass


def spin() -> str:
    end = time.perf_counter() + 0.002
    while time.perf_counter() < end:
        pass
    return "done"


def test_no_factor_leaves_the_work_alone() -> None:
    work = Pass(spin)
    assert slowed(work, 1.0) is work


@pytest.mark.parametrize("factor", [1.1, 3.0])
def test_a_slowed_pass_takes_at_least_its_factor_longer(factor: float) -> None:
    """At least: a busy machine may only add to it."""
    work = slowed(Pass(spin), factor)
    start = time.perf_counter()
    assert work.run() == "done"
    assert time.perf_counter() - start >= 0.002 * factor
