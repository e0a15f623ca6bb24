"""Walking onto things, actions of the game's own, the order of moving and acting, and swaps."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import cogrid
from cogrid.author import Act, Chance, Game, Looks, Moving, Outcome, Part, Spec
from cogrid.replay import recording as replay
from cogrid.testing.conformance import check_env
from tests._core.worlds import after, drawn, fresh, initials, made, parity, picture
from tests.support import BACKENDS, assert_same

each_backend = pytest.mark.parametrize("backend", BACKENDS)
BOARD = """
#######
#1c m2#
#cd  c#
#######
"""


@dataclass(frozen=True)
class Coins(Game):
    """Coins are taken by walking onto them and grow back; mud slips from under the feet by chance.

    Ringing a door from in front of it opens it for a step, and it is safe to walk in; kicking breaks it.
    """

    legend: ClassVar[Any] = {" ": "floor", "#": "wall", "c": "coin", "m": "mud", "d": "door"}

    def enter(self, held: Any, thing: Any) -> Any:
        match thing:
            case "coin":
                return Outcome("purse", ("bare", 3), "take", 1.0)
            case "mud":
                return Chance((Outcome(held, "mud", "cross"), 1), (Outcome(None, "mud", "slip", -1.0), 1))
            case "open door":
                return Outcome(held, thing, "go in")
        return None

    def ring(self, held: Any, thing: Any) -> Any:
        return Outcome(held, "open door", "ring") if thing == "door" else None

    def kick(self, held: Any, thing: Any) -> Any:
        return Outcome(held, "wreck", "break", -2.0) if thing == "door" else None

    def parts(self) -> tuple[Part, ...]:
        return Act("ring", thing=self.ring), Act("kick", thing=self.kick)

    def tick(self, thing: Any) -> Any:
        match thing:
            case "bare", steps:
                return ("bare", steps - 1) if steps else "coin"
            case "wreck":
                return "door"
        return thing

    def walkable(self, thing: Any) -> bool:
        return thing in ("floor", "coin", "mud", "open door") or thing[0] == "bare"

    def looks(self) -> Looks:
        return Looks(glyph=initials)


@dataclass(frozen=True)
class Nimble(Coins):
    """The same, but all move before anybody acts, and neighbours can change places."""

    def parts(self) -> tuple[Part, ...]:
        return *super().parts(), Moving(first=True, swaps=True)


SPEC = Spec(Coins(), BOARD, observation="none", max_steps=400)
NIMBLE = Spec(Nimble(), BOARD, observation="none", max_steps=400)


@each_backend
def test_a_coin_is_taken_by_walking_onto_it(backend: str) -> None:
    """
    ^ c   m ^          >p  m ^
    c d     c    ->  c d     c
    """
    state = fresh(SPEC, backend)
    assert drawn(SPEC, backend, state) == picture("^ c   m ^\nc d     c")
    state, rewards, _, infos = after(SPEC, backend, state, "right", "noop")
    assert drawn(SPEC, backend, state) == picture("  >p  m ^\nc d     c")
    assert infos["verbs"] == ["take", ""]
    assert rewards.tolist() == [1.0, 1.0]
    env = made(SPEC, backend)
    bare = env.spec.symbols.number["bare", 2]  # left with three steps to go, and ticked once
    assert int(state.cells[9]) == bare


@each_backend
def test_only_a_step_enters(backend: str) -> None:
    """Who stands where a coin grows, turns there or runs against a wall has not walked onto it.

      ^   m ^
    c d     c        the agent in the first row stands on a coin, which stays
    """
    env = made(SPEC, backend)
    coin = env.spec.symbols.number["coin"]
    state = env.replace(fresh(SPEC, backend), agent_pos=np.array([(1, 2), (1, 5)]))
    for action in ("noop", "up", "interact", "ring"):
        state, rewards, _, infos = after(SPEC, backend, state, action, "noop")
        assert infos["verbs"] == ["", ""]
        assert not rewards.any()
        assert int(state.cells[9]) == coin


@each_backend
def test_actions_of_the_games_own(backend: str) -> None:
    """
      v   m ^         v   m ^
    c d     c   ->  c o     c
    """
    env = made(SPEC, backend)
    assert env.action_names[6:] == ("noop", "ring", "kick")
    assert (env.rules.noop, env.action_space(0).n) == (6, 9)
    start = env.replace(
        fresh(SPEC, backend), agent_pos=np.array([(1, 2), (1, 5)]), agent_dir=np.array([1, 3])
    )
    state, _, _, infos = after(SPEC, backend, start, "ring", "noop")
    assert infos["verbs"] == ["ring", ""]
    assert drawn(SPEC, backend, state) == picture("  v   m ^\nc o     c")
    mask = dict(zip(env.action_names, infos["action_mask"][0], strict=True))
    assert (mask["ring"], mask["noop"], mask["down"]) == (False, True, True)
    state, _, _, infos = after(SPEC, backend, state, "down", "noop")
    assert infos["verbs"] == ["go in", ""]
    _, rewards, _, infos = after(SPEC, backend, start, "kick", "noop")
    assert (infos["verbs"], rewards.tolist()) == (["break", ""], [-2.0, -2.0])
    still = after(SPEC, backend, start, "noop", "noop")[0]
    for strange in (-1, 9, 10, 127):
        then, _, _, infos = after(SPEC, backend, start, strange, "noop")
        assert infos["verbs"] == ["", ""]
        assert_same(then, still, f"action {strange}")


@each_backend
def test_neighbours_change_places(backend: str) -> None:
    """
    > <       < >   who turns towards the other walks through it; without `swaps` both stay
    """
    places = np.array([(2, 3), (2, 4)])
    for spec, expected in ((NIMBLE, places[::-1]), (SPEC, places)):
        state = made(spec, backend).replace(fresh(spec, backend), agent_pos=places)
        state, *_ = after(spec, backend, state, "right", "left")
        np.testing.assert_array_equal(np.asarray(state.agent_pos), expected)


@each_backend
def test_who_moves_first(backend: str) -> None:
    """Agent 1 rings the door while agent 0 walks towards it: the door opens before or after the walk.

    c d <     rings          c o <
      ^       walks left     and agent 0 in (1, 2) walks down into it, or not yet
    """
    for spec, walked in ((SPEC, True), (NIMBLE, False)):
        env = made(spec, backend)
        state = env.replace(
            fresh(spec, backend), agent_pos=np.array([(1, 2), (2, 3)]), agent_dir=np.array([1, 2])
        )
        state, _, _, infos = after(spec, backend, state, "down", "ring")
        assert infos["verbs"] == ["go in" if walked else "", "ring"]
        assert np.asarray(state.agent_pos)[0].tolist() == ([2, 2] if walked else [1, 2])


def test_swaps_never_put_two_agents_into_one_cell() -> None:
    """Every placing of three agents on a floor of 2 × 3, and every joint move."""

    @dataclass(frozen=True)
    class Floor(Game):
        def parts(self) -> tuple[Part, ...]:
            return (Moving(swaps=True),)

    spec = Spec(Floor(), "#####\n#   #\n#   #\n#####", num_agents=3, observation="none")
    env = cogrid.CoGridEnv(spec)
    floor = [(r, c) for r in (1, 2) for c in (1, 2, 3)]
    placings, joint = (
        np.array(list(itertools.permutations(floor, 3))),
        np.array(list(itertools.product(range(4), repeat=3))),
    )
    places, moves = np.repeat(placings, len(joint), axis=0), np.tile(joint, (len(placings), 1))
    state = env.replace(env.reset_fn(np.zeros((len(places), 2), np.uint32))[0], agent_pos=places)
    pos = np.asarray(env.step_fn(state, moves)[0].pos)
    assert (np.diff(np.sort(pos, axis=-1), axis=-1) > 0).all()
    swapped = (pos[:, 0] == np.asarray(state.pos)[:, 1]) & (pos[:, 1] == np.asarray(state.pos)[:, 0])
    assert swapped.sum() > 100


@pytest.mark.parametrize("spec", [SPEC, NIMBLE], ids=["Coins", "Nimble"])
def test_parity(spec: Any) -> None:
    counts, _ = parity(spec, BACKENDS, ("ring", "kick"))
    assert min(counts[verb] for verb in ("take", "cross", "slip", "ring", "break", "go in")) >= 10, counts


def test_conformance() -> None:
    counts = check_env(NIMBLE, BACKENDS)
    assert counts["take"] > 0


def test_replays_and_vectors_know_further_actions() -> None:
    env = made(SPEC, "numpy")
    tape = np.random.default_rng(0).integers(0, 9, (30, 2))
    taped = replay.record(env, tape, 3)
    taped.verify("numpy", env=env)
    np.testing.assert_array_equal(taped.actions, tape)
    assert cogrid.VectorEnv(SPEC, 2).single_action_space.nvec.max() == 9


@dataclass(frozen=True)
class Named(Coins):
    """The same, with actions of these names that do nothing."""

    names: tuple[Any, ...] = ()

    def parts(self) -> tuple[Part, ...]:
        return *super().parts(), *(Act(name, thing=self.ring) for name in self.names)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("up",), "has the action 'up', which is taken"),
        (("ring",), "names the action 'ring' twice: write one Act or Joint for it"),
        (("a", "a"), "names the action 'a' twice: write one Act or Joint for it"),
        (("",), r"Act\.name is '': name the action"),
        ((3,), r"Act\.name is 3: name the action"),
        (tuple(f"a{k}" for k in range(30)), "has 39 actions: at most 36 fit"),
    ],
)
def test_wrong_actions_are_refused(names: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        Spec(Named(names), BOARD, observation="none")


@dataclass(frozen=True)
class Pit(Coins):
    """Who enters a coin finds a wall under the feet."""

    def enter(self, held: Any, thing: Any) -> Any:
        return Outcome(held, "wall", "fall") if thing == "coin" else None


def test_what_is_left_under_an_agent_must_be_walkable() -> None:
    with pytest.raises(ValueError, match=r"Pit\.enter leaves 'wall' under hand None on 'coin'"):
        made(Spec(Pit(), BOARD, observation="none"), "numpy")
