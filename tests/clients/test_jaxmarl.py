"""JaxMARL: its wrappers around our environment, as its IPPO and QMIX scripts use them."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np
import pytest

pytest.importorskip("jaxmarl")

from jaxmarl.environments import spaces
from jaxmarl.wrappers.baselines import CTRolloutManager, LogWrapper

import cogrid
from cogrid.adapters.jaxmarl import JaxMARLEnv
from tests.clients.support import run_section

ROOM = "Overcooked-CrampedRoom-V0"
B, STEPS, LENGTH = 32, 50, 20
NARROW = """
    XPSX
    O  O
    XDPX
"""


@pytest.fixture(autouse=True)
def _as_jaxmarl_wants_it():
    """Its wrappers mix integers and floats, which the other tests forbid."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


def kitchen(**options) -> cogrid.CoGridEnv:
    return cogrid.make(
        ROOM, "jax", layout=NARROW, shaping=1.0, max_steps=LENGTH, random_start=True, **options
    )


def test_its_own_spaces() -> None:
    env = JaxMARLEnv(kitchen())
    assert isinstance(env.action_space(), spaces.Discrete)
    assert isinstance(env.observation_space("agent_1"), spaces.Box)


def test_shaping_as_its_ippo_anneals_it() -> None:
    """Rewards without shaping plus the weighted `shaped_reward` are what a plain environment pays."""
    env = LogWrapper(JaxMARLEnv(kitchen(), shaped_reward=True), replace_info=False)
    plain = JaxMARLEnv(kitchen())

    def step(carry, key):
        state, other = carry
        chosen = jax.random.choice(key, np.array([0, 1, 2, 3, 4, 4, 4]), (2,))
        actions = {a: chosen[i] for i, a in enumerate(env.agents)}
        _, state, rewards, dones, infos = env.step(key, state, actions)
        _, other, expected, _, _ = plain.step(key, other, actions)
        annealed = jax.tree.map(lambda x, y: x + y * 1.0, rewards, infos["shaped_reward"])
        return (state, other), (annealed, expected, rewards, infos, dones["__all__"])

    def play(key):
        return jax.lax.scan(step, (env.reset(key)[1], plain.reset(key)[1]), jax.random.split(key, STEPS))[1]

    keys = jax.random.split(jax.random.key(0), B)
    annealed, expected, rewards, infos, dones = jax.jit(jax.vmap(play))(keys)
    for agent in env.agents:
        np.testing.assert_array_equal(annealed[agent], expected[agent])
        assert (np.asarray(infos["shaped_reward"][agent]) > 0).sum() > 5
        assert (np.asarray(rewards[agent]) % 20 == 0).all()
    assert np.asarray(dones).sum() == B * 2
    assert np.asarray(infos["returned_episode"]).sum() == B * 2 * 2


def test_the_rollout_manager_of_its_q_learners_runs() -> None:
    env = LogWrapper(JaxMARLEnv(kitchen()))
    manager = CTRolloutManager(env, batch_size=B)
    obs, state = manager.batch_reset(jax.random.key(0))
    assert obs["__all__"].shape[0] == B

    def step(state, key):
        actions = {a: manager.batch_sample(key, a) for a in env.agents}
        valid = manager.get_valid_actions(state.env_state)
        _, state, rewards, dones, infos = manager.batch_step(key, state, actions)
        return state, (rewards["__all__"], dones["__all__"], infos["returned_episode"], valid["agent_0"])

    _, (rewards, dones, ends, valid) = jax.lax.scan(step, state, jax.random.split(jax.random.key(1), STEPS))
    assert rewards.shape == (STEPS, B)
    assert np.asarray(dones).sum() == B * 2
    assert np.asarray(ends).sum() == B * 2 * 2
    assert valid.shape == (STEPS, B, manager.max_action_space)


def test_the_page(tmp_path: Path) -> None:
    run_section("JaxMARL", tmp_path)
    assert (tmp_path / "episode.gif").stat().st_size > 1000
