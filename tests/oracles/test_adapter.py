"""Our environments under JaxMARL's own wrappers."""

from __future__ import annotations

import jax
import numpy as np
import pytest

pytest.importorskip("jaxmarl")

from jaxmarl.environments.overcooked.overcooked import Overcooked
from jaxmarl.wrappers.baselines import CTRolloutManager, LogWrapper

import cogrid
from cogrid.adapters.jaxmarl import OVERCOOKED_V2, JaxMARLEnv
from tests.episodes import shared
from tests.oracles.jaxmarl_v2_oracle import Pair
from tests.oracles.v2_options import PLAIN

pytestmark = pytest.mark.xdist_group("adapter")
ROOM = "Overcooked-CrampedRoom-V0"
NARROW = """
    XPSX
    O  O
    XDPX
"""
LENGTH = 16
OPTIONS = {"max_steps": LENGTH, "shaping": 1.0, "random_start": True, "layout": NARROW}
B, STEPS = 3, 40


@pytest.fixture(autouse=True)
def _as_jaxmarl_wants_it():
    """Its wrappers mix integers and floats, which the other tests forbid."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


def test_log_wrapper_counts_returns_and_lengths() -> None:
    env = LogWrapper(JaxMARLEnv(shared(ROOM, "jax", **OPTIONS)))

    def one(carry, key):
        state, _ = carry
        chosen = jax.random.choice(key, np.array([0, 1, 2, 3, 4, 4, 4]), (2,))
        actions = {a: chosen[i] for i, a in enumerate(env.agents)}
        obs, state, rewards, dones, infos = env.step(key, state, actions)
        return (state, obs), (rewards, dones, infos)

    @jax.jit
    @jax.vmap
    def play(key):
        obs, state = env.reset(key)
        return jax.lax.scan(one, (state, obs), jax.random.split(key, STEPS))

    (_, obs), (rewards, dones, infos) = play(jax.random.split(jax.random.key(0), B))
    points = np.stack([rewards[a] for a in env.agents], axis=-1)  # (B, steps, n)
    ends = np.flatnonzero(np.asarray(dones["__all__"])[0])
    assert ends.tolist() == [15, 31]
    assert np.asarray(infos["returned_episode"]).sum() == B * 2 * 2
    for first, last in ((0, 15), (16, 31)):
        returned = np.asarray(infos["returned_episode_returns"])[:, last]
        np.testing.assert_allclose(returned, points[:, first : last + 1].sum(axis=1))
        assert (np.asarray(infos["returned_episode_lengths"])[:, last] == LENGTH).all()
    assert points.sum() > 0
    assert obs["agent_0"].shape[0] == B


def test_rollout_manager_of_the_q_learners() -> None:
    """Traced, not run: that takes its time, and what it computes is its own."""
    env = JaxMARLEnv(shared(ROOM, "jax", **OPTIONS))
    manager = CTRolloutManager(env, batch_size=B)
    key = jax.random.key(0)
    _, state = jax.eval_shape(manager.batch_reset, key)
    actions = {a: manager.batch_sample(key, a) for a in env.agents}
    obs, _, rewards, dones, _ = jax.eval_shape(manager.batch_step, key, state, actions)
    size = env.observation_space("agent_0").shape[0]
    assert obs["agent_0"].shape == (B, size + 2)
    assert obs["__all__"].shape == (B, 2 * size)
    assert rewards["__all__"].shape == dones["__all__"].shape == (B,)


def test_same_form_as_jaxmarls_own() -> None:
    """Names and shapes of what is returned, worked out without running it."""
    ours, theirs = JaxMARLEnv(shared(ROOM, "jax", **OPTIONS)), Overcooked()
    key = jax.random.key(0)
    assert ours.agents == theirs.agents
    forms = []
    for env in (ours, theirs):
        _, state = jax.eval_shape(env.reset, key)
        actions = {a: env.action_space(a).sample(key) for a in env.agents}
        obs, _, rewards, dones, _ = jax.eval_shape(env.step, key, state, actions)
        assert [*obs] == env.agents
        forms.append([{name: (v.shape, v.dtype) for name, v in part.items()} for part in (rewards, dones)])
    assert forms[0] == forms[1]


def test_overcooked_v2_step_by_step() -> None:
    """JaxMARL's own environment and ours behind the adapter, with the same actions in the same order."""
    pair = Pair("CrampedRoomV2", PLAIN)
    theirs, batch = pair.game, 8
    made = cogrid.make("OvercookedV2-CrampedRoomV2-V0", "jax", observation="lossless", shaping=1.0)
    ours = JaxMARLEnv(made, shaped_reward=True, actions=OVERCOOKED_V2)
    assert ours.agents == theirs.agents
    assert ours.action_space().n == theirs.action_space().n
    assert ours.observation_space().shape == theirs.observation_space().shape
    keys = jax.random.split(jax.random.key(0), batch)
    obs, state = jax.vmap(ours.reset)(keys)
    other = pair.to_theirs(state)
    seen = jax.vmap(theirs.get_obs)(other)
    steps = [jax.jit(jax.vmap(env.step_env)) for env in (ours, theirs)]
    generator, paid = np.random.default_rng(0), 0.0
    for _ in range(120):
        for name in ours.agents:
            np.testing.assert_array_equal(obs[name], seen[name])  # uint8 here, int32 there
        joint = generator.choice(6, (2, batch), p=[0.14, 0.14, 0.14, 0.14, 0.04, 0.4]).astype(np.int32)
        actions = dict(zip(ours.agents, joint, strict=True))
        obs, state, *got = steps[0](keys, state, actions)
        seen, other, *want = steps[1](keys, other, actions)
        assert jax.tree.structure(got) == jax.tree.structure(want)
        for mine, their in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
            np.testing.assert_array_equal(mine, their)
        paid += float(sum(value.sum() for value in want[-1]["shaped_reward"].values()))
    assert paid > 0
