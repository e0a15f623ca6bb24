"""The clock of the suite: seconds of one call, a collector that is off, and the peak of the memory."""

from __future__ import annotations

import gc
import time

import numpy as np
import psutil

from cogrid.benchmarks import clock
from cogrid.benchmarks.clock import Pass


def test_timed_once() -> None:
    seconds, result = clock.timed(lambda: [time.sleep(0.01), 7][1])
    assert (seconds >= 0.01, result) == (True, 7)


def test_no_garbage_is_collected_inside_the_guard() -> None:
    assert gc.isenabled()
    with clock.guarded():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_pass_is_prepared_before_it_runs() -> None:
    order: list[str] = []
    work = Pass(lambda: order.append("run"), lambda: order.append("prepare"))
    work.once()
    assert order == ["prepare", "run"]


def test_the_peak_of_the_memory_grows_with_what_is_held() -> None:
    before = clock.peak_memory()
    held = np.ones(before - psutil.Process().memory_info().rss + 2**25, np.int8)  # more than ever before
    assert clock.peak_memory() > before > 0
    assert held.all()
