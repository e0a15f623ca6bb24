"""Doors: an outcome that would close a cell in which an agent stands has no effect; all else goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from cogrid.author import Act, Aim, Chance, Game, Looks, Moving, Outcome, Part, Reward, Spec
from cogrid.testing import check_env
from tests._core.worlds import after, drawn, fresh, initials, made, parity
from tests.support import BACKENDS

each_backend = pytest.mark.parametrize("backend", BACKENDS)
BOARD = """
#######
#1   2#
# o m #
#  b  #
#######
"""


@dataclass(frozen=True)
class Doors(Game):
    """Doors open and close, one of them by chance, and berries are picked from under whoever stands there."""

    legend: ClassVar[Any] = {" ": "floor", "#": "wall", "o": "open", "m": "may", "b": "berry"}

    def interact(self, held: Any, thing: Any) -> Any:
        match thing:
            case "open" | "closed":
                return Outcome(held, {"open": "closed", "closed": "open"}[thing], "use door", 1.0)
            case "may":
                return Chance((Outcome(held, "closed", "use door", 1.0), 1), (Outcome(held, thing, "jam"), 1))
            case "berry":
                return Outcome("berry", "stalk", "pick", 2.0)
        return None

    def walkable(self, thing: Any) -> bool:
        return thing not in ("wall", "closed")

    def looks(self) -> Looks:
        return Looks(glyph=initials)

    def rewards(self) -> Any:
        return (Reward("score", lambda event: event.value),)


@dataclass(frozen=True)
class FarDoors(Doors):
    """The same, with an action that reaches two cells."""

    def parts(self) -> tuple[Part, ...]:
        return (Act("interact", aim=Aim(reach=2)),)


@dataclass(frozen=True)
class QuickDoors(Doors):
    """The same, where all move before they act."""

    def parts(self) -> tuple[Part, ...]:
        return (Moving(first=True),)


GAMES = {"near": Doors(), "far": FarDoors(), "quick": QuickDoors()}
each_game = pytest.mark.parametrize("game", GAMES)
RIGHT, DOWN, LEFT, UP = range(4)


def spec_of(game: str) -> Spec:
    return Spec(GAMES[game], BOARD, observation="none")


def placed(spec: Spec, backend: str, places: Any, facing: Any, seed: int = 0) -> Any:
    state = fresh(spec, backend, seed)
    return made(spec, backend).replace(state, agent_pos=np.array(places), agent_dir=np.array(facing))


@each_game
@each_backend
def test_agents_that_face_each_other_turn_and_walk(backend: str, game: str) -> None:
    """
    > <   ->   v ^   ->   . ^     both turn away; then the first walks off
                          v
    """
    spec = spec_of(game)
    state = placed(spec, backend, [(1, 1), (1, 2)], [RIGHT, LEFT])
    assert drawn(spec, backend, state).split("\n")[0] == "> <"
    state, *_ = after(spec, backend, state, "noop", "up")
    assert drawn(spec, backend, state).split("\n")[0] == "> ^"
    state, *_ = after(spec, backend, state, "down", "noop")
    assert drawn(spec, backend, state).split("\n")[:2] == ["  ^", "v o   m"]


@each_game
@each_backend
def test_a_queue_walks_on(backend: str, game: str) -> None:
    """
    > >   ->   . > >     the second leaves its cell, and the first, which faces it, follows
    """
    spec = spec_of(game)
    state = placed(spec, backend, [(1, 1), (1, 2)], [RIGHT, RIGHT])
    state, *_ = after(spec, backend, state, "right", "right")
    assert drawn(spec, backend, state).split("\n")[0] == "  > >"


@each_game
@each_backend
def test_a_door_does_not_close_on_an_agent(backend: str, game: str) -> None:
    """
    v              v
    > (on o)       c     it closes once nobody stands there
    """
    spec = spec_of(game)
    state = placed(spec, backend, [(1, 2), (2, 2)], [DOWN, RIGHT])
    then, rewards, _, infos = after(spec, backend, state, "interact", "noop")
    np.testing.assert_array_equal(np.asarray(then.cells), np.asarray(state.cells))
    assert (infos["verbs"], rewards.tolist()) == (["", ""], [0.0, 0.0])
    state = placed(spec, backend, [(1, 2), (2, 3)], [DOWN, RIGHT])
    then, rewards, _, infos = after(spec, backend, state, "interact", "noop")
    assert drawn(spec, backend, then).split("\n")[:2] == ["  v", "  c > m"]
    assert (infos["verbs"], rewards.tolist()) == (["use door", ""], [1.0, 0.0])


@each_backend
def test_the_draw_that_closes_has_no_effect(backend: str) -> None:
    """The door that closes by chance may still jam under an agent; in no episode does it close."""
    spec, found = spec_of("near"), {"": 0, "jam": 0}
    for seed in range(20):
        state = placed(spec, backend, [(1, 4), (2, 4)], [DOWN, RIGHT], seed)
        then, _, _, infos = after(spec, backend, state, "interact", "noop")
        np.testing.assert_array_equal(np.asarray(then.cells), np.asarray(state.cells))
        found[infos["verbs"][0]] += 1
    assert min(found.values()) > 0


@each_backend
def test_what_closes_nothing_is_done_under_an_agent(backend: str) -> None:
    """
    v                 v
    ^ (on b)   ->     ^ (on s)     without an aim, agents do not cover what they stand on
    """
    for game, verbs in (("near", ["pick", ""]), ("quick", ["pick", ""]), ("far", ["", ""])):
        spec = spec_of(game)
        state = placed(spec, backend, [(2, 3), (3, 3)], [DOWN, UP])
        assert after(spec, backend, state, "interact", "noop")[3]["verbs"] == verbs


@each_backend
def test_two_at_one_door(backend: str) -> None:
    """
    > o <     the first closes it, and the second opens it again
    """
    spec = spec_of("near")
    state = placed(spec, backend, [(2, 1), (2, 3)], [RIGHT, LEFT])
    then, rewards, _, infos = after(spec, backend, state, "interact", "interact")
    assert infos["verbs"] == ["use door", "use door"]
    assert rewards.tolist() == [1.0, 1.0]
    np.testing.assert_array_equal(np.asarray(then.cells), np.asarray(state.cells))


@each_game
def test_parity(game: str) -> None:
    counts, _ = parity(spec_of(game), BACKENDS)
    assert min(counts["use door"], counts["pick"]) > 0, counts


@each_game
def test_conformance(game: str) -> None:
    assert check_env(spec_of(game), BACKENDS)["use door"] > 0
