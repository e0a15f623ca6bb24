"""Measure a rollout on more devices and processes, and count their collectives."""

from __future__ import annotations

import argparse

from bench.commands.options import at_least
from bench.experiments import scaling

EXAMPLE = "python -m bench scaling --rounds 5"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rounds", type=at_least(4), default=scaling.ROUNDS, help="at least 4; default: %(default)s"
    )
    parser.add_argument("--batch", type=at_least(1), default=scaling.BATCH, help="default: %(default)s")


def run(options: argparse.Namespace) -> int:
    return scaling.run(options.rounds, options.batch)
