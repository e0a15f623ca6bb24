"""An environment that a mistake must not change."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import cogrid
from tests.errors.support import ROOM
from tests.support import INTERACT, NOOP, UP, assert_same


@functools.cache
def _playing(backend: str) -> tuple[cogrid.CoGridEnv, cogrid.CoGridEnv]:
    return cogrid.make(ROOM, backend=backend), cogrid.make(ROOM, backend=backend)


@pytest.fixture
def unharmed(backend):
    """An environment in the middle of an episode; after the test it must go on exactly like its twin."""
    env, twin = _playing(backend)
    for one in (env, twin):
        one.reset(seed=3)
        for action in (UP, INTERACT, UP):
            one.step({0: action, 1: NOOP})
    yield env
    assert env.get_state() == twin.get_state()
    ours, theirs = (one.step({0: UP, 1: INTERACT}) for one in (env, twin))
    assert ours[1:] == theirs[1:]
    np.testing.assert_array_equal(env.state(), twin.state())
    assert_same(env.env_state, twin.env_state)
