"""Compare the checkout with itself, to find the A/B's false alarms and misses."""

from __future__ import annotations

import argparse
from pathlib import Path

from bench import suites
from bench.commands.options import at_least, installed, refuse_shadow
from bench.experiments import campaign
from bench.show.progress import Progress
from bench.storage.results import RESULTS

EXAMPLE = "python -m bench selfcheck bench/evidence/selfcheck.jsonl --replay"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    log = RESULTS / "selfcheck.jsonl"
    parser.add_argument(
        "log", type=Path, nargs="?", default=log, help="is continued; default: in bench/results"
    )
    parser.add_argument("--runs", type=at_least(1), metavar="N", help="at most this many of each kind")
    parser.add_argument(
        "--suites", type=at_least(1), default=2000, help="number of resampled suites; default: %(default)s"
    )
    parser.add_argument("--replay", action="store_true", help="run nothing, only read the log")


def run(options: argparse.Namespace) -> None:
    refuse_shadow("selfcheck")
    with Progress() as progress:
        if not options.replay:
            kinds = [one._replace(runs=min(one.runs, options.runs or one.runs)) for one in campaign.KINDS]
            campaign.run(options.log, kinds, installed(suites.standard()), progress)

        from bench.experiments import selfcheck  # scipy.stats takes seconds to import

        text = selfcheck.summary(campaign.load(options.log), options.suites, progress)
    print(text)
