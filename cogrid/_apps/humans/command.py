"""The command `python -m cogrid humans`."""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cogrid._apps.humans.dataset import write_dataset
from cogrid._apps.humans.games import check, read_games, replay_of
from cogrid._core.compile.spec import OBSERVATIONS
from cogrid._io import files
from cogrid._io.messages import brief
from cogrid._io.reading import as_settings
from cogrid.envs.registry import spec_of, world_name
from cogrid.replay.recording import SUFFIXES, Mismatch, Replay, is_replay_name, load_folder

OBSERVED = tuple(name for name in OBSERVATIONS if name != "none")
#: Options that leave the rules as they are: what is seen, and for how long a game is played.
NOT_RULES = ("max_steps", "observation", "window")
MISMATCH = 22  # the exit code when something differs from the engine


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to a parser."""
    parser.description = (
        "Read games that people played: those that overcooked_ai published in 2019, or replays saved by the "
        "page of `play`. Check every transition against the engine, and write replays and, for each "
        "environment, a training dataset. The files of overcooked_ai are pickles: they are parsed as data, "
        "and no code in them is run."
    )
    parser.epilog = (
        "example: pip download --no-deps overcooked-ai==1.1.0, unpack it, then "
        "python -m cogrid humans clean_train_trials.pickle --out humans. The games of overcooked_ai may not "
        "be redistributed."
    )
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        type=Path,
        help=f"such as clean_train_trials.pickle; a file that ends in {SUFFIXES[0]}[.gz]; a folder of these",
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="write ID.npz and replays/ here (none)")
    parser.add_argument("--observation", choices=OBSERVED, help="of the dataset (features); needs --out")
    parser.set_defaults(run=run)


class CheckedGame(NamedTuple):
    """A human game after comparison with the engine."""

    id: str
    options: dict[str, Any]  # that change the game
    transitions: int
    mismatches: int
    first: str | None  # what differs first
    replay: Replay | None  # of a game without a mismatch


def run(options: argparse.Namespace) -> int:
    """Check all games, write the requested files, and return the exit code."""
    if options.observation and not options.out:
        raise ValueError("--observation is for the dataset: add --out FOLDER, or leave it out.")
    groups: dict[tuple[str, str], list[CheckedGame]] = {}  # by id and options
    for file in options.files:
        for game in _games(file):
            if options.observation == "window" and game.replay:  # windows of several sizes are not one array
                env = spec_of(game.id, dict(game.replay.overrides))
                game = game._replace(options=game.options | {"window": env.window})
            groups.setdefault((game.id, json.dumps(game.options, sort_keys=True)), []).append(game)
    print(f"{'environment':<36}{'games':>8}{'transitions':>13}{'mismatches':>12}")
    names: set[str] = set()
    for (id, _), games in sorted(groups.items(), key=lambda group: (group[0][0], len(group[0][1]), group[0])):
        world = files.plain_name(world_name(id))
        name = next(one for number in itertools.count(1) if (one := _numbered(world, number)) not in names)
        names.add(name)
        steps, wrong = sum(game.transitions for game in games), sum(game.mismatches for game in games)
        print(f"{name:<36}{len(games):>8}{steps:>13,}{wrong:>12,}", flush=True)
        if games[0].options:
            print(f"  with {as_settings(games[0].options)}")
        for game in games:
            if game.first:
                print(f"  {game.first}")
        replays = [game.replay for game in games if game.replay]
        if options.out and replays:
            observed = options.observation or OBSERVED[0]
            write_dataset(options.out / f"{name}.npz", id, games[0].options, replays, observed)
            (options.out / "replays").mkdir(parents=True, exist_ok=True)
            for number, replay in enumerate(replays):
                replay.save(options.out / "replays" / f"{name}-{number:02}.replay.json.gz")
    return MISMATCH if any(game.mismatches for games in groups.values() for game in games) else 0


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}-{number}"


def _games(path: Path) -> Iterator[CheckedGame]:
    """The games of a file or a folder, checked."""
    if path.is_dir():
        replays = list(load_folder(path))
        if not replays:
            raise ValueError(f"{path} holds no replays: their names end in {' or '.join(SUFFIXES)}.")
        yield from (_checked(file, replay) for file, replay in replays)
    elif is_replay_name(path.name):
        yield _checked(path, Replay.load(path))
    else:
        for game in read_games(path):
            result = check(game)
            yield CheckedGame(
                game.id,
                _rules_of(game.id, game.overrides),
                *result,
                replay=replay_of(game) if not result.mismatches else None,
            )


def _checked(path: Path, replay: Replay) -> CheckedGame:
    """A replay, played again."""
    if replay.id is None:
        raise ValueError(f"{path} is of a world without an id: this command can only replay registered ids.")
    if not replay.knows_world:
        raise ValueError(
            f"{path} was recorded in {brief(replay.id)}: this command can only replay registered ids."
        )
    try:
        replay.verify()
    except Mismatch as error:
        return CheckedGame(
            replay.id, _rules_of(replay.id, replay.overrides), len(replay), 1, f"{path}: {error}", None
        )
    return CheckedGame(replay.id, _rules_of(replay.id, replay.overrides), len(replay), 0, None, replay)


def _rules_of(id: str, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The overrides that change the rules, the rewards or the board; where the agents start is not one."""
    changed = {name: value for name, value in overrides.items() if name not in (*NOT_RULES, "layout")}
    boards, usual = (
        ["\n".join(layout.letters) for layout in spec_of(id, made).layout] for made in (dict(overrides), {})
    )
    return changed if boards == usual else {"layout": boards, **changed}
