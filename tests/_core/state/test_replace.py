"""A state is checked alike whether `replace`, a snapshot or a replay brings it in."""

from __future__ import annotations

import copy
import dataclasses
import math
from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid._core.phases.rewards import exact_weight
from cogrid.backend import rng
from cogrid.replay import recording as replay
from tests._core.phases.test_ends import SPEC as RESCUE
from tests._core.phases.test_slots import SPEC as ORDERED
from tests.doors import hall
from tests.support import BACKENDS, NOOP, keys

ROOM, FIELD = "Overcooked-CrampedRoom-V0", "Foraging-8x8-2p-2f-coop-V0"
TWO_DOORS = """
    ##E#E##
    # 1 2 #
    #######
"""

each_backend = pytest.mark.parametrize("backend", BACKENDS)


def brought_in(env: Any, **changes: Any) -> list[Any]:
    """The ways in which a state with these values comes in: a snapshot, and a replay that begins with it."""
    env.reset(seed=0)
    taped = replay.record(env, np.full((3, env.config["num_agents"]), NOOP), 0)
    snapshot = copy.deepcopy(env.get_state())
    snapshot["state"] |= changes
    return [
        lambda: env.set_state(snapshot),
        lambda: next(dataclasses.replace(taped, start=snapshot).play(env=env)),
    ]


@each_backend
@pytest.mark.parametrize("weight", [math.inf, -math.inf, math.nan, 1e38, 100.5, -101.0])
def test_a_weight_out_of_range_is_refused(backend: str, weight: float) -> None:
    env = cogrid.make(ROOM, backend, shaping=1.0)
    for way in brought_in(env, shaping_weight=weight):
        with pytest.raises(ValueError, match=r"shaping_weight"):
            way()
    with pytest.raises(ValueError, match=r"within ±100"):
        env.replace(env.env_state, shaping_weight=weight)


@each_backend
def test_a_weight_that_is_not_exact_is_refused(backend: str) -> None:
    env = cogrid.make(ROOM, backend, shaping=1.0)
    env.reset(seed=0)
    snapshot, refused = env.get_state(), 0
    for weight in np.random.default_rng(0).uniform(-100, 100, 40).astype(np.float32):
        snapshot["state"]["shaping_weight"] = float(weight)
        if exact_weight(weight) != weight:
            refused += 1
            with pytest.raises(ValueError, match=r"16 significant bits.*rounds it to"):
                env.set_state(snapshot)
        env.set_state(env.replace(env.env_state, shaping_weight=weight))
        assert env.get_state()["state"]["shaping_weight"] == exact_weight(weight)
    assert refused > 30


@each_backend
@pytest.mark.parametrize("weight", [1e-45, 1e-40, -1e-38])
def test_a_weight_too_small_for_a_full_exponent(backend: str, weight: float) -> None:
    """XLA takes it as 0, NumPy would not."""
    env = cogrid.make(ROOM, backend, shaping=1.0)
    for way in brought_in(env, shaping_weight=float(np.float32(weight))):
        with pytest.raises(ValueError, match=r"shaping_weight .* rounds it to -?0\.0"):
            way()
    assert env.replace(env.env_state, shaping_weight=weight).shaping_weight == 0


@each_backend
def test_a_weight_where_there_is_no_shaping_is_refused(backend: str) -> None:
    for way in brought_in(cogrid.make(ROOM, backend), shaping_weight=0.5):
        with pytest.raises(ValueError, match=r"shaping_weight is 0\.5, but its spec has no shaping"):
            way()


@each_backend
@pytest.mark.parametrize("weight", ["much", None, 1j, [1.0, [2.0]]])
def test_a_weight_that_is_no_number_is_refused(backend: str, weight: Any) -> None:
    env = cogrid.make(ROOM, backend, shaping=1.0)
    env.reset(seed=0)
    with pytest.raises((TypeError, ValueError), match=r"shaping_weight (must be numbers|is ragged)"):
        env.replace(env.env_state, shaping_weight=weight)


@each_backend
def test_the_time_is_up_but_the_episode_goes_on(backend: str) -> None:
    """It went on for a step too many, and then its own snapshot was refused."""
    env = cogrid.make(ROOM, backend, max_steps=9)
    for way in brought_in(env, time=9, done=False):
        with pytest.raises(ValueError, match=r"time 9 is the end of the episode, but done is False"):
            way()
    for state in (env.env_state, env.reset_fn(keys(0, 3))[0]):
        with pytest.raises(ValueError, match=r"set done=True too"):
            env.replace(state, time=9)
    with pytest.raises(ValueError, match=r"set done=True too"):
        env.replace(env.replace(env.env_state, time=9, done=True), done=False)
    for time, done in ((8, False), (9, True), (4, True)):
        env.set_state(env.replace(env.env_state, time=time, done=done))
        env.set_state(env.get_state())
        assert env.agents == ([] if done else [0, 1])


