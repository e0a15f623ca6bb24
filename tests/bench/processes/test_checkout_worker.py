"""The worker of an A/B: the cores that it uses, and a case that is slowed on purpose."""

from __future__ import annotations

import os
import sys
import time

import pytest

from bench.processes import pair
from bench.processes.checkout_worker import in_turns_on_cpu, slowed
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


def test_a_turn_on_the_cpu_is_the_mean_of_its_passes_without_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By a CPU clock that is made up: every pass takes twice as long as the one before."""
    clock = iter(range(10_000))
    monkeypatch.setattr(time, "process_time", lambda: float(2 ** next(clock)))
    passes = []

    def run() -> None:
        passes.append(spin())

    with in_turns_on_cpu(Pass(run)) as turn:
        monkeypatch.setattr(time, "process_time", (2.0**n for n in range(10_000)).__next__)
        before = len(passes)
        taken = turn()
        count = len(passes) - before
    assert taken == sum(2.0 ** (2 * n) for n in range(1, count)) / (count - 1)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can tell a process which cores to use")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_checkout_has_as_many_cores_as_threads(threads: int) -> None:
    """Otherwise a comparison of one thread with two would find no difference."""
    with Worker(pair.COMMAND, {"NPROC": str(threads)}) as worker:
        parameters = Case("Overcooked-CrampedRoom-V0", "numpy-single", steps=4).parameters()
        worker.ask({"parameters": parameters, "checked": False, "slow": 1.0, "on_cpu": False})
        cores = os.sched_getaffinity(worker._process.pid)
    assert cores == set(sorted(os.sched_getaffinity(0))[-threads:])
