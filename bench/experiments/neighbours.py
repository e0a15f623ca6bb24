"""Busy neighbours: processes that each use a share of a core, in bursts, while a block runs."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterable, Iterator

BURST = 0.05  # seconds: the mean time at work
PROGRAM = f"""
import os, random, sys, time
share, core, parent = float(sys.argv[1]), int(sys.argv[2]), os.getppid()
if core >= 0:
    os.sched_setaffinity(0, {{core}})
draw = random.Random(max(core, 0)).expovariate
while os.getppid() == parent:
    end = time.perf_counter() + draw(1 / {BURST})
    while time.perf_counter() < end:
        pass
    time.sleep(draw(share / (1 - share) / {BURST}))
"""
ANY_CORE = -1


@contextlib.contextmanager
def neighbours(share: float, cores: Iterable[int] = (ANY_CORE,)) -> Iterator[None]:
    """One on each of the cores, using this share of it; by default a single one that is not pinned."""
    with running([PROGRAM, str(share), str(core)] for core in (cores if share else ())):
        yield


@contextlib.contextmanager
def running(programs: Iterable[list[str]]) -> Iterator[None]:
    """Python programs, each with its arguments, that run while the block does."""
    processes = [subprocess.Popen([sys.executable, "-c", *program]) for program in programs]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()
