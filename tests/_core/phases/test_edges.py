"""Corners that a reader of the code would try first."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import cogrid
from cogrid.author import Act, Agents, Chance, Game, Layout, Outcome, Part, Place, Reward, Spec
from cogrid.backend import rng
from tests.doors import hall
from tests.support import BACKENDS, INTERACT, NOOP, RIGHT, assert_same

ROOM = "Overcooked-CrampedRoom-V0"


@pytest.mark.parametrize("board", ["##P##\nO 12O\n#   #\n#D#S#", "XXXXX\nX1 2X\nXXXXX"])
def test_a_kitchen_where_nothing_can_lie(board: str) -> None:
    obs, _ = cogrid.make(ROOM, layout=board).reset(seed=0)
    assert np.isfinite(obs[0]).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_episode_that_was_ended_stays_ended(backend: str) -> None:
    env = cogrid.make(ROOM, backend, infos=True)
    state = env.replace(env.reset_fn(rng.key(0))[0], done=True)
    step = env.rules.backend.compiled(env.step_fn)
    for _ in range(3):
        state, _, rewards, done, infos = step(state, np.array([RIGHT, NOOP], np.int32))
        assert bool(done)
        assert not np.asarray(rewards).any()
        assert not np.asarray(infos["moved"]).any()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_state_of_another_environment_is_refused(backend: str) -> None:
    state, _ = cogrid.make(ROOM, backend).reset_fn(rng.key(0))
    other = cogrid.make("Overcooked-CoordinationRing-V0", backend)
    with pytest.raises(ValueError, match="belongs to another environment"):
        other.step_fn(state, np.array([NOOP, NOOP]))
    with pytest.raises(ValueError, match="belongs to another environment"):
        other.observe(state)
    with pytest.raises(ValueError, match="belongs to another environment"):
        other.renew_fn(state, None, np.ones((), bool))
    with pytest.raises(ValueError, match="belongs to another environment"):
        other.replace(state, time=3)
    vec = cogrid.make_vec("Overcooked-CoordinationRing-V0", 1, backend)
    with pytest.raises(ValueError, match="belongs to another environment"):
        vec.observe(state)
    with pytest.raises(TypeError, match=r"\{\} is not a state"):
        vec.observe({})


@pytest.mark.parametrize("backend", BACKENDS)
def test_copies_and_pickles_go_on_alike(backend: str) -> None:
    env = cogrid.make(ROOM, backend, max_steps=9)
    env.reset(seed=3)
    env.step({0: 3, 1: 4})
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert_same(twin.env_state, env.env_state)
        ours, theirs = env.step_fn, twin.step_fn
        joint = np.array([1, 2], np.int32)
        assert_same(ours(env.env_state, joint)[0], theirs(twin.env_state, joint)[0])


@pytest.mark.parametrize("backend", BACKENDS)
def test_copies_and_pickles_show_the_same_score(backend: str) -> None:
    env = cogrid.CoGridEnv(hall("#EE#\n#12#\n####"), backend, render_mode="rgb_array")
    env.reset(seed=0)
    env.step({0: INTERACT, 1: NOOP})
    fresh = env.render()
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        np.testing.assert_array_equal(twin.render(), fresh)
    env.set_state(env.get_state())
    assert (env.render() != fresh).any()  # a snapshot has no score


@pytest.mark.parametrize("backend", BACKENDS)
def test_observations_are_the_callers_own(backend: str) -> None:
    env = cogrid.make(ROOM, backend)
    obs, _ = env.reset(seed=0)
    before = env.state()
    obs[0][:] = 7
    np.testing.assert_array_equal(env.state(), before)


def test_an_own_board_survives_other_overrides() -> None:
    spec = cogrid.make("Arena-V0", layout="######\n#1234#\n#    #\n######").spec
    assert spec.override(density=0.3).layout == spec.layout
    assert cogrid.make("Arena-V0", map_size=9).spec.layout[0].name == "arena-9"


@dataclass(frozen=True)
class Odd(Game):
    """Parts that go wrong one by one."""

    wrong: str = ""
    legend: ClassVar[Any] = {" ": "floor", "#": "wall", "d": "door"}

    def interact(self, held: Any, thing: Any) -> Outcome | None:
        if self.wrong == "crash":
            raise KeyError("oops")
        value = float("nan") if self.wrong == "value" else 1.0
        return Outcome(held, "floor", "open", value) if thing == "door" else None

    def features(self) -> Any:
        return Agents((), lambda item: ()), Place(nearest=("dor" if self.wrong == "kind" else "door",))

    def rewards(self) -> tuple[Reward, ...]:
        return (Reward("much", lambda event: 200.0, team=True, shaping=True),)


CLOSED = Layout("closed", "#####\n#1d2#\n#####")


@pytest.mark.parametrize(
    ("wrong", "layout", "options", "message"),
    [
        ("value", CLOSED, {}, "a verb, a thing and a finite value"),
        ("kind", CLOSED, {}, "Place names the kind 'dor'"),
        ("", Layout("open", "##d##\n#1 2#\n#####"), {}, "can open at row 0, column 2"),
        ("", CLOSED, {"shaping": 1.0}, "can pay 400 points in a step"),
    ],
)
def test_an_authors_mistake_is_told(wrong: str, layout: Layout, options: Any, message: str) -> None:
    def play() -> None:
        env = cogrid.CoGridEnv(Spec(Odd(wrong), (layout,), **options))
        env.reset(seed=0)
        env.step({0: NOOP, 1: NOOP})

    with pytest.raises((ValueError, TypeError), match=message):
        play()


def test_a_crash_in_a_rule_says_where() -> None:
    with pytest.raises(KeyError) as caught:
        cogrid.CoGridEnv(Spec(Odd("crash"), (CLOSED,)))
    assert caught.value.__notes__ == ["Odd.interact was called with held None and thing 'floor'"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_window_shows_nothing_outside_of_the_map_also_in_the_last_steps(backend: str) -> None:
    env = cogrid.make("Overcooked-CrampedRoom-V0", backend, observation="window", window=5, max_steps=5)
    obs, _ = env.reset(seed=0)
    urgent = env.feature_names.index("urgent")
    row, column = np.asarray(env.env_state.agent_pos)[0]
    inside = np.zeros((5, 5), bool)
    inside[max(0, 2 - row) : 2 - row + 4, max(0, 2 - column) : 2 - column + 5] = True
    assert 0 < inside.sum() < 25
    np.testing.assert_array_equal(obs[0][..., urgent], inside)
    assert not obs[0][~inside].any()


@dataclass(frozen=True)
class Doors(Game):
    """A door that is opened and closed, and one that is open or closed from the start."""

    legend: ClassVar[Any] = {" ": "floor", "#": "wall", "D": "closed", "m": "maybe"}

    def start(self, thing: Any) -> Any:
        return Chance(("closed", 1), ("open", 1)) if thing == "maybe" else thing

    def turn(self, held: Any, thing: Any) -> Any:
        other = {"closed": "open", "open": "closed"}.get(thing)
        return Outcome(held, other, "use") if other else None

    def parts(self) -> tuple[Part, ...]:
        return (Act("toggle", thing=self.turn),)

    def walkable(self, thing: Any) -> bool:
        return thing in ("floor", "open")

    def features(self) -> Any:
        return (Place(each=("closed",)),)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("layouts", [1, 2])
def test_free_directions_are_those_of_the_board_as_it_is(backend: str, layouts: int) -> None:
    """
    # D #
    # 1 m      the door above is opened and closed, the one to the right is either from the start
    # # #
    """
    boards = ("#####\n##D##\n##1m#\n#####", "#####\n#D ##\n##1m#\n#####")[:layouts]
    spec = cogrid.Spec(Doors(), boards, num_agents=1)
    env = cogrid.CoGridEnv(spec, backend)
    names = [env.feature_names.index(f"free {facing}") for facing in ("right", "up")]
    cells, seen = (2 * 5 + 3, 1 * 5 + 2), []
    for seed in range(8):
        env.reset(seed=seed)
        for action in (6, 5, 5):  # the noop, then the toggle: agents begin with their faces up
            obs = env.step({0: action})[0][0]
            symbols = np.asarray(env.env_state.cells)[list(cells)]
            seen.append((symbols < env.rules.n_walkable).tolist())
            assert obs[names].tolist() == seen[-1]
    assert {tuple(one) for one in seen} == {(a, b) for a in (False, True) for b in (False, True)}
