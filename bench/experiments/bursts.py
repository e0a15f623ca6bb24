"""Bursts: runs a command several times beside two processes that sleep and burn; counts its exit codes."""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence

from bench.experiments.neighbours import running
from cogrid._io.reading import whole_number

SHORTEST, LONGEST = 0.1, 3.0  # seconds of a burst, and of a sleep
PROGRAM = f"""
import os, random, sys, time
draw, parent = random.Random(int(sys.argv[1])), os.getppid()
while os.getppid() == parent:
    time.sleep(draw.uniform({SHORTEST}, {LONGEST}))
    end = time.perf_counter() + draw.uniform({SHORTEST}, {LONGEST})
    while time.perf_counter() < end and os.getppid() == parent:
        pass
"""


@contextlib.contextmanager
def bursts(count: int = 2) -> Iterator[None]:
    """So many processes that sleep and burn in turn while the block runs."""
    with running([PROGRAM, str(seed)] for seed in range(count)):
        yield


def run(command: Sequence[str], times: int) -> Counter[int]:
    """How often each exit code was seen; every run is a line."""
    codes = Counter[int]()
    for number in range(1, times + 1):
        start = time.perf_counter()
        code = subprocess.run(command, check=False).returncode
        print(f"run {number} of {times}: {time.perf_counter() - start:.0f} s, exit code {code}", flush=True)
        codes[code] += 1
    return codes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=whole_number(1), default=20, metavar="N", help="default %(default)s")
    parser.add_argument("--quiet", action="store_true", help="run it alone, without bursts")
    parser.add_argument("command", nargs="+", help="after --, for example: -- nox -s bench")
    options = parser.parse_args()
    with bursts(0 if options.quiet else 2):
        codes = run(options.command, options.times)
    tally = ", ".join(f"{count} with exit code {code}" for code, count in sorted(codes.items()))
    print(f"{options.times} runs {'alone' if options.quiet else 'beside bursts'}: {tally}.")
    return int(set(codes) != {0})


if __name__ == "__main__":
    sys.exit(main())
