"""Human games: every transition is checked against the engine; replays and datasets hold what was played."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cogrid.__main__ import main
from cogrid._apps.humans.games import check, read_games, replay_of
from tests._apps.humans.recordings import ROWS, played, write


@pytest.fixture(scope="module")
def columns() -> dict[str, list[Any]]:
    return played(120)


def test_a_game_is_read_as_it_was_played(columns: dict[str, list[Any]], tmp_path: Path) -> None:
    (game,) = read_games(write(tmp_path / "a.pickle", columns))
    assert (game.kitchen, game.rows, game.pair, len(game)) == ("CrampedRoom", ROWS, 7, 120)
    assert game.rewards.sum() >= 40  # so that potting, plating and delivering are among the transitions
    found = check(game)
    assert found == (120, 0, None)


def test_games_are_told_apart_and_ordered(tmp_path: Path) -> None:
    first, second = played(10, pair=1), played(8, pair=2)
    mixed = {name: second[name][::-1] + first[name] for name in first}
    games = read_games(write(tmp_path / "a.pickle", mixed))
    assert [(game.pair, len(game)) for game in games] == [(2, 8), (1, 10)]
    assert [check(game).mismatches for game in games] == [0, 0]


@pytest.mark.parametrize(
    ("column", "old", "new", "told"),
    [
        ("next_state", "'position': [1, 2]", "'position': [2, 2]", "pos"),
        ("reward", 5.0, 10.0, "reward"),
        ("next_state", "['onion', 2, 0]", "['onion', 1, 0]", "cells"),
        ("next_state", "'orientation': [0, -1]", "'orientation': [0, 1]", "pose"),
    ],
)
def test_a_transition_that_is_another_is_found(
    columns: dict[str, list[Any]], tmp_path: Path, column: str, old: Any, new: Any, told: str
) -> None:
    changed = {name: list(values) for name, values in columns.items()}
    step = next(
        i for i, value in enumerate(changed[column]) if (value == old if column == "reward" else old in value)
    )
    changed[column][step] = new if column == "reward" else changed[column][step].replace(old, new, 1)
    (game,) = read_games(write(tmp_path / "a.pickle", changed))
    assert check(game) == (120, 1, f"CrampedRoom, pair 7, step {step}: {told}")


def test_a_game_becomes_a_replay(columns: dict[str, list[Any]], tmp_path: Path) -> None:
    (game,) = read_games(write(tmp_path / "a.pickle", columns))
    replay = replay_of(game)
    replay.verify("numpy")
    np.testing.assert_array_equal(replay.actions, game.actions)
    assert sum(frame.rewards[0] for frame in replay.play()) == game.rewards.sum()


def test_a_game_that_began_elsewhere_keeps_its_start(columns: dict[str, list[Any]], tmp_path: Path) -> None:
    later = {name: values[50:] for name, values in columns.items()}
    (game,) = read_games(write(tmp_path / "a.pickle", later))
    frames = list(replay_of(game).play())
    assert frames[0].state.agent_pos[0].tolist() == game.states[0]["players"][0]["position"][::-1]
    assert sum(frame.rewards[0] for frame in frames) == game.rewards.sum()


@pytest.mark.parametrize("name", ["state", "layout_name", "cur_gameloop"])
def test_a_table_of_something_else_is_refused(
    columns: dict[str, list[Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    other = {key: values for key, values in columns.items() if key != name}
    assert main(["humans", str(write(tmp_path / "a.pickle", other))]) == 2
    assert "holds a table, but not of overcooked_ai's human games" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("column", "old", "new"),
    [
        ("state", "'objects'", "'things'"),
        ("next_state", "'players'", "'people'"),
        ("state", "'position': [1, 2]", "'position': [1, 200]"),
        ("state", "'position': [1, 2]", "'position': [1e300, 2]"),
        ("state", "'orientation': [0, -1]", "'orientation': [5, 5]"),
    ],
)
def test_odd_states_are_one_sentence(
    columns: dict[str, list[Any]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    column: str,
    old: str,
    new: str,
) -> None:
    changed = {**columns, column: [value.replace(old, new) for value in columns[column]]}
    assert changed != columns
    assert main(["humans", str(write(tmp_path / "a.pickle", changed)), "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no pipes in the file system")
def test_a_pipe_is_no_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "a.pickle")
    assert main(["humans", str(tmp_path / "a.pickle")]) == 2
    assert "is not a regular file." in capsys.readouterr().err
