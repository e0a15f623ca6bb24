"""Counts of events: what is a contest and what is idle, and the same sums from every adapter."""

from __future__ import annotations

import copy
import functools

import numpy as np
import pytest

import cogrid
from cogrid.envs.overcooked.policies import ScriptedCooks
from tests.doors import hall
from tests.episodes import jitted, shared
from tests.support import BACKENDS, DOWN, HAS_JAX, INTERACT, LEFT, NOOP, RIGHT, UP, keys

ROOM, ARENA = "Overcooked-CrampedRoom-V0", "Arena-V0"
each_backend = pytest.mark.parametrize("backend", BACKENDS)
OPEN = {"map_size": 5, "num_agents": 3, "density": 0.0, "infos": True}


def counted(env, state, joint):
    """Name -> what each agent did in one step."""
    infos = jitted(env)(state, np.array(joint, np.int32))[4]
    return dict(zip(env.counters, np.moveaxis(np.asarray(infos["counts"]), -1, 0).tolist(), strict=True))


def standing(env, places, facings):
    state = env.rules.backend.compiled(env.reset_fn)(env.rules.backend.key(keys(0, 1)[0]))[0]
    return env.replace(state, agent_pos=places, agent_dir=facings)


@each_backend
@pytest.mark.parametrize(
    ("places", "facings", "joint", "moves", "contests", "idle"),
    [
        # two walk to one cell, the third looks on
        ([[1, 1], [1, 3], [3, 3]], [0, 2, 0], [RIGHT, LEFT, NOOP], [0, 0, 0], [1, 1, 0], [0, 0, 1]),
        # two change places
        ([[1, 1], [1, 2], [3, 3]], [0, 2, 1], [RIGHT, LEFT, LEFT], [0, 0, 1], [1, 1, 0], [0, 0, 0]),
        # against one who stands; a turn on the spot is not idle, a wall that was faced before is
        ([[1, 1], [1, 2], [3, 3]], [1, 3, 3], [RIGHT, UP, DOWN], [0, 0, 0], [1, 0, 0], [0, 1, 0]),
        # one follows another who goes; interact and toggle do nothing here
        ([[1, 1], [1, 2], [3, 3]], [0, 0, 0], [RIGHT, RIGHT, INTERACT], [1, 1, 0], [0, 0, 0], [0, 0, 1]),
    ],
)
def test_contests_and_idle_steps(backend, places, facings, joint, moves, contests, idle) -> None:
    env = shared(ARENA, backend, **OPEN)
    assert env.counters == ("moves", "contests", "idle steps")
    counts = counted(env, standing(env, places, facings), joint)
    assert counts == {"moves": moves, "contests": contests, "idle steps": idle}


@each_backend
def test_nothing_is_counted_of_who_has_ended(backend) -> None:
    env = cogrid.CoGridEnv(hall("#EE#\n#12#\n####", max_steps=3), backend, infos=True)
    env.reset(seed=0)
    infos = env.step({0: INTERACT, 1: NOOP})[4]
    assert infos[0]["episode"] == {
        "r": 1.0,
        "l": 1,
        "counts": {"leave": 1, "moves": 0, "contests": 0, "idle steps": 0},
    }
    assert "episode" not in infos[1]
    state = env.env_state
    joint = np.array([NOOP, NOOP], np.int32)
    totals = 0
    for _ in range(4):  # two to the end, and two after it
        state, *_, infos = jitted(env)(state, joint)
        totals = totals + np.asarray(infos["counts"])
    assert totals.tolist() == [[0, 0, 0, 0], [0, 0, 0, 2]]


STEPS = 50
COOKING = {"cook_time": 2, "max_steps": STEPS, "infos": True}


@functools.cache
def tape() -> np.ndarray:
    """(steps, n) of cooks who deliver, and now and then stumble."""
    env = shared(ROOM, "numpy", **COOKING)
    cooks, (state, _) = ScriptedCooks(env.rules, noise=0.2), env.reset_fn(keys(0, 1)[0])
    joints = []
    while not state.done:
        joints.append(list(cooks.act(state).values()))
        state, *_ = env.step_fn(state, np.array(joints[-1], np.int32))
    return np.array(joints, np.int32)


