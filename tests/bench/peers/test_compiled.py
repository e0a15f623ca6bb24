"""Loops of the peers, compiled and run."""

from __future__ import annotations

from typing import Any

import pytest

from bench.peers.cases import draws, scan
from tests.support import HAS_JAX

pytestmark = pytest.mark.skipif(not HAS_JAX, reason="is about JAX")
STEPS, SHAPE, SEED = 5, (4, 2), 3


def step(state: Any, key: Any, actions: Any) -> tuple[Any, Any, Any]:
    return state + actions, actions * 2, actions[:, 0]


def drawn() -> Any:
    import jax.numpy as jnp

    from bench.peers import compiled

    return compiled.loop_drawn(step, jnp.zeros(SHAPE, jnp.int32), STEPS, SHAPE, SEED)


def test_a_loop_draws_actions_and_adds_rewards() -> None:
    import numpy as np

    from bench.peers import compiled

    (state, _), seen, reward = compiled._ready(drawn())()
    np.testing.assert_array_equal(state[:, 0], reward)
    assert (np.asarray(seen) <= 2 * (compiled.N_DRAWN - 1)).all()
    assert 0 < int(state.sum()) <= STEPS * (compiled.N_DRAWN - 1) * 8
    again, *_ = compiled.scan_drawn(step, state * 0, STEPS, SHAPE, SEED)()
    np.testing.assert_array_equal(again[0], state)


def test_the_draws_of_a_case() -> None:
    assert draws(scan(batch=16, steps=9)) == (9, (16, 2), 42)
