"""Draw every figure that the results have rows for, all files together, as PNG and SVG.

If several files measured the same case, each is drawn and labelled with its file name.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.exit_codes import UsageError
from bench.show.together import by_label, together
from bench.storage.results import RESULTS, load, short

EXAMPLE = "python -m bench plot bench/evidence/throughput.json --folder /tmp/plots"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="result files")
    parser.add_argument("--folder", type=Path, default=RESULTS / "plots", help="default: bench/results/plots")


def run(options: argparse.Namespace) -> None:
    from bench.show.figures import files  # matplotlib takes a second to import

    found = by_label({file: load(file) for file in options.files})
    drawn = files.draw_all(together(found), options.folder)
    if not drawn:
        raise UsageError(
            "no plot has enough rows in these files: `python -m bench run --full` measures them."
        )
    for path in drawn:
        print(short(path))
