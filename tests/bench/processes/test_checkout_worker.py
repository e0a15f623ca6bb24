"""The worker of an A/B: the cores that it uses, and a case that is slowed on purpose."""

from __future__ import annotations

import os
import sys
import time

import pytest

from bench.processes import pair
from bench.processes.checkout_worker import slowed
from bench.processes.worker import Worker
from cogrid.benchmarks.case import Case
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


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can tell a process which cores to use")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_checkout_has_as_many_cores_as_threads(threads: int) -> None:
    """Otherwise a comparison of one thread with two would find no difference."""
    with Worker(pair.COMMAND, {"NPROC": str(threads)}) as worker:
        parameters = Case("Overcooked-CrampedRoom-V0", "numpy-single", steps=4).parameters()
        worker.ask({"parameters": parameters, "checked": False, "slow": 1.0})
        cores = os.sched_getaffinity(worker._process.pid)
    assert cores == set(sorted(os.sched_getaffinity(0))[-threads:])
