"""Train and play with both backends beside each other; exits 22 if any bit differs."""

from __future__ import annotations

import argparse

from bench.experiments import validation

EXAMPLE = "python -m bench validate soak"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    known = "smoke, soak, or so many comparisons"
    parser.add_argument("size", type=validation.size_of, nargs="?", default="smoke", help=known)


def run(options: argparse.Namespace) -> int:
    return validation.run(options.size)
