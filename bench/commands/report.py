"""Write the results of a folder as one HTML file, with plots, noise and raw data."""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.storage import baselines, results
from bench.storage.results import short

EXAMPLE = "python -m bench report bench/results --html report.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    folder = results.RESULTS
    parser.add_argument("folder", type=Path, nargs="?", default=folder, help="default: bench/results")
    parser.add_argument("--html", type=Path, required=True, metavar="FILE", help="the file to write")


def run(options: argparse.Namespace) -> None:
    from bench.show import report  # matplotlib takes a second to import

    page = report.page(results.all_in(options.folder), baselines.committed())
    results.write_bytes(options.html, page.encode())
    print(short(options.html))
