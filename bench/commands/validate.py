"""Train and play on both backends and compare; exits with 22 if any bit differs."""

from __future__ import annotations

import argparse

from bench.commands.options import at_least
from bench.experiments import validation

EXAMPLE = "python -m bench validate soak"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    known = "smoke, soak, or a number of comparisons"
    parser.add_argument("size", type=size_of, nargs="?", default="smoke", help=known)


def size_of(text: str) -> int:
    if text in validation.SIZES:
        return validation.SIZES[text]
    try:
        return at_least(1)(text)
    except argparse.ArgumentTypeError:
        names = " nor ".join(validation.SIZES)
        raise argparse.ArgumentTypeError(f"{text!r} is neither {names} nor a number of 1 or more") from None


def run(options: argparse.Namespace) -> int:
    return validation.run(options.size)