@functools.cache
def summed() -> tuple[np.ndarray, np.ndarray]:
    """(n, counters) and (n,) by the pure function on NumPy."""
    env = shared(ROOM, "numpy", **COOKING)
    state, _ = env.reset_fn(keys(0, 1)[0])
    totals, returns = 0, 0.0
    for joint in tape():
        state, _, rewards, _, infos = env.step_fn(state, joint)
        totals, returns = totals + infos["counts"], returns + rewards
    return totals, returns


def test_interesting_things_are_counted() -> None:
    env = shared(ROOM, "numpy", **COOKING)
    totals = dict(zip(env.counters, summed()[0].sum(axis=0).tolist(), strict=True))
    wanted = ("take onion", "pot onion", "plate", "deliver", "moves", "contests", "idle steps")
    assert min(totals[name] for name in wanted) > 0, totals
    assert totals["pot onion"] >= 3 * totals["plate"] >= 3 * totals["deliver"]
    assert summed()[1][0] == 20 * totals["deliver"]


def test_running_and_final_counts_of_the_stateful_environment() -> None:
    env = cogrid.make(ROOM, **COOKING)
    _, infos = env.reset(seed=0)
    assert "counts" not in infos[0]
    played = []
    for number, joint in enumerate(tape()):
        if number == STEPS // 2:
            env = copy.deepcopy(env)  # a copy goes on counting
        played.append(env.step(dict(enumerate(joint.tolist())))[4])
    totals, returns = summed()
    for agent in (0, 1):
        runs = np.array([list(infos[agent]["counts"].values()) for infos in played])
        assert (np.diff(runs, axis=0) >= 0).all()
        last = played[-1][agent]
        assert last["counts"] == dict(zip(env.counters, totals[agent].tolist(), strict=True))
        assert last["episode"] == {"r": returns[agent], "l": STEPS, "counts": last["counts"]}
    assert not any("episode" in infos[0] for infos in played[:-1])
    env.reset()
    first = env.step({0: NOOP, 1: NOOP})[4]
    assert sum(first[0]["counts"].values()) == 1  # the next episode begins at 0


def test_a_state_that_is_set_begins_returns_lengths_and_counts() -> None:
    env = cogrid.make(ROOM, **COOKING | {"max_steps": 5})
    env.reset(seed=0)
    for _ in range(2):
        env.step({0: NOOP, 1: NOOP})
    env.set_state(env.get_state())
    env.step({0: NOOP, 1: NOOP})
    env = copy.deepcopy(env)
    while env.agents:
        infos = env.step({0: NOOP, 1: NOOP})[4]
    assert infos[0]["episode"]["l"] == infos[0]["episode"]["counts"]["idle steps"] == 3


@pytest.mark.parametrize("autoreset", ["same-step", "next-step"])
def test_counts_of_every_episode_of_the_vector_environment(autoreset) -> None:
    vec = cogrid.make_vec(ROOM, 2, autoreset=autoreset, **COOKING)
    vec.reset(seed=0)
    pause = [np.full(2, NOOP)] if autoreset == "next-step" else []
    ends = []
    for joint in [*tape(), *pause, *tape()]:
        infos = vec.step(np.stack([joint, np.full(2, NOOP)]))[4]
        if "episode" in infos:
            ends.append(infos["episode"]["counts"])
    assert len(ends) == 2
    for counts in ends:
        assert tuple(counts) == vec.counters
        np.testing.assert_array_equal(np.stack([*counts.values()], -1)[0], summed()[0])
        assert {name: value[1].tolist() for name, value in counts.items() if value[1].any()} == {
            "idle steps": [STEPS, STEPS]
        }


if HAS_JAX:
    import jax

    def test_counts_add_up_in_a_scan() -> None:
        env = shared(ROOM, "jax", **COOKING)

        def one(carry, joint):
            state, totals = carry
            state, _, _, _, infos = env.jax_step(state, joint)
            return (state, totals + infos["counts"]), None

        @jax.jit
        def play(key, joints):
            return jax.lax.scan(
                one, (env.jax_reset(key)[0], np.zeros((2, len(env.counters)), np.int32)), joints
            )

        (_, totals), _ = play(keys(0, 1)[0], tape())
        np.testing.assert_array_equal(totals, summed()[0])
