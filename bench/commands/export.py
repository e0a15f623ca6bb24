"""Print a result as CSV or as a pyperf suite, or write it to a file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.commands.options import refuse_existing
from bench.show.export import to_csv, to_pyperf
from bench.storage import results
from bench.storage.results import short

EXAMPLE = "python -m bench export bench/results/benchmark_20261116_120000.json --to csv -o rows.csv"
FORMATS = {"csv": to_csv, "pyperf": to_pyperf}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path)
    parser.add_argument("--to", choices=sorted(FORMATS), required=True)
    parser.add_argument("--output", "-o", type=Path, metavar="FILE", help="default: print it")


def run(options: argparse.Namespace) -> None:
    text = FORMATS[options.to](results.load(options.file))
    refuse_existing(options.output)
    if options.output:
        results.write_bytes(options.output, text.encode())
        print(f"bench: written to {short(options.output)}", file=sys.stderr)
    else:
        print(text, end="")
