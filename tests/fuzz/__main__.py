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
from tests.fuzz.tasks import Found
from tests.worlds.counting import Counts
from tests.worlds.generator import HOOKS

MANY = 100  # inputs of which some must be valid
WORLDS = 10_000  # on NumPy
ENOUGH = 300  # worlds of which many must have any two hooks together
OFTEN = 20  # so many
COLUMNS = ("target", "inputs", "accepted", "refused", "tracebacks", "hangs", "wrong results")


def main(arguments: Sequence[str] | None = None) -> int:
    """1 if anything happened that must not."""
    options = _parser().parse_args(arguments)
    if options.task:
        return tasks.work(options.task, options.inputs, options.worlds, options.seed, options.limit)
    names = [name for name in tasks.names() if not options.only or any(one in name for one in options.only)]
    if not names:
        print(f"fuzz: nothing is called {' or '.join(options.only)}: there are {', '.join(tasks.names())}.")
        return 2
    began = time.monotonic()
    given = options.inputs, options.worlds, options.seed, options.limit, options.workers
    found = merged(tasks.run_all(names, *given))
    print(report(found))
    minutes = (time.monotonic() - began) / 60
    print(f"\nseed {options.seed}, {minutes:.1f} minutes, {options.workers} processes at a time")
    return int(any(is_bad(one) for one in found))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="of all inputs and faults; default: %(default)s")
    parser.add_argument("--inputs", type=int, default=30_500, help="of all targets; default: %(default)s")
    parser.add_argument(
        "--worlds", type=int, default=WORLDS, help="that are random, on NumPy; default: %(default)s"
    )
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


def merged(found: Sequence[Found]) -> list[Found]:
    """The same, with the parts of the random worlds put together by backend."""
    backends: dict[str, Counts] = {}
    for one in found:
        if isinstance(one, Counts):
            backends.setdefault(one.backend, Counts(one.backend)).add(one)
    return [one for one in found if not isinstance(one, Counts)] + [*backends.values()]


def is_bad(found: Found) -> bool:
    """Whether anything is not as it must be."""
    if isinstance(found, Counts):
        return bool(found.mismatches or found.refused or found.unlikely()) or is_thin(found)
    if isinstance(found, Tally):
        return bool(found.faults) or is_blunt(found)
    return found.survived < found.tried


def is_blunt(tally: Tally) -> bool:
    """Whether it accepted none of many inputs: what they begin with is not valid any more."""
    return tally.inputs >= MANY and not tally.accepted


def is_thin(counts: Counts) -> bool:
    """Whether many worlds still lack a pair of hooks, or have a hook that never made a difference."""
    is_rare = counts.rarest()[1] < OFTEN or not all(counts.met[hook] for hook in HOOKS)
    return counts.worlds >= ENOUGH and is_rare


def report(found: Sequence[Found]) -> str:
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
    parts += _worlds([one for one in found if isinstance(one, Counts)])
    parts += [
        f"{one.target}: no input was accepted, so little was tested." for one in tallies if is_blunt(one)
    ]
    parts += [
        text if isinstance(one, Counts) else f"{one.target}: {text}" for one in found for text in one.examples
    ]
    return "\n\n".join(parts)


def _worlds(found: Sequence[Counts]) -> list[str]:
    """What was compared in random worlds, and how often each of their hooks came into play."""
    if not found:
        return []
    rows = []
    for one in found:
        pair, often = one.rarest()
        counts = one.worlds, one.refused, one.steps, one.resets, one.mismatches
        rows.append([one.backend, *counts, f"{pair}: {often:,}"])
    names = (
        "worlds on",
        "worlds",
        "refused",
        "steps",
        "resets",
        "mismatches",
        "rarest pair of rules, worlds",
    )
    hooks = [
        [hook, *(count for one in found for count in (one.hooks[hook], one.met[hook]))] for hook in HOOKS
    ]
    heads = [text for one in found for text in (f"{one.backend} worlds", "times met")]
    return [
        tabulate(rows, names, intfmt=",", tablefmt="simple"),
        *(f"{one.backend}: {text}" for one in found for text in one.unlikely()),
        tabulate(hooks, ["rule", *heads], intfmt=",", tablefmt="simple"),
    ]


if __name__ == "__main__":
    sys.exit(main())
