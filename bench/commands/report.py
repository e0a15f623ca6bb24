"""Write the results of a folder as one HTML file, with plots, noise and raw data."""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.commands.options import short
from bench.exit_codes import UsageError
from bench.storage import baselines, results

EXAMPLE = "python -m bench report bench/results --html report.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    folder = results.RESULTS
    parser.add_argument("folder", type=Path, nargs="?", default=folder, help="default: bench/results")
    parser.add_argument("--html", type=Path, required=True, metavar="FILE", help="the file to write")


def run(options: argparse.Namespace) -> None:
    from bench.show import report  # matplotlib takes a second to import

    found = [result for result in results.all_in(options.folder) if result.rows]
    if not found:
        raise UsageError(f"{options.folder} holds no results: `python -m bench run` writes them.")
    results.write_bytes(options.html, report.page(found, baselines.committed()).encode())
    print(short(options.html))
