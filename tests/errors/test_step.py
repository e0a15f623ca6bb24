"""Mistakes with the pure functions: shapes and types of actions, and keys."""

from __future__ import annotations

import numpy as np
import pytest

import cogrid
from tests.errors.support import ROOM, assert_names, batch_of, complaint
from tests.support import BACKENDS, HAS_JAX


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 2), (1, 2)])
def test_wrong_shape_of_actions_for_a_single_state(unharmed, shape) -> None:
    state, actions = unharmed.env_state, np.zeros(shape, np.int32)
    assert_names(complaint(lambda: unharmed.step_fn(state, actions)), "actions", str(shape), "(2,)")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shape", [(2,), (3, 2), (4, 3), (2, 4), (4,)])
def test_wrong_shape_of_actions_for_a_batch(unharmed, shape) -> None:
    state = batch_of(unharmed, 4)
    assert_names(complaint(lambda: unharmed.step_fn(state, np.zeros(shape, np.int32))), str(shape), "(4, 2)")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [np.float32, np.bool_])
def test_wrong_type_of_actions(unharmed, dtype) -> None:
    text = complaint(lambda: unharmed.step_fn(unharmed.env_state, np.zeros(2, dtype)), TypeError)
    assert_names(text, "actions", "integers", np.dtype(dtype).name)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("key", "parts"),
    [
        (np.zeros(2, np.float32), ("float32", "(2,)")),
        (np.zeros(2, np.int32), ("int32", "(2,)")),
        (np.zeros(3, np.uint32), ("uint32", "(3,)")),
        (np.uint32(5), ("uint32", "()")),
        (5, ("int", "()")),
    ],
    ids=repr,
)
def test_wrong_key(unharmed, key, parts) -> None:
    text = complaint(lambda: unharmed.reset_fn(key), TypeError)
    assert_names(text, "key", "cogrid.backend.rng.key(seed)", *parts)


# Only on JAX


if HAS_JAX:
    import jax

    @pytest.mark.parametrize("backend", ["jax"])
    @pytest.mark.parametrize("impl", ["rbg", "unsafe_rbg"])
    def test_key_of_another_generator(unharmed, impl) -> None:
        key = jax.random.key(0, impl=impl)
        calls = (
            lambda: unharmed.reset_fn(key),
            lambda: jax.jit(unharmed.jax_reset)(key),
            lambda: jax.vmap(unharmed.jax_reset)(jax.random.split(key, 2)),
            lambda: unharmed.replace(unharmed.env_state, rng_key=key),
        )
        for call in calls:
            text = complaint(call, TypeError)
            assert_names(text, f"type {impl} ", "jax.random.key(seed, impl='threefry2x32')")

    def test_typed_jax_key_for_a_numpy_environment() -> None:
        env = cogrid.make(ROOM)
        with pytest.raises(TypeError, match="key"):
            env.reset_fn(jax.random.key(0))

    @pytest.mark.parametrize("backend", ["jax"])
    def test_wrong_shape_of_actions_inside_jit_and_vmap(unharmed) -> None:
        state, actions = unharmed.env_state, np.zeros(3, np.int32)
        assert_names(complaint(lambda: jax.jit(unharmed.jax_step)(state, actions)), "(3,)", "(2,)")
        states = batch_of(unharmed, 4)
        wrong = np.zeros((4, 3), np.int32)
        assert_names(complaint(lambda: jax.vmap(unharmed.jax_step)(states, wrong)), "(3,)", "(2,)")
