"""Windows that turn with the agent and look ahead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from cogrid.author import AnyReward, Game, Paint, Planes, Spec, View
from cogrid.testing.conformance import check_env
from tests._core.worlds import fresh, made, parity
from tests.support import BACKENDS, keys

each_backend = pytest.mark.parametrize("backend", BACKENDS)
RIGHT, DOWN, LEFT, UP = range(4)
BOARD = """
########
#a    b#
#  12  #
#c     #
########
"""


@dataclass(frozen=True)
class Lookout(Game):
    """Marks on the walls, and agents with their facings, as seen from where one looks."""

    legend: ClassVar[Any] = {" ": "floor", "#": "wall", "a": "mark 1", "b": "mark 2", "c": "mark 3"}

    def hand(self, agent: int) -> Any:
        return ("scout", "guard")[agent % 2]

    def rewards(self) -> tuple[AnyReward, ...]:
        return ()

    def mark(self, thing: Any) -> Paint:
        return {"wall": int(thing == "wall"), "mark": int(thing[-1]) if thing[:4] == "mark" else 0}

    def stand(self, own: bool, facing: int, held: Any) -> Paint:
        return {"own" if own else "other": 1 + (held == "guard"), "facing": 1 + facing}

    def planes(self) -> Planes:
        return Planes(
            ("wall", "mark", "own", "other", "facing", "late"),
            thing=self.mark,
            agent=self.stand,
            countdown=("late", 200),
            view=View(ahead=2, behind=1, side=1),
        )


SPEC = Spec(Lookout(), BOARD, observation="window", max_steps=400)
WHOLE = SPEC.override(observation="lossless")


def seen(backend: str, places: Any, facing: Any) -> dict[str, Any]:
    """Plane -> (agents, 4, 3)."""
    env = made(SPEC, backend)
    state = env.replace(fresh(SPEC, backend), agent_pos=np.array(places), agent_dir=np.array(facing))
    planes = np.moveaxis(np.asarray(env.rules.backend.compiled(env._functions.observe)(state)), -1, 0)
    return dict(zip(env.feature_names, planes, strict=True))


@each_backend
def test_what_is_ahead_is_above(backend: str) -> None:
    """Two cells ahead, one behind, one to either side, turned so that the agent looks up.

    # a           agent 0 at (2, 1) below the mark a, agent 1 at (2, 2) beside it
    #^ <
    # c
    """
    up = seen(backend, [(2, 1), (2, 2)], [UP, LEFT])
    assert up["mark"][0].tolist() == [[0, 0, 0], [0, 1, 0], [0, 0, 0], [0, 3, 0]]
    assert up["wall"][0].tolist() == [[1, 1, 1], [1, 0, 0], [1, 0, 0], [1, 0, 0]]
    assert up["own"][0].tolist() == [[0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert up["other"][0].tolist() == [[0, 0, 0], [0, 0, 0], [0, 0, 2], [0, 0, 0]]
    assert up["facing"][0].tolist() == [[0, 0, 0], [0, 0, 0], [0, 1 + UP, 1 + LEFT], [0, 0, 0]]
    # Agent 1 looks left: the other is ahead and faces to the right, c is ahead on the left, a on the right.
    assert up["mark"][1].tolist() == [[0, 0, 0], [3, 0, 1], [0, 0, 0], [0, 0, 0]]
    assert up["wall"][1].tolist() == [[1, 1, 1], [0, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert up["facing"][1].tolist() == [[0, 0, 0], [0, 1 + RIGHT, 0], [0, 1 + UP, 0], [0, 0, 0]]


def test_every_window_is_a_turned_part_of_the_board() -> None:
    """Against NumPy's own rotation of the whole board, from every cell in every facing."""
    env, whole = made(SPEC, "numpy"), made(WHOLE, "numpy")
    for cell in range(8, 32):
        row, column = divmod(cell, 8)
        for facing in range(4):
            if not 0 < row < 4 or BOARD.strip().split("\n")[row][column] in "#abc":
                continue
            other = (2, 4) if (row, column) != (2, 4) else (2, 5)
            where = {"agent_pos": np.array([(row, column), other]), "agent_dir": np.array([facing, DOWN])}
            ours = env.step_fn(env.replace(fresh(SPEC, "numpy"), **where), np.full(2, 6))[1][0]
            board = whole.step_fn(whole.replace(fresh(WHOLE, "numpy"), **where), np.full(2, 6))[1][0]
            wide = np.pad(board, ((3, 3), (3, 3), (0, 0)))
            around = wide[row : row + 7, column : column + 7]  # the agent in the middle
            turned = np.rot90(around, {UP: 0, RIGHT: 1, DOWN: 2, LEFT: 3}[facing])[1:5, 2:5].astype(int)
            facings = turned[..., 4]
            turned[..., 4] = np.where(facings > 0, (facings - 1 - facing + UP) % 4 + 1, 0)
            np.testing.assert_array_equal(ours, turned, err_msg=f"{row}, {column} facing {facing}")


def test_parity() -> None:
    _, tape = parity(SPEC, BACKENDS, ("up", "left"))
    assert tape["obs"].shape[2:] == (2, 4, 3, 6)
    assert (tape["obs"][..., 3] > 0).sum() > 100
    assert tape["obs"][:200, ..., 5].max() == 0
    assert tape["obs"][201:399, ..., 5].min() == 1


def test_conformance() -> None:
    check_env(SPEC, BACKENDS, steps=20)
    env = made(SPEC, "numpy")
    assert env.observation_space(0).shape == (4, 3, 6)
    assert env.feature_names == Lookout().planes().names
    assert env.reset_fn(keys(0, 3))[1].shape == (3, 2, 4, 3, 6)


def test_wrong_views_are_refused() -> None:
    with pytest.raises(ValueError, match=r"View\.side=-1 is out of range"):
        View(1, 1, -1)
