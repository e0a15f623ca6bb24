"""Print the names of a suite's cases; takes the same selection options as run."""

from __future__ import annotations

import argparse

from bench import suites
from bench.commands.options import add_selection, selected

EXAMPLE = "python -m bench list --full --only lossless"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)


def run(options: argparse.Namespace) -> None:
    for case in selected(options, suites.full if options.full else suites.quick):
        print(case.name)
