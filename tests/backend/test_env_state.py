"""The state: what is stored as one number can be read and replaced apart."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import cogrid
from cogrid.backend import rng
from tests.support import BACKENDS, HAS_JAX

ROOM = "Overcooked-CrampedRoom-V0"


@pytest.mark.parametrize("backend", BACKENDS)
def test_time_and_end_are_read_and_replaced_apart(backend: str) -> None:
    env = cogrid.make(ROOM, backend)
    state = env.reset_fn(rng.key(0))[0]
    for time, done in itertools.product((0, 1, 399), (False, True)):
        given = env.replace(state, time=time, done=done)
        assert (int(given.time), bool(given.done)) == (time, done)
        assert (int(env.replace(given, time=7).time), bool(env.replace(given, time=7).done)) == (7, done)
        assert (int(env.replace(given, done=not done).time)) == time
        assert bool(env.replace(given, done=not done).done) is not done


@pytest.mark.parametrize("backend", BACKENDS)
def test_facing_and_hand_are_read_and_replaced_apart(backend: str) -> None:
    env = cogrid.make(ROOM, backend)
    state = env.reset_fn(rng.key(0))[0]
    for facing, held in itertools.product(range(4), range(env.rules.n_items)):
        given = env.replace(state, agent_dir=[facing, 3], held=[held, 1])
        for again in (
            given,
            env.replace(given, agent_dir=given.agent_dir),
            env.replace(given, held=given.held),
        ):
            assert np.asarray(again.agent_dir).tolist() == [facing, 3]
            assert np.asarray(again.held).tolist() == [held, 1]


if HAS_JAX:
    import jax

    def test_a_call_hands_over_few_plain_arrays() -> None:
        """Each array costs a call about 1.5 µs; a typed key among them would leave JAX's fast path."""
        state = cogrid.make(ROOM, "jax").reset_fn(rng.key(0))[0]
        leaves = jax.tree.leaves(state)
        assert len(leaves) == 5
        assert {leaf.dtype.kind for leaf in leaves} == {"i", "u"}
        assert sum(leaf.nbytes for leaf in leaves) == 36

    def test_the_key_is_typed() -> None:
        key = cogrid.make(ROOM, "jax").reset_fn(rng.key(5))[0].rng_key
        assert key == jax.random.key(5)
