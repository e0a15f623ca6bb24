"""Mark the nights at which a case became slower or faster, over the A/B runs that were kept.

Reads every benchmark_*.json below a folder, such as the artifacts of nightly runs. Ratios to one reference
are compared, never speeds of different hours or machines; counters that changed are listed too.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.compare import nights
from bench.exit_codes import UsageError
from bench.show import nights as shown
from bench.storage.results import RESULTS, all_in, short

EXAMPLE = "python -m bench history nights --plot history.png"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, nargs="?", default=RESULTS, help="default: bench/results")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw it too, as .png or .svg")


def run(options: argparse.Namespace) -> None:
    if options.plot and options.plot.suffix not in (".png", ".svg"):
        raise UsageError(f"--plot {options.plot} ends neither in .png nor in .svg.")
    runs = list(all_in(options.folder, "**/benchmark_*.json").values())
    found = nights.series(runs)
    print(shown.text(found, nights.counter_changes(runs)))
    if options.plot:
        if not found:
            raise UsageError(f"{options.folder} holds no A/B run, so there is nothing to draw.")
        from bench.show.figures import files  # matplotlib takes a second to import
        from bench.show.figures.nights import nights as figure

        files.save(figure(found), options.plot)
        print(f"\n{short(options.plot)}")
