"""The end of an episode: its countdown, its step, and nothing after it."""

from __future__ import annotations

import numpy as np

from tests.envs.overcooked.boards import POTTING, ROOM, SHARED, each_backend, kitchen, start, state_of, step
from tests.episodes import jitted, shared
from tests.support import INTERACT, NOOP, keys


@each_backend
def test_countdown_plane(backend) -> None:
    env = shared(ROOM, backend, observation="lossless")
    assert env.feature_names[25] == "urgent"
    state, obs = env.rules.backend.compiled(env.reset_fn)(env.rules.backend.key(keys(0, 1)[0]))
    assert not np.asarray(obs)[..., 25].any()
    for time, urgent in ((0, 0), (358, 0), (359, 0), (360, 1), (398, 1)):
        _, obs, _, done, _ = jitted(env)(env.replace(state, time=time), np.array([NOOP, NOOP], np.int32))
        planes = np.asarray(obs)
        assert (planes[..., 25] == urgent).all(), f"{400 - time - 1} steps left"
        assert planes[..., :25].any()
        assert not bool(done)


@each_backend
def test_horizon_is_a_truncation(backend) -> None:
    env = shared(ROOM, backend)
    assert env.config["max_steps"] == 400
    state = start(env, keys(0, 1)[0])
    noop = np.array([NOOP, NOOP], np.int32)
    state, _, _, done, _ = jitted(env)(env.replace(state, time=398), noop)
    assert not bool(done)
    state, _, _, done, _ = jitted(env)(state, noop)
    assert bool(done)
    assert bool(state.done)
    assert state.ended is None  # a kitchen never terminates


@each_backend
def test_after_the_end_nothing_is_paid(backend) -> None:
    env = kitchen(SHARED, backend, shaping=1.0)
    state = state_of(env, POTTING)
    assert step(env, state, [INTERACT] * 2)[1] == [20.0, 23.0]
    over = env.replace(state, done=True, time=400)
    over, rewards = step(env, over, [INTERACT] * 2)
    assert rewards == [0.0, 0.0]
    assert (bool(over.done), int(over.time)) == (True, 400)
