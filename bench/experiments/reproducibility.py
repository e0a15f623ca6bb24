"""Reproducibility under load: how the shipped suite's test ends, with and without planted faults.

Every run is a process of its own, with one neighbour per core that uses half of it in bursts, and prints a
line: the fault, how the run ended, its seconds, the load average at its end, and the reason given.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from bench.experiments.neighbours import neighbours
from cogrid.benchmarks import modes
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.modes import Ready

SUITE = "cogrid/benchmarks/benchmark_suite.py"
BLOCK = 8 << 20  # bytes that the growing benchmark keeps of every pass
EXAMPLE = "example: python -m bench.experiments.reproducibility --sound 20 --faults 5"

kept: list[Any] = []


def allocates(ready: Ready, trial: int) -> Ready:
    """A benchmark that keeps more and more memory, and copies it in every pass."""
    run = ready.work.run

    def grown() -> Any:
        kept.append(np.ones(BLOCK, np.int8))
        np.concatenate(kept)
        return run()

    return ready._replace(work=ready.work._replace(run=grown))


def twice(ready: Ready, trial: int) -> Ready:
    """A case that takes twice as long in one trial."""
    run = ready.work.run

    def again() -> Any:
        run()
        return run()

    return ready._replace(work=ready.work._replace(run=again)) if trial == 1 else ready


FAULTS: dict[str, Callable[[Ready, int], Ready]] = {"allocates": allocates, "twice": twice}


def plant(fault: Callable[[Ready, int], Ready]) -> None:
    """Plant the fault in the vmapped trials of the suite, which must not be imported yet."""
    sound, trials = modes.ready, itertools.count()

    def ready(case: Case) -> Ready:
        return fault(sound(case), next(trials)) if case.batch > 1 else sound(case)

    modes.ready = ready


def run(kind: str) -> str:
    """How one run ended: "agree", "too noisy", "found" for a failed test, else pytest's last lines."""
    command = [sys.executable, "-m", "bench.experiments.reproducibility", "--plant", kind]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    reason = re.search(r"AssertionError: (.*)|Warning: (too noisy to tell: .*)", done.stdout)
    said = reason and (reason[1] or reason[2])
    ends = {0: "too noisy" if said else "agree", 1: "found"}
    end = ends.get(done.returncode, "broken")
    seconds, load = time.monotonic() - start, os.getloadavg()[0]
    print(
        f"{kind:9}  exit {done.returncode}  {end:8}  {seconds:3.0f} s  load {load:4.1f}  {said or ''}",
        flush=True,
    )
    if end == "broken" or (end == "found" and not said):
        print(done.stdout[-2000:], done.stderr[-2000:], file=sys.stderr)
    return end


def main() -> None:
    """Run the campaign; exits with 1 if a sound run failed or a fault was missed."""
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLE)
    parser.add_argument("--sound", type=int, default=20, metavar="N", help="runs without a fault (20)")
    parser.add_argument("--faults", type=int, default=5, metavar="N", help="runs with each fault (5)")
    parser.add_argument(
        "--share", type=float, default=0.5, help="share of each core that a neighbour uses (0.5)"
    )
    parser.add_argument(
        "--plant", choices=("none", *FAULTS), help="one run of the test in this process, with this fault"
    )
    options = parser.parse_args()
    if options.plant:
        if options.plant in FAULTS:
            plant(FAULTS[options.plant])
        sys.exit(import_module("pytest").main(["-p", "no:xdist", SUITE]))
    ends: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    with neighbours(options.share, os.sched_getaffinity(0)):
        for kind, runs in (*((fault, options.faults) for fault in FAULTS), ("none", options.sound)):
            for _ in range(runs):
                ends[kind][run(kind)] += 1
    for kind, counts in ends.items():
        print(f"{kind}: " + ", ".join(f"{count} {end}" for end, count in counts.items()))
    missed = any(ends[fault]["found"] < options.faults for fault in FAULTS)
    sys.exit(1 if missed or ends["none"]["agree"] + ends["none"]["too noisy"] < options.sound else 0)


if __name__ == "__main__":
    main()
