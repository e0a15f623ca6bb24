"""The clock of the suite: seconds of one call, a collector that is off, and the peak of the memory."""

from __future__ import annotations

import gc
import subprocess
import sys
import time

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
    """In a process of its own: here the system may have taken back pages of what was held before."""
    program = (
        "import numpy as np; from cogrid.benchmarks.clock import peak_memory; before = peak_memory(); "
        "held = np.ones(2**28, np.int8); print(before, peak_memory())"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, encoding="utf-8"
    )
    before, after = map(int, run.stdout.split())
    assert before > 0
    assert after > before + 2**27
