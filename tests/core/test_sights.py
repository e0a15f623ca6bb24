"""Slots of agents: planes that each sees in its own order, and things that show slots in some planes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from cogrid.core.chance import Chance
from cogrid.core.game import Game
from cogrid.core.spec import Spec
from tests.core.worlds import fresh, made
from tests.support import BACKENDS, keys

each_backend = pytest.mark.parametrize("backend", BACKENDS)
BOARD = """
#RIB#
#1 2#
#####
"""


@dataclass(frozen=True)
class Eyes(Game):
    """Red and blue piles, a sign that shows a colour, and agents of whom some see the colours swapped."""

    legend: ClassVar[Any] = {" ": "floor", "#": "wall", "R": "red", "B": "blue", "I": "sign"}
    planes: ClassVar[tuple[str, ...]] = ("red", "blue", "shown red", "shown blue", "own")

    def slots(self) -> Mapping[str, Any]:
        return {"colour": Chance(("red", 1), ("blue", 1))}

    def own_slots(self) -> Mapping[str, Any]:
        return {"eyes": Chance(("plain", 1), ("swapped", 1))}

    def paint(self, thing: Any) -> Mapping[str, int]:
        return {thing: 1}

    def paint_agent(self, own: bool, facing: int, held: Any) -> Mapping[str, int]:
        return {"own": int(own)}

    def shows(self, thing: Any) -> Any:
        return {"shown red", "shown blue"} if thing == "sign" else {"shown red"} if thing == "red" else False

    def paint_slot(self, slot: str, thing: Any) -> Mapping[str, int]:
        return {f"shown {thing}": 1} if slot == "colour" else {}

    def sees(self, thing: Any) -> Mapping[str, str]:
        swap = {"red": "blue", "blue": "red", "shown red": "shown blue", "shown blue": "shown red"}
        return swap if thing == "swapped" else {}


@each_backend
@pytest.mark.parametrize("kind", ["lossless", "window"])
@pytest.mark.parametrize("colour", ["red", "blue"])
def test_planes_are_seen_in_the_agents_own_order(backend: str, kind: str, colour: str) -> None:
    spec = Spec(Eyes(), BOARD, observation=kind, window=5)
    env = made(spec, backend)
    number = env.rules.slots.number
    assert env.rules.slots.names == ("colour", "eyes 0", "eyes 1")
    slots = np.array([number[colour], number["plain"], number["swapped"]])
    seen = np.asarray(env._see(env.replace(fresh(spec, backend), slots=slots)))  # (n, rows, columns, planes)
    sides = dict(zip(Eyes.planes, np.moveaxis(seen, -1, 0), strict=True))
    # Agent 0 sees what is there, agent 1 the other colour.
    assert (sides["red"][0].sum(), sides["blue"][0].sum()) == (1, 1)
    if kind == "lossless":
        assert sides["red"][:, 0].tolist() == [[0, 1, 0, 0, 0], [0, 0, 0, 1, 0]]
        assert sides["blue"][:, 0].tolist() == [[0, 0, 0, 1, 0], [0, 1, 0, 0, 0]]
    other = {"red": "blue", "blue": "red"}[colour]
    # The sign shows the colour; the red pile shows it too, but only in the plane of red.
    count = 2 if colour == "red" else 1
    assert (sides[f"shown {colour}"][0].sum(), sides[f"shown {other}"][0].sum()) == (count, 0)
    assert (sides[f"shown {other}"][1].sum(), sides[f"shown {colour}"][1].sum()) == (count, 0)
    assert sides["own"].sum() == 2


@each_backend
def test_every_agent_draws_its_own(backend: str) -> None:
    env = made(Spec(Eyes(), BOARD, observation="none"), backend)
    state, _ = env.reset_fn(keys(2, 400))
    swapped = np.asarray(state.slots)[:, 1:] == env.rules.slots.number["swapped"]
    assert (abs(swapped.sum(axis=0) - 200) < 45).all()  # 4.5 standard deviations
    assert abs((swapped[:, 0] != swapped[:, 1]).sum() - 200) < 45
