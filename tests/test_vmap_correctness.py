"""A batch under `jax.vmap` equals its environments alone, however jit, scan and vmap are stacked."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid.testing import state_fields
from tests.support import HAS_JAX, KITCHENS

BATCH_SIZE = 1024
N_PARITY_STEPS = 5
SAMPLED = (0, 1, 2, 3, BATCH_SIZE // 2, BATCH_SIZE - 3, BATCH_SIZE - 2, BATCH_SIZE - 1)
MAPS = ("wall_map", "object_type_map", "object_state_map")

# One xdist group a layout, so that each compiles on one worker only.
over_layouts = pytest.mark.parametrize(
    "id", [pytest.param(id, marks=pytest.mark.xdist_group(f"vmap:{id}")) for id in KITCHENS]
)


@functools.cache
def kitchen(id: str) -> Any:
    return cogrid.make(id, backend="jax")


def random_actions(steps: int, *batch: int) -> np.ndarray[Any, Any]:
    """(steps, *batch, 2) of [0, 7)."""
    return np.random.default_rng(123).integers(0, 7, (steps, *batch, 2)).astype(np.int32)


def assert_equal(ours: Any, theirs: Any, what: str) -> None:
    """Exactly for integers and truth values, within 1e-7 for floats."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), what
    tolerance = 1e-7 if np.issubdtype(ours.dtype, np.floating) else 0
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance, err_msg=what)


def assert_states(ours: Any, theirs: Any, what: str) -> None:
    """Every dynamic field is equal; the key by its words."""
    mine, yours = state_fields(ours), state_fields(theirs)
    assert mine.keys() == yours.keys()
    for name in mine:
        assert_equal(mine[name], yours[name], f"{what}: {name}")


def assert_steps(ours: Any, theirs: Any, what: str) -> None:
    """Two results of a step are equal: states, observations exactly, rewards, done and infos."""
    assert_states(ours[0], theirs[0], what)
    np.testing.assert_array_equal(np.asarray(ours[1]), np.asarray(theirs[1]), err_msg=f"{what}: obs")
    assert_equal(ours[2], theirs[2], f"{what}: rewards")
    assert_equal(ours[3], theirs[3], f"{what}: done")
    assert ours[4] == theirs[4] == {}