@each_backend
def test_all_agents_have_ended_but_the_episode_goes_on(backend: str) -> None:
    env = cogrid.cogrid_env.CoGridEnv(hall(TWO_DOORS), backend)
    for way in brought_in(env, ended=[True, True], done=False):
        with pytest.raises(ValueError, match=r"all agents have ended, but done is False"):
            way()
    with pytest.raises(ValueError, match=r"set done=True too"):
        env.replace(env.env_state, ended=[True, True])
    env.set_state(env.replace(env.env_state, ended=[True, False]))
    assert env.agents == [1]
    env.set_state(env.replace(env.env_state, ended=[True, True], done=True))
    assert env.agents == []


@each_backend
def test_nothing_remains_but_the_episode_goes_on(backend: str) -> None:
    """The step after it ended the episode, whatever was done in it."""
    env = cogrid.make(FIELD, backend, max_steps=9)
    env.reset(seed=0)
    remaining = env.rules.answers.ends.remaining
    left = np.array([remaining(thing) > 0 for thing in env.spec.symbols.things])
    cells = np.asarray(env.env_state.cells)
    floor = np.where(left[cells], 0, cells).tolist()
    for way in brought_in(env, cells=floor, time=3):
        with pytest.raises(ValueError, match=r"agent 0 has reached its end, but ended is False"):
            way()
    for state in (env.env_state, env.reset_fn(keys(0, 3))[0]):
        with pytest.raises(ValueError, match=r"reached its end"):
            env.replace(env.replace(state, time=3), cells=floor)
        with pytest.raises(ValueError, match=r"all agents have ended, but done is False"):
            env.replace(state, time=3, cells=floor, ended=True)
    for changes in ({"time": 0}, {"time": 3, "done": True}, {"time": 3, "ended": True, "done": True}):
        env.set_state(env.replace(env.env_state, cells=floor, **changes))
        env.set_state(env.get_state())
        assert env.agents == ([] if "done" in changes else [0, 1])


@each_backend
def test_an_agent_has_finished_but_goes_on(backend: str) -> None:
    env = cogrid.cogrid_env.CoGridEnv(RESCUE, backend)
    ticket = env.spec.symbols.items.index("ticket")
    for way in brought_in(env, held=[0, ticket], time=3):
        with pytest.raises(ValueError, match=r"agent 1 has reached its end, but ended is False"):
            way()
    left = env.replace(env.env_state, held=[0, ticket], time=3, ended=[False, True])
    with pytest.raises(ValueError, match=r"agent 0 has reached its end"):
        env.replace(left, held=[ticket, ticket])
    env.set_state(left)
    assert env.agents == [0]


@each_backend
def test_a_slot_holds_what_it_can_never_hold(backend: str) -> None:
    """The others' rules were never asked about it, so that nothing would happen to it for ever."""
    env = cogrid.cogrid_env.CoGridEnv(ORDERED, backend)
    env.reset(seed=0)
    known = env.rules.slots
    alien = next(k for k, thing in enumerate(known.things) if (known.names[0], thing) not in known.can_be)
    slots = np.asarray(env.env_state.slots).tolist()
    for way in brought_in(env, slots=[alien, *slots[1:]]):
        with pytest.raises(ValueError, match=rf"the slot {known.names[0]!r} can never be "):
            way()
    with pytest.raises(ValueError, match=r"can never be"):
        env.replace(env.env_state, slots=[alien, *slots[1:]])
    env.set_state(env.replace(env.env_state, slots=slots))


@each_backend
def test_one_state_of_a_batch_is_wrong(backend: str) -> None:
    env = cogrid.make(ROOM, backend, shaping=1.0)
    state, _ = env.reset_fn(rng.split(rng.key(0), 3))
    with pytest.raises(ValueError, match=r"time 400 is the end"):
        env.replace(state, time=np.array([1, 400, 2]))
    with pytest.raises(ValueError, match=r"shaping_weight nan is out of range"):
        env.replace(state, shaping_weight=np.array([1, np.nan, 0.5], np.float32))
