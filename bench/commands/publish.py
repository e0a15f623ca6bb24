"""Redraw the pictures and tables of the docs from runs of the final code.

Takes a result of `run --full`, one of `peers`, both or neither: what is not given is drawn from the run
recorded in bench/evidence. The docs then name the revision.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.exit_codes import UsageError
from bench.peers.targets import TARGETS
from bench.records import Result
from bench.show import published
from bench.storage import results
from bench.storage.results import short

EXAMPLE = "python -m bench publish bench/results/FULL.json bench/results/PEERS.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", type=Path, nargs="*", metavar="FILE", help="result files")
    parser.add_argument(
        "--allow-dirty", action="store_true", help="publish results from a checkout with changes"
    )


def run(options: argparse.Namespace) -> None:
    from bench.show.figures import files  # matplotlib takes a second to import

    checked = []
    for path in options.files:
        result = results.load(path)
        if not options.allow_dirty and (result.git is None or result.git.dirty):
            raise UsageError(f"{path} is of a checkout with changes: commit, and measure again.")
        _refuse_part(path, result)
        checked.append((published.place_of(result), result))
    for place, result in checked:
        results.write(place, published.shown_part(result))
        print(short(place))
    found = published.recorded()
    pages = published.pages(found)
    for why in published.doubtful(found):
        print(f"bench: too noisy: {why}", file=sys.stderr)
    for name, figures in published.FIGURES.items():
        for path in files.draw([getattr(found, name)], figures, published.IMAGES, ("png",)):
            print(short(path))
    for page, text in pages.items():
        results.write_bytes(page, text.encode())
        print(short(page))


def _refuse_part(path: Path, result: Result) -> None:
    """Raise an error for a run of only some targets: it must not replace one of all."""
    found = {(one.what, one.against) for one in result.targets}
    lacking = sorted(one.name for one in TARGETS if (one.what, one.against) not in found)
    if result.configuration.suite == "peers" and lacking:
        count = f"{len(lacking)} of {len(TARGETS)} targets"
        raise UsageError(f"{path} lacks {count}, such as {lacking[0]!r}: run without --only.")
