"""Print the history of a folder of results, with one column per run."""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.commands.options import at_least
from bench.show import history
from bench.storage.results import RESULTS

EXAMPLE = "python -m bench compare bench/results --batch-size 1024"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, nargs="?", default=RESULTS, help="default: bench/results")
    parser.add_argument("--batch-size", type=at_least(1), metavar="N", help="only rows of this batch")
    text = (
        "only the sweeps of the latest run that has any, with their efficiency: steps/s of a batch, relative "
        "to the best batch"
    )
    parser.add_argument("--scaling-only", action="store_true", help=text)


def run(options: argparse.Namespace) -> None:
    print(history.history(options.folder, options.batch_size, options.scaling_only))
