"""The command `python -m cogrid humans`."""

from __future__ import annotations

import argparse
from pathlib import Path

from cogrid.humans.games import Game, check, read_games, replay_of, write_dataset

MISMATCH = 22  # the exit code when something differs from the engine


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command to a parser."""
    parser.description = (
        "Read the games of two people that overcooked_ai published in 2019, check every transition against "
        "the engine, and write replays and, for each kitchen, a dataset to learn from. The files are "
        "pickles; they are read as data, and nothing in them is run."
    )
    parser.epilog = (
        "example: pip download --no-deps --no-binary :all: overcooked-ai==1.1.0, unpack it, then "
        "python -m cogrid humans clean_train_trials.pickle --out humans"
    )
    parser.add_argument(
        "files", metavar="FILE", nargs="+", type=Path, help="such as clean_train_trials.pickle"
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="for KITCHEN.npz and replays/ (none)")
    parser.add_argument(
        "--observation", default="features", metavar="KIND", help="of the dataset: features, lossless, window"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Check all games and write what was asked for; the exit code."""
    by_kitchen: dict[str, list[Game]] = {}
    for file in options.files:
        for game in read_games(file):
            by_kitchen.setdefault(game.kitchen, []).append(game)
    wrong = 0
    print(f"{'kitchen':<24}{'games':>8}{'transitions':>13}{'mismatches':>12}")
    for kitchen, games in sorted(by_kitchen.items()):
        checks = [check(game) for game in games]
        steps, mismatches = sum(one.transitions for one in checks), sum(one.mismatches for one in checks)
        print(f"{kitchen:<24}{len(games):>8}{steps:>13,}{mismatches:>12,}", flush=True)
        wrong += mismatches
        for first in filter(None, (one.first for one in checks)):
            print(f"  {first}")
        if options.out:
            write_dataset(options.out / f"{kitchen}.npz", games, options.observation)
            (options.out / "replays").mkdir(parents=True, exist_ok=True)
            for number, game in enumerate(games):
                replay_of(game).save(options.out / "replays" / f"{kitchen}-{number:02}.replay.json.gz")
    return MISMATCH if wrong else 0
