"""Draw every figure that the results have rows for, all files together, as PNG and SVG."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.commands.options import short
from bench.exit_codes import UsageError
from bench.storage.results import RESULTS, load, merged

EXAMPLE = "python -m bench plot bench/evidence/throughput.json --folder /tmp/plots"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="result files")
    parser.add_argument("--folder", type=Path, default=RESULTS / "plots", help="default: bench/results/plots")


def run(options: argparse.Namespace) -> None:
    from bench.show.figures import files  # matplotlib takes a second to import

    found = [load(file) for file in options.files]
    if len({(str(one.git), one.fingerprint) for one in found}) > 1:
        print("bench: drawn together, although machines or revisions differ.", file=sys.stderr)
    together = merged(found)
    if hidden := sum(len(one.rows) for one in found) - sum(len(one.rows) for one in together):
        note = "of a row that several files have the newest is drawn; `python -m bench compare` shows all"
        print(f"bench: {note} ({hidden} left out).", file=sys.stderr)
    drawn = files.draw_all(together, options.folder)
    if not drawn:
        raise UsageError(
            "no plot has enough rows in these files: `python -m bench run --full` measures them."
        )
    for path in drawn:
        print(short(path))
