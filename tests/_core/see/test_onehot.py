"""Grid observations of games that paint nothing: every fact of the board can be read from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import cogrid
from cogrid._core.see.observation import observe
from cogrid.author import Game, Outcome
from cogrid.backend import rng
from cogrid.testing.conformance import check_env
from tests.support import BACKENDS, DOWN, INTERACT, LEFT, NOOP

BOARD = """
#####
#1 c#
#2 B#
#####
"""


@dataclass(frozen=True)
class Coins(Game):
    """A coin that grows back and a table that keeps what is put there."""

    legend: ClassVar = {" ": "floor", "#": "wall", "c": ("coin", 0), "B": ("table", None)}

    def interact(self, held: Any, thing: Any) -> Outcome | None:
        match held, thing:
            case None, ("coin", 0):
                return Outcome("gold", ("coin", 2), "dig")
            case "gold", ("table", None):
                return Outcome(None, ("table", "gold"), "put", 1.0)
        return None

    def tick(self, thing: Any) -> Any:
        return ("coin", max(0, thing[1] - 1)) if thing[0] == "coin" else thing

    def lying(self, thing: Any) -> Any:
        return thing[1] if thing[0] == "table" else None


def cells(env: Any, seen: Any, plane: str) -> dict[tuple[int, int], int]:
    """Cell -> value, where a plane is not 0."""
    values = np.asarray(seen)[..., env.feature_names.index(plane)]
    return {(int(r), int(c)): int(values[r, c]) for r, c in np.argwhere(values)}


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_board_is_seen(backend: str) -> None:
    env = cogrid.CoGridEnv(cogrid.Spec(Coins(), BOARD, observation="lossless"), backend)
    obs, _ = env.reset(seed=0)
    assert env.observation_space(0).shape == (4, 5, len(env.feature_names))
    assert cells(env, obs[0], "self") == cells(env, obs[1], "other") == {(1, 1): 1}
    assert cells(env, obs[0], "other") == {(2, 1): 1}
    assert len(cells(env, obs[0], "wall")) == 14
    ready = cells(env, obs[0], "coin state")
    for action in (3, 3, INTERACT):  # to the coin, face it, dig
        obs, *_ = env.step({0: action, 1: NOOP})
    assert cells(env, obs[1], "coin") == {(1, 3): 1}
    assert cells(env, obs[1], "coin state") != ready, "its state has a number"
    assert cells(env, obs[1], "holds gold") == {(1, 2): 1}
    assert cells(env, obs[0], "facing right")[1, 2] == 1
    env.step({0: DOWN, 1: NOOP})
    env.step({0: 3, 1: NOOP})
    obs, *_ = env.step({0: INTERACT, 1: LEFT})
    assert cells(env, obs[0], "gold lies") == {(2, 3): 1}
    assert cells(env, obs[0], "holds gold") == {}


@pytest.mark.parametrize("observation", ["lossless", "window"])
def test_it_keeps_every_promise(observation: str) -> None:
    assert check_env(cogrid.Spec(Coins(), BOARD, observation=observation, window=3), steps=40)["dig"] > 0


def test_states_can_be_told_apart() -> None:
    """The table of a game's things has a row of its own for each of them."""
    env = cogrid.CoGridEnv(cogrid.Spec(Coins(), BOARD, observation="lossless"))
    state, _ = env.reset_fn(rng.key(0))
    rows = set()
    for number in range(env.rules.n_things):
        shown = state.evolve(cells=np.full_like(state.cells, number))
        rows.add(observe(env.rules, shown)[0, 0, 0].tobytes())
    assert len(rows) == env.rules.n_things
