"""The command `python -m cogrid crossplay`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from cogrid._io.reading import add_settings, whole_number
from cogrid.envs.registry import find, make
from cogrid.policies import zoo
from cogrid.policies.named import GREEDY, NAMED, POLICIES, best_note, training_note
from cogrid.policies.pairs import crossplay


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to a parser."""
    parser.description = (
        "Play every pair of policies, in both seats, and print the mean returns with the usual figures: "
        "self-play, cross-play, their gap and the worst pair."
    )
    parser.epilog = (
        "example: python -m cogrid crossplay Overcooked-CrampedRoom-V0 --players zoo scripted "
        "mine=runs/room/policy-0.npz"
    )
    parser.add_argument(
        "id", metavar="ID", help="an environment id, or module:Name or file.py:Name of your own"
    )
    parser.add_argument(
        "--players",
        nargs="+",
        required=True,
        metavar="[NAME=]POLICY",
        help=f"{NAMED}; zoo stands for all of the zoo",
    )
    add_settings(parser)
    parser.add_argument(
        "--episodes", type=whole_number(), default=20, metavar="N", help="episodes per pair (20)"
    )
    parser.add_argument(
        "--seed", type=whole_number(), default=0, metavar="N", help="seed of the first episode (0)"
    )
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="save crossplay.json and crossplay.png here"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Play, print the table, write the files."""
    players: dict[str, str] = {}
    for name, policy in (named for text in options.players for named in _named(text, options.id)):
        if not name.isprintable():
            raise ValueError(f"a player cannot be called {name!r}: write NAME=POLICY with letters in NAME.")
        if name in players:
            raise ValueError(f"two players are called {name!r}: write NAME=POLICY for one of them.")
        players[name] = policy

    def progress(step: int, steps: int) -> None:
        if step % max(1, steps // 10) == 0:
            print(f"step {step} of {steps}", file=sys.stderr, flush=True)

    chosen = dict(options.set)
    env = make(options.id, shadow=False, **{"shaping": 0.0, **chosen})
    for policy in dict.fromkeys(players.values()):
        if policy not in POLICIES:
            for note in (*best_note(policy), *training_note(policy, find(options.id), chosen)):
                print(note, file=sys.stderr)
    result = crossplay(env, players, options.episodes, options.seed, progress)
    result = result._replace(id=options.id, options=chosen)
    print(result.text())
    if options.out:
        result.save(options.out)
        print(f"{options.out}: crossplay.json, crossplay.png")


def _named(text: str, id: str) -> list[tuple[str, str]]:
    """The players that an argument stands for, with their names in the table."""
    name, policy = _split(text)
    greedy, policy = GREEDY if policy.startswith(GREEDY) else "", policy.removeprefix(GREEDY)
    if policy == "zoo" and not name:
        if not (known := zoo.names(id)):
            raise ValueError(f"the zoo has no policies for {id}: `python -m cogrid zoo` lists what it has.")
        return [(f"{greedy}zoo-{one.rpartition('-')[2]}", greedy + one) for one in known]
    short = "/".join(Path(policy).parts[-2:]).removesuffix(".npz") or policy
    return [(name or greedy + short, greedy + policy)]


def _split(text: str) -> tuple[str, str]:
    """The name, if there is one, and the policy; both a name and a path may have a "="."""
    parts = text.split("=")
    splits = [("=".join(parts[:k]), "=".join(parts[k:])) for k in range(len(parts))]
    files = (split for split in splits if split[1] and Path(split[1].removeprefix(GREEDY)).exists())
    return next(files, splits[-1])