# Without JAX there is nothing to map: the NumPy session collects none of what follows, and skips nothing.
if HAS_JAX:
    import jax

    def keys(n: int) -> Any:
        return jax.random.split(jax.random.key(42), n)

    def at(tree: Any, i: Any) -> Any:
        """Environment i of a batch."""
        return jax.tree.map(lambda leaf: leaf[i], tree)

    @functools.cache
    def single(id: str) -> Any:
        """Reset and step of one environment, compiled once."""
        return jax.jit(kitchen(id).jax_reset), jax.jit(kitchen(id).jax_step)

    @functools.cache
    def batched(id: str) -> Any:
        """Reset and step of a batch, compiled once for each of its sizes."""
        return jax.jit(jax.vmap(kitchen(id).jax_reset)), jax.jit(jax.vmap(kitchen(id).jax_step))

    def assert_batch_equals_singles(id: str, n: int, sampled: tuple[int, ...], steps: int) -> None:
        """Reset and some steps of a batch of n, against the sampled environments alone."""
        reset, step = batched(id)
        reset_one, step_one = single(id)
        batch, obs = reset(keys(n))
        alone = {i: reset_one(keys(n)[i]) for i in sampled}
        for i, (state, seen) in alone.items():
            assert_states(at(batch, i), state, f"{id} reset of {i}")
            np.testing.assert_array_equal(obs[i], seen)
        states = {i: state for i, (state, _) in alone.items()}
        for number, actions in enumerate(random_actions(steps, n)):
            result = step(batch, actions)
            batch = result[0]
            for i in sampled:
                one = step_one(states[i], actions[i])
                assert_steps(at(result, i), one, f"{id} step {number} of {i}")
                states[i] = one[0]

    @over_layouts
    def test_vmap_reset_shapes(id: str) -> None:
        env = kitchen(id)
        state, obs = jax.vmap(env.jax_reset)(keys(BATCH_SIZE))
        n_agents, (obs_dim,) = env.config["num_agents"], env.observation_space(0).shape
        assert obs.shape == (BATCH_SIZE, n_agents, obs_dim)
        assert np.isfinite(np.asarray(obs)).all()
        assert state.agent_pos.shape == (BATCH_SIZE, n_agents, 2)
        for name in MAPS:
            assert getattr(state, name).shape == (BATCH_SIZE, state.height, state.width), name
        for name, value in state_fields(state).items():
            assert value.shape[0] == BATCH_SIZE, name
            assert np.isfinite(value).all(), name
        assert type(state.n_agents) is int
        assert state.n_agents == n_agents

    @over_layouts
    def test_vmap_step_shapes(id: str) -> None:
        env = kitchen(id)
        state, first = jax.vmap(env.jax_reset)(keys(BATCH_SIZE))
        after, obs, rewards, done, infos = jax.vmap(env.jax_step)(state, random_actions(1, BATCH_SIZE)[0])
        assert (obs.shape, obs.dtype) == (first.shape, np.float32)
        assert np.isfinite(np.asarray(obs)).all()
        assert (rewards.shape, rewards.dtype) == ((BATCH_SIZE, env.config["num_agents"]), np.float32)
        assert (done.shape, done.dtype) == ((BATCH_SIZE,), np.bool_)
        assert infos == {}
        before = state_fields(state)
        assert {name: (v.shape, v.dtype) for name, v in state_fields(after).items()} == {
            name: (v.shape, v.dtype) for name, v in before.items()
        }

    @over_layouts
    def test_vmap_reset_parity(id: str) -> None:
        env, several = kitchen(id), keys(BATCH_SIZE)
        batch, obs = jax.vmap(env.jax_reset)(several)
        for i in SAMPLED:
            state, seen = single(id)[0](several[i])
            assert_states(at(batch, i), state, f"{id} environment {i}")
            np.testing.assert_array_equal(obs[i], seen)

    @over_layouts
    def test_vmap_step_parity(id: str) -> None:
        env, several = kitchen(id), keys(BATCH_SIZE)
        batch, _ = jax.vmap(env.jax_reset)(several)
        alone = {i: single(id)[0](several[i])[0] for i in SAMPLED}
        for number, actions in enumerate(random_actions(N_PARITY_STEPS, BATCH_SIZE)):
            result = jax.vmap(env.jax_step)(batch, actions)
            batch = result[0]
            for i in SAMPLED:
                one = single(id)[1](alone[i], actions[i])
                assert_steps(at(result, i), one, f"{id} step {number} of environment {i}")
                alone[i] = one[0]

    @over_layouts
    def test_vmap_jit_composition(id: str) -> None:
        env = kitchen(id)
        assert_batch_equals_singles(id, BATCH_SIZE, SAMPLED, steps=3)
        reset, step = batched(id)
        state, obs = reset(keys(BATCH_SIZE))
        plain, seen = jax.vmap(env.jax_reset)(keys(BATCH_SIZE))
        assert_states(state, plain, f"{id} reset")
        np.testing.assert_array_equal(obs, seen)
        for number, actions in enumerate(random_actions(3, BATCH_SIZE)):
            result, eager = step(state, actions), jax.vmap(env.jax_step)(state, actions)
            assert_steps(result, eager, f"{id} step {number}")
            state = result[0]

    @over_layouts
    def test_scan_over_vmap(id: str) -> None:
        reset, step = batched(id)
        start, _ = reset(keys(BATCH_SIZE))
        actions = random_actions(20, BATCH_SIZE)

        def body(state: Any, joint: Any) -> Any:
            state, *seen, _ = jax.vmap(kitchen(id).jax_step)(state, joint)
            return state, seen

        last, (obs, rewards, done) = jax.jit(lambda s, a: jax.lax.scan(body, s, a))(start, actions)
        state = start
        for number, joint in enumerate(actions):
            result = step(state, joint)
            state = result[0]
            assert_steps(result, (state, obs[number], rewards[number], done[number], {}), f"step {number}")
        assert_states(last, state, f"{id} after the scan")

    @over_layouts
    def test_vmap_of_vmap(id: str) -> None:
        reset, step = batched(id)
        twice = jax.jit(jax.vmap(jax.vmap(kitchen(id).jax_step)))
        flat, flat_obs = reset(keys(64))
        deep, deep_obs = jax.jit(jax.vmap(jax.vmap(kitchen(id).jax_reset)))(keys(64).reshape(4, 16))
        np.testing.assert_array_equal(deep_obs, flat_obs.reshape(4, 16, *flat_obs.shape[1:]))
        for number, actions in enumerate(random_actions(N_PARITY_STEPS, 64)):
            one, two = step(flat, actions), twice(deep, actions.reshape(4, 16, 2))
            level = jax.tree.map(lambda leaf: leaf.reshape(64, *leaf.shape[2:]), two)
            assert_steps(level, one, f"{id} step {number}")
            flat, deep = one[0], two[0]

    @over_layouts
    def test_state_can_be_donated(id: str) -> None:
        """Warnings are errors, so that a buffer which cannot be used again fails here."""
        reset, step = batched(id)
        donating = jax.jit(jax.vmap(kitchen(id).jax_step), donate_argnums=0)
        kept, given = reset(keys(BATCH_SIZE))[0], reset(keys(BATCH_SIZE))[0]
        for number, actions in enumerate(random_actions(N_PARITY_STEPS, BATCH_SIZE)):
            result, again = step(kept, actions), donating(given, actions)
            assert_steps(again, result, f"{id} step {number}")
            assert given.cells.is_deleted()
            assert not kept.cells.is_deleted()
            kept, given = result[0], again[0]

    @over_layouts
    def test_nothing_leaks_from_a_trace(id: str) -> None:
        with jax.checking_leaks():
            env = cogrid.make(id, backend="jax", max_steps=7)
            state, _ = jax.jit(jax.vmap(env.jax_reset))(keys(8))
            state, *_ = jax.jit(jax.vmap(env.jax_step))(state, random_actions(1, 8)[0])
        assert (np.asarray(state.time) == 1).all()

    @over_layouts
    def test_batch_of_one(id: str) -> None:
        assert_batch_equals_singles(id, 1, (0,), N_PARITY_STEPS)

    def test_batch_that_mixes_layouts() -> None:
        layouts = [kitchen(id).config["layout"] for id in KITCHENS]
        env = cogrid.make(KITCHENS[0], backend="jax", layout=layouts)
        reset, step = jax.jit(jax.vmap(env.jax_reset)), jax.jit(jax.vmap(env.jax_step))
        reset_one, step_one = jax.jit(env.jax_reset), jax.jit(env.jax_step)
        several = keys(BATCH_SIZE)
        batch, obs = reset(several)
        drawn = np.asarray(batch.layout)
        assert set(drawn.tolist()) == set(range(len(layouts)))
        # The first environments of every layout, beside the usual ones.
        sampled = sorted({*SAMPLED, *(int(i) for n in set(drawn) for i in np.flatnonzero(drawn == n)[:2])})
        alone = {}
        for i in sampled:
            alone[i], seen = reset_one(several[i])
            assert_states(at(batch, i), alone[i], f"environment {i}")
            np.testing.assert_array_equal(obs[i], seen)
        for number, actions in enumerate(random_actions(N_PARITY_STEPS, BATCH_SIZE)):
            result = step(batch, actions)
            batch = result[0]
            for i in sampled:
                one = step_one(alone[i], actions[i])
                assert_steps(at(result, i), one, f"step {number} of environment {i}")
                alone[i] = one[0]
        np.testing.assert_array_equal(batch.layout, drawn)

    @pytest.mark.xdist_group(f"vmap:{KITCHENS[0]}")
    def test_hundred_thousand_environments() -> None:
        n = 100_000
        assert_batch_equals_singles(KITCHENS[0], n, (0, 1, n // 2, n - 2, n - 1), steps=2)
