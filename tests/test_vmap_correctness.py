"""A batch under `jax.vmap` equals its environments alone, however jit, scan and vmap are stacked."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import cogrid
from tests.support import CLASSIC, HAS_JAX

pytestmark = pytest.mark.skipif(not HAS_JAX, reason="vmap is JAX's, which is not installed")
jax: Any = import_module("jax") if HAS_JAX else None

BATCH_SIZE = 1024
N_PARITY_STEPS = 5
SAMPLED = (0, 1, 2, 3, BATCH_SIZE // 2, BATCH_SIZE - 3, BATCH_SIZE - 2, BATCH_SIZE - 1)
MAPS = ("wall_map", "object_type_map", "object_state_map")

Host = dict[str, np.ndarray[Any, Any]]

# One xdist group a layout, so that each compiles on one worker only.
over_layouts = pytest.mark.parametrize(
    "id", [pytest.param(id, marks=pytest.mark.xdist_group(f"vmap:{id}")) for id in CLASSIC]
)


@functools.cache
def kitchen(id: str) -> Any:
    return cogrid.make(id, backend="jax")


def random_actions(steps: int, *batch: int) -> np.ndarray[Any, Any]:
    """(steps, *batch, 2) of [0, 7)."""
    return np.random.default_rng(123).integers(0, 7, (steps, *batch, 2)).astype(np.int32)


def host(state: Any, obs: Any, rewards: Any = None, done: Any = None, infos: Any = None) -> Host:
    """The result of a reset or a step as NumPy arrays: every dynamic field, the key by its words."""
    assert not infos
    rest = {} if rewards is None else {"rewards": np.asarray(rewards), "done of the step": np.asarray(done)}
    return {**state.plain(), "obs": np.asarray(obs), **rest}


def assert_same(ours: Host, theirs: Host, what: str) -> None:
    """Observations, integers and truth values exactly; rewards and other floats within 1e-7."""
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        exact = name == "obs" or not np.issubdtype(value.dtype, np.floating)
        np.testing.assert_allclose(
            value, theirs[name], rtol=0, atol=0 if exact else 1e-7, err_msg=f"{what}: {name}", strict=True
        )


def one_of(batch: Host, i: int) -> Host:
    """Environment i of a batch."""
    return {name: value[i] for name, value in batch.items()}


def keys(n: int) -> Any:
    return jax.random.split(jax.random.key(42), n)


@functools.cache
def alone(env: Any) -> Any:
    """Reset and step of one environment, compiled once."""
    return jax.jit(env.jax_reset), jax.jit(env.jax_step)


@functools.cache
def together(env: Any) -> Any:
    """Reset and step of a batch, compiled once for each size."""
    return jax.jit(jax.vmap(env.jax_reset)), jax.jit(jax.vmap(env.jax_step))


def eager(env: Any) -> Any:
    """Reset and step of a batch, operation by operation."""
    return jax.vmap(env.jax_reset), jax.vmap(env.jax_step)


def assert_batch_equals_alone(env: Any, functions: Any, n: int, sampled: Iterable[int], steps: int) -> None:
    """Reset n environments and step them with `functions`, and each of the sampled ones alone."""
    (reset, step), (reset_one, step_one), several = functions, alone(env), keys(n)
    batch, obs = reset(several)
    singles = {i: reset_one(several[i]) for i in sampled}
    together = host(batch, obs)
    for i, single in singles.items():
        assert_same(one_of(together, i), host(*single), f"reset of environment {i}")
    for number, actions in enumerate(random_actions(steps, n)):
        result = step(batch, actions)
        batch, together = result[0], host(*result)
        for i in sampled:
            singles[i] = step_one(singles[i][0], actions[i])
            assert_same(one_of(together, i), host(*singles[i]), f"step {number} of environment {i}")


@over_layouts
def test_vmap_reset_shapes(id: str) -> None:
    env = kitchen(id)
    state, obs = jax.vmap(env.jax_reset)(keys(BATCH_SIZE))
    n_agents, (obs_dim,) = env.config["num_agents"], env.observation_space(0).shape
    assert (obs.shape, obs.dtype) == ((BATCH_SIZE, n_agents, obs_dim), np.float32)
    assert state.agent_pos.shape == (BATCH_SIZE, n_agents, 2)
    for name in MAPS:
        assert getattr(state, name).shape == (BATCH_SIZE, state.height, state.width), name
    for name, value in host(state, obs).items():
        assert value.shape[0] == BATCH_SIZE, name
        assert np.isfinite(value).all(), name
    assert type(state.n_agents) is int
    assert state.n_agents == n_agents


@over_layouts
def test_vmap_step_shapes(id: str) -> None:
    env = kitchen(id)
    state, first = jax.vmap(env.jax_reset)(keys(BATCH_SIZE))
    after, obs, rewards, done, infos = jax.vmap(env.jax_step)(state, random_actions(1, BATCH_SIZE)[0])
    assert (rewards.shape, rewards.dtype) == ((BATCH_SIZE, env.config["num_agents"]), np.float32)
    assert (done.shape, done.dtype) == ((BATCH_SIZE,), np.bool_)
    assert infos == {}
    before = host(state, first)
    for name, value in host(after, obs).items():
        assert (value.shape, value.dtype) == (before[name].shape, before[name].dtype), name
        assert np.isfinite(value).all(), name


@over_layouts
def test_vmap_reset_parity(id: str) -> None:
    assert_batch_equals_alone(kitchen(id), eager(kitchen(id)), BATCH_SIZE, SAMPLED, steps=0)


@over_layouts
def test_vmap_step_parity(id: str) -> None:
    assert_batch_equals_alone(kitchen(id), eager(kitchen(id)), BATCH_SIZE, SAMPLED, N_PARITY_STEPS)


@over_layouts
def test_vmap_jit_composition(id: str) -> None:
    assert_batch_equals_alone(kitchen(id), together(kitchen(id)), BATCH_SIZE, SAMPLED, steps=3)


# Beyond these: other stacks of transformations, other sizes.


@over_layouts
def test_scan_over_vmap(id: str) -> None:
    reset, step = together(kitchen(id))
    state, _ = reset(keys(BATCH_SIZE))
    actions = random_actions(20, BATCH_SIZE)

    @jax.jit
    def scan(state: Any, actions: Any) -> Any:
        def body(state: Any, joint: Any) -> Any:
            result = jax.vmap(kitchen(id).jax_step)(state, joint)
            return result[0], result

        return jax.lax.scan(body, state, actions)

    last, results = scan(state, actions)
    scanned = host(*results)
    for number, joint in enumerate(actions):
        result = step(state, joint)
        state = result[0]
        assert_same(one_of(scanned, number), host(*result), f"step {number}")
    assert_same(host(last, result[1]), host(state, result[1]), "the last state")


@over_layouts
def test_vmap_of_vmap(id: str) -> None:
    (reset, step), env = together(kitchen(id)), kitchen(id)
    deep, deep_obs = jax.jit(jax.vmap(jax.vmap(env.jax_reset)))(keys(BATCH_SIZE).reshape(4, -1))
    flat, flat_obs = reset(keys(BATCH_SIZE))
    actions = random_actions(1, BATCH_SIZE)[0]
    twice = jax.jit(jax.vmap(jax.vmap(env.jax_step)))(deep, actions.reshape(4, -1, 2))
    for two, one in (
        (host(deep, deep_obs), host(flat, flat_obs)),
        (host(*twice), host(*step(flat, actions))),
    ):
        level = {name: value.reshape(-1, *value.shape[2:]) for name, value in two.items()}
        assert_same(level, one, id)


@over_layouts
def test_state_can_be_donated(id: str) -> None:
    """Warnings are errors, so that a buffer which cannot be used again fails here."""
    reset, step = together(kitchen(id))
    donating = jax.jit(jax.vmap(kitchen(id).jax_step), donate_argnums=0)
    kept, given = reset(keys(BATCH_SIZE))[0], reset(keys(BATCH_SIZE))[0]
    for number, actions in enumerate(random_actions(N_PARITY_STEPS, BATCH_SIZE)):
        result, again = step(kept, actions), donating(given, actions)
        assert_same(host(*again), host(*result), f"step {number}")
        assert given.cells.is_deleted()
        assert not kept.cells.is_deleted()
        kept, given = result[0], again[0]


@over_layouts
def test_nothing_leaks_from_a_trace(id: str) -> None:
    with jax.checking_leaks():
        env = cogrid.make(id, backend="jax", max_steps=7)  # rules of its own: what others cached is no help
        state, _ = jax.eval_shape(jax.vmap(env.jax_reset), keys(8))
        after, *_ = jax.eval_shape(jax.vmap(env.jax_step), state, random_actions(1, 8)[0])
    assert after.clock.shape == (8,)


@over_layouts
def test_batch_of_one(id: str) -> None:
    assert_batch_equals_alone(kitchen(id), together(kitchen(id)), 1, [0], N_PARITY_STEPS)


def test_batch_that_mixes_layouts() -> None:
    layouts = [kitchen(id).config["layout"] for id in CLASSIC]
    env = cogrid.make(CLASSIC[0], backend="jax", layout=layouts)
    drawn = np.asarray(together(env)[0](keys(BATCH_SIZE))[0].layout)
    assert set(drawn.tolist()) == set(range(len(layouts)))
    some_of_each = {int(i) for number in set(drawn) for i in np.flatnonzero(drawn == number)[:2]}
    assert_batch_equals_alone(env, together(env), BATCH_SIZE, some_of_each.union(SAMPLED), N_PARITY_STEPS)


@pytest.mark.xdist_group(f"vmap:{CLASSIC[0]}")
def test_hundred_thousand_environments() -> None:
    n = 100_000
    env = kitchen(CLASSIC[0])
    assert_batch_equals_alone(env, together(env), n, (0, 1, n // 2, n - 2, n - 1), steps=2)
