"""Tapes: what they hold comes back, and anything else is a sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import cogrid
from cogrid.replay import tapes
from cogrid.replay.tapes import Tapes

ROOM = "Overcooked-CrampedRoom-V0"


def some() -> Tapes:
    """Two players, three episodes of scripted cooks each."""
    from cogrid.policies.named import policy_of

    actions, points = np.zeros((2, 3, 400, 2), np.uint8), np.zeros((2, 3), np.float32)
    for player, episode in np.ndindex(2, 3):
        env = cogrid.make(ROOM)
        env.reset(seed=episode)
        act = policy_of("scripted", env.rules, seed=player)
        for step in range(400):
            joint = act(env.env_state)
            actions[player, episode, step] = [joint[0], joint[1]]
            points[player, episode] += env.step(joint)[1][0]
    return Tapes(ROOM, actions, points)


def test_tapes_score_the_same_again(tmp_path: Path) -> None:
    written = some()
    assert written.points.min() > 0
    tapes.save(tmp_path / "tapes.npz", written)
    read = tapes.load(tmp_path / "tapes.npz")
    assert read.id == ROOM
    np.testing.assert_array_equal(read.actions, written.actions, strict=True)
    np.testing.assert_array_equal(read.replay("numpy"), written.points, strict=True)
    changed = read._replace(actions=read.actions[:, :, ::-1])
    assert (changed.replay("numpy") != written.points).any()


def test_what_a_file_names_is_not_imported(tmp_path: Path) -> None:
    world, file = tmp_path / "world.py", tmp_path / "tapes.npz"
    world.write_text(f"open({str(tmp_path / 'imported')!r}, 'w')", encoding="utf-8")
    for id, options, message in (
        (f"{world}:World", {}, "unknown environment id"),
        (ROOM, {"render_mode": "human"}, "has no option 'render_mode'"),
    ):
        tapes.save(file, Tapes(id, np.zeros((1, 1, 2, 2), np.uint8), np.zeros((1, 1)), options))
        with pytest.raises((TypeError, ValueError), match=message):
            tapes.load(file).replay()
    assert not (tmp_path / "imported").exists()


@pytest.mark.parametrize("kind", ["empty", "cut", "other", "shape", "missing"])
def test_anything_else_is_one_sentence(tmp_path: Path, kind: str) -> None:
    path, actions = tmp_path / "tapes.npz", np.zeros((1, 1, 2, 2), np.uint8)
    tapes.save(path, Tapes(ROOM, actions, np.zeros((1, 1))))
    if kind == "empty":
        path.write_bytes(b"")
    elif kind == "cut":
        path.write_bytes(path.read_bytes()[:-50])
    elif kind == "other":
        np.savez(path, actions=actions)
    elif kind == "shape":
        tapes.save(path, Tapes(ROOM, actions, np.zeros((2, 1))))
    else:
        path.unlink()
    with pytest.raises(ValueError, match="does not hold tapes, or it is damaged"):
        tapes.load(path)
