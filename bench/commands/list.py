"""Print the cases of a suite, or their memory; takes the same selection options as run."""

from __future__ import annotations

import argparse

from tabulate import tabulate

from bench import suites
from bench.commands.options import add_selection, selected
from bench.measure import memory
from bench.units import size
from cogrid.benchmarks.case import Case

EXAMPLE = "python -m bench list --memory --layout Arena --batch 1e6"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    text = "also the bytes of one environment's state and observations, and what the batch takes at least"
    parser.add_argument("--memory", action="store_true", help=text)


def run(options: argparse.Namespace) -> None:
    cases = selected(options, suites.full if options.full else suites.quick)
    if options.memory:
        print(tabulate(map(_sizes, cases), ("case", "state", "observations", "batch, at least")))
    else:
        print("\n".join(case.name for case in cases))


def _sizes(case: Case) -> tuple[str, ...]:
    return case.name, *map(size, memory.per_environment(case).values()), size(memory.at_least(case))
