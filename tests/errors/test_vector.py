"""Mistakes in playing a batch."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import cogrid
from tests.errors.support import ROOM, assert_names, complaint
from tests.support import BACKENDS, INTERACT, NOOP, UP, assert_same


@functools.cache
def _vectors(backend: str) -> tuple[cogrid.VectorEnv, cogrid.VectorEnv]:
    return cogrid.make_vec(ROOM, 3, backend=backend), cogrid.make_vec(ROOM, 3, backend=backend)


@pytest.fixture
def unharmed_vector(backend):
    """Three environments in the middle of their episodes; after the test they must go on like their twins."""
    vec, twin = _vectors(backend)
    for one in (vec, twin):
        one.reset(seed=3)
        one.step(np.array([[UP, NOOP], [INTERACT, UP], [UP, UP]]))
    yield vec
    ours, theirs = (one.step(np.full((3, 2), UP)) for one in (vec, twin))
    for mine, other in zip(ours[:4], theirs[:4], strict=True):
        np.testing.assert_array_equal(mine, other)
    assert_same(vec.env_state, twin.env_state)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shape", [(), (2,), (2, 2), (3, 3), (2, 3), (3, 2, 1), (1, 3, 2)])
def test_wrong_batch_shape(unharmed_vector, shape) -> None:
    text = complaint(lambda: unharmed_vector.step(np.zeros(shape, np.int32)))
    assert_names(text, f"shape {shape}", "3 environments", "2 agents", "(3, 2)")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("action", [-1, 7, 2**40, 2**32 + UP])
def test_action_out_of_range_in_a_batch(unharmed_vector, action) -> None:
    actions = np.zeros((3, 2), np.int64)
    actions[2, 1] = action
    text = complaint(lambda: unharmed_vector.step(actions))
    assert_names(text, f"action {action} ", "agent 1 ", "environment 2 ", "from 0 to 6")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [np.float32, np.bool_])
def test_batch_of_actions_that_are_no_integers(unharmed_vector, dtype) -> None:
    text = complaint(lambda: unharmed_vector.step(np.zeros((3, 2), dtype)), TypeError)
    assert_names(text, "actions", "integers", np.dtype(dtype).name)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("seed", "kind", "parts"),
    [
        ([1, 2], ValueError, ("2 seeds", "3 environments")),
        ([1, 2, "x"], TypeError, ("'x'",)),
        (1.5, TypeError, ("seed", "1.5")),
    ],
)
def test_bad_seeds_of_a_batch(unharmed_vector, seed, kind, parts) -> None:
    assert_names(complaint(lambda: unharmed_vector.reset(seed=seed), kind), *parts)


@pytest.mark.parametrize("backend", BACKENDS)
def test_vector_before_reset(backend) -> None:
    vec = cogrid.make_vec(ROOM, 3, backend=backend)
    assert_names(complaint(lambda: vec.step(np.zeros((3, 2), np.int32))), "before reset", "reset()")
    assert_names(complaint(lambda: vec.env_state), "before reset", "reset()")
