"""Measure the phases of a step and the parts of the flat observation."""

from __future__ import annotations

import argparse

import cogrid
from bench import suites
from bench.commands.options import add_file, at_least, cogrid_errors, installed, new_result
from bench.commands.run import exit_code, measure
from bench.measure.plan import Plan
from bench.show import tables

EXAMPLE = "python -m bench profile --layout CounterCircuit --layout Arena --batch 4096"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--layout", action="append", metavar="NAME", help="default: CrampedRoom; repeatable")
    parser.add_argument("--batch", type=at_least(1), default=1024, help="default: %(default)s")
    add_file(parser)


def run(options: argparse.Namespace) -> int:
    known = cogrid.registered()
    asked = options.layout or [suites.CRAMPED]
    ids = [next((id for id in known if name.lower() in id.lower()), name) for name in asked]
    with cogrid_errors():
        chosen = suites.checked(installed(suites.profile(ids, options.batch)))
    path, result = new_result("profile", chosen, Plan(), options)
    measure(path, result)
    print(tables.profile(result))
    return exit_code(result)
