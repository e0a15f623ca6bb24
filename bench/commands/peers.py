"""Measure cogrid against other libraries, and print which targets are met.

nox -s bench-peers installs them first. A library that is not installed gets a row that gives the reason.
"""

from __future__ import annotations

import argparse
import sys

from bench.commands.options import add_file, at_least, new_result, refuse_shadow
from bench.measure.plan import Plan
from bench.peers import run as peers
from bench.peers import table
from bench.show.progress import Progress
from bench.storage.results import short

EXAMPLE = "python -m bench peers --quick --only lossless"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", metavar="TEXT", help="targets whose name contains this")
    parser.add_argument("--rounds", type=at_least(1), metavar="N", help=f"default: {peers.ROUNDS}")
    parser.add_argument("--quick", action="store_true", help=f"{peers.QUICK_ROUNDS} rounds")
    parser.add_argument("--older", metavar="PYTHON", help="the Python of an environment with cogrid 0.3.2")
    add_file(parser)


def run(options: argparse.Namespace) -> int:
    refuse_shadow("peers")
    chosen = peers.select(options.only)
    rounds = options.rounds or (peers.QUICK_ROUNDS if options.quick else peers.ROUNDS)
    path, result = new_result("peers", [], Plan(rounds), options)
    with Progress() as progress:
        found = peers.run(chosen, rounds, options.older, result, path, progress)

    from bench.show.figures import files  # matplotlib takes a second to import

    files.draw_all([result], path.with_suffix(""))
    print(f"bench: results are in {short(path)}", file=sys.stderr)
    print(table.table(result, found))
    return peers.exit_code(found)
