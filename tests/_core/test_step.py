"""The step as a whole: its size in equations, its types, and what it does with actions it does not know."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import cogrid
from bench.measure.counters import equations
from cogrid.backend import rng
from tests.support import BACKENDS, CLASSIC, HAS_JAX, NOOP, assert_same, keys

ROOM = "Overcooked-CrampedRoom-V0"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint8, np.int64])
def test_actions_out_of_range_are_noops(backend: str, dtype: Any) -> None:
    env = cogrid.make(ROOM, backend)
    state, _ = env.reset_fn(rng.key(0))
    step = env.rules.backend.compiled(env.step_fn)
    still = step(state, np.full(2, NOOP, np.int32))[0]
    limits = np.iinfo(dtype)
    for strange in (limits.min, limits.max, 7, limits.max - 1) if limits.min else (limits.max, 7):
        if dtype != np.int64 or backend == "numpy":
            assert_same(step(state, np.full(2, strange, dtype))[0], still, f"action {strange}")


def test_a_large_action_does_not_wrap_around() -> None:
    env = cogrid.make(ROOM)
    state, _ = env.reset_fn(rng.key(0))
    still = env.step_fn(state, np.full(2, NOOP))[0]
    assert_same(env.step_fn(state, np.full(2, 2**32))[0], still)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_clock_stops_at_the_largest_horizon(backend: str) -> None:
    env = cogrid.make(ROOM, backend, max_steps=2**31 - 1)
    state, _ = env.reset_fn(keys(0, 3))
    state = env.replace(state, time=2**31 - 3)
    over = []
    for _ in range(4):
        state, _, _, done, _ = env.rules.backend.compiled(env.step_fn)(state, np.full((3, 2), NOOP, np.int32))
        over.append(bool(np.asarray(done).all()))
    assert over == [False, True, True, True]
    assert np.asarray(state.time).tolist() == [2**31 - 1] * 3


if HAS_JAX:
    import jax

    #: Of the vmapped step of CrampedRoom with features, by the jax that traces it, so that growth is seen.
    EQUATIONS = MappingProxyType({"0.6.1": 201, "0.10.2": 169})

    def test_number_of_equations() -> None:
        """Another jax may take as many as the worst of those that were counted, and a tenth."""
        env = cogrid.make(ROOM, "jax")
        state, _ = jax.vmap(env.jax_reset)(keys(0, 4))
        traced = jax.make_jaxpr(jax.vmap(env.jax_step))(state, np.zeros((4, 2), np.int32))
        most = EQUATIONS.get(jax.__version__, 1.1 * max(EQUATIONS.values()))
        assert 50 < equations(traced.jaxpr) <= 1.02 * most

    @pytest.mark.parametrize("id", CLASSIC)
    def test_no_wide_numbers(id: str) -> None:
        env = cogrid.make(id, "jax")
        state, _ = env.jax_reset(rng.key(0))
        text = str(jax.make_jaxpr(env.jax_step)(state, np.zeros(2, np.int32)))
        assert "i64" not in text
        assert "f64" not in text
        assert "callback" not in text
