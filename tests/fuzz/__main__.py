"""Run the fuzzers and inject the faults: python -m tests.fuzz, or nox -s fuzz."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence

from tabulate import tabulate

from tests.fuzz import tasks
from tests.fuzz.faults import Faults
from tests.fuzz.judge import SECONDS, Tally

MANY = 100  # inputs of which some must be valid
COLUMNS = ("target", "inputs", "accepted", "refused", "tracebacks", "hangs", "wrong results")


def main(arguments: Sequence[str] | None = None) -> int:
    """1 if anything happened that must not."""
    options = _parser().parse_args(arguments)
    if options.task:
        return tasks.work(options.task, options.inputs, options.seed, options.limit)
    names = [name for name in tasks.names() if not options.only or any(one in name for one in options.only)]
    if not names:
        print(f"fuzz: nothing is called {' or '.join(options.only)}: there are {', '.join(tasks.names())}.")
        return 2
    began = time.monotonic()
    found = tasks.run_all(names, options.inputs, options.seed, options.limit, options.workers)
    print(report(found))
    minutes = (time.monotonic() - began) / 60
    print(f"\nseed {options.seed}, {minutes:.1f} minutes, {options.workers} processes at a time")
    return int(any(is_bad(one) for one in found))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="of all inputs and faults; default: %(default)s")
    parser.add_argument("--inputs", type=int, default=30_500, help="of all targets; default: %(default)s")
    parser.add_argument(
        "--only", action="append", metavar="TEXT", help="targets whose name has this; repeatable"
    )
    parser.add_argument(
        "--limit", type=float, default=SECONDS, help="seconds of one input; default: %(default)g"
    )
    workers = (os.cpu_count() or 1) + 1  # injected faults wait now and then
    parser.add_argument(
        "--workers", type=int, default=workers, help="processes at a time; default: %(default)s"
    )
    parser.add_argument("--task", help=argparse.SUPPRESS)  # what a worker is told
    return parser


def is_bad(found: Tally | Faults) -> bool:
    """Whether anything is not as it must be."""
    if isinstance(found, Tally):
        return bool(found.faults) or is_blunt(found)
    return found.survived < found.tried


def is_blunt(tally: Tally) -> bool:
    """Whether it accepted none of many inputs: what they begin with is not valid any more."""
    return tally.inputs >= MANY and not tally.accepted


def report(found: Sequence[Tally | Faults]) -> str:
    """The tables, and examples of what must not be."""
    tallies = [one for one in found if isinstance(one, Tally)]
    faults = [one for one in found if isinstance(one, Faults)]
    parts = []
    if tallies:
        rows = [
            [one.target, one.inputs, one.accepted, one.refused, one.tracebacks, one.hangs, one.wrong]
            for one in tallies
        ]
        total = ["all", *(sum(row[column] for row in rows) for column in range(1, len(COLUMNS)))]
        parts.append(tabulate([*rows, total], COLUMNS, intfmt=",", tablefmt="simple"))
    if faults:
        rows = [[one.target, one.tried, one.survived] for one in faults]
        parts.append(tabulate(rows, ("fault", "injected", "survived"), tablefmt="simple"))
    parts += [
        f"{one.target}: no input was accepted, so little was tested." for one in tallies if is_blunt(one)
    ]
    parts += [f"{one.target}: {text}" for one in found for text in one.examples]
    return "\n\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
