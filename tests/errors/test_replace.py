"""Mistakes in what `replace` is given."""

from __future__ import annotations

import numpy as np
import pytest

from cogrid.backend import rng
from tests.episodes import shared
from tests.errors.support import ROOM, assert_names, batch_of, complaint
from tests.support import BACKENDS


def named(value) -> str:
    """A readable name of a test's parameter: what is replaced; the rest follows from it."""
    if not isinstance(value, dict):
        return ""
    return " ".join(f"{name}={' '.join(str(part).split())}" for name, part in value.items())[:60]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("changes", "kind", "parts"),
    [
        ({"agent_position": [[1, 1], [1, 2]]}, TypeError, ("'agent_position'", "agent_pos", "pot_timer")),
        ({"pot_positions": [[0, 0]]}, TypeError, ("'pot_positions'", "pot_contents")),
        ({"agent_pos": [[0, 0], [1, 2]]}, ValueError, ("agent 0", "row 0, column 0")),
        ({"agent_pos": [[1, 1], [90, 2]]}, ValueError, ("agent 1", "row 90, column 2")),
        ({"agent_pos": [[1, 6], [1, 3]]}, ValueError, ("agent 0", "row 1, column 6")),  # not row 2, column 1
        ({"agent_pos": [[1, -1], [1, 3]]}, ValueError, ("agent 0", "row 1, column -1")),
        ({"agent_pos": [[1, 1], [1, 1]]}, ValueError, ("two agents", "same cell")),
        ({"agent_pos": [1, 1]}, ValueError, ("agent_pos", "shape (2,)", "(2, 2)")),
        ({"agent_pos": [[1.5, 1.5], [1, 3]]}, TypeError, ("agent_pos", "integer")),
        ({"agent_pos": [[1, 1, 9], [1, 2, 9]]}, ValueError, ("agent_pos", "(2, 3)", "(2, 2)")),
        ({"agent_dir": [4, 0]}, ValueError, ("agent_dir", "4", "from 0 to 3")),
        ({"agent_dir": [256, 0]}, ValueError, ("agent_dir", "256", "from 0 to 3")),
        ({"agent_dir": [1.5, 0]}, TypeError, ("agent_dir", "integer")),
        ({"agent_dir": [0, 0, 0]}, ValueError, ("agent_dir", "(3,)", "(2,)")),
        ({"agent_inv": [[99], [-1]]}, ValueError, ("agent_inv", "99", "onion")),
        ({"agent_inv": [[3], [-1]]}, ValueError, ("agent_inv", "3", "onion")),  # a pot, which no hand holds
        ({"agent_inv": [["onion"], [-1]]}, TypeError, ("agent_inv",)),
        ({"agent_inv": [[3.5], [-1]]}, TypeError, ("agent_inv",)),
        ({"held": [9, 0]}, ValueError, ("held", "9")),
        ({"time": -3}, ValueError, ("time", "-3")),
        ({"time": 3.7}, TypeError, ("time", "integer")),
        ({"time": [1, 2]}, ValueError, ("time", "(2,)", "()")),
        ({"shaping_weight": 0.5}, ValueError, ("shaping", "shaping=1.0")),
        ({"layout": 1}, ValueError, ("'layout'",)),
        ({"ended": [True, False]}, ValueError, ("'ended'",)),
        ({"rng_key": np.zeros(2, np.float32)}, TypeError, ("key", "float32")),
        ({"rng_key": np.zeros((3, 2), np.uint32)}, ValueError, ("rng_key", "(3, 2)")),
        ({"pot_contents": [[7, 7, 7]], "pot_timer": [-1]}, ValueError, ("pot", "row 0, column 2")),
        ({"pot_contents": [[99, -1, -1]]}, ValueError, ("pot", "row 0, column 2", "99")),
        ({"pot_timer": [5]}, ValueError, ("pot", "row 0, column 2", "5")),
        ({"pot_contents": [[7, 7]]}, ValueError, ("pot_contents", "(1, 2)", "(1, 3)")),
        ({"pot_timer": [-1, -1]}, ValueError, ("pot_timer", "(2,)", "(1,)")),
        ({"object_state_map": np.full((4, 5), 99)}, ValueError, ("99", "row 0, column 0")),
        ({"object_state_map": np.zeros((3, 3), int)}, ValueError, ("object_state_map", "(3, 3)", "(4, 5)")),
        ({"object_type_map": np.zeros((4, 5), int)}, ValueError, ("row 0, column 0", "floor")),
        ({"wall_map": np.zeros((4, 5), int)}, ValueError, ("row 0, column 0",)),
    ],
    ids=named,
)
def test_bad_replacement(unharmed, changes, kind, parts) -> None:
    assert unharmed.type_ids["onion"] == 7
    assert unharmed.type_ids["pot"] == 3
    assert_names(complaint(lambda: unharmed.replace(unharmed.env_state, **changes), kind), *parts)


@pytest.mark.parametrize("backend", BACKENDS)
def test_bad_replacement_in_a_batch(unharmed) -> None:
    state = batch_of(unharmed, 3)
    positions = np.array([[[1, 1], [1, 2]], [[1, 1], [1, 2]], [[1, 1], [0, 2]]])
    assert_names(
        complaint(lambda: unharmed.replace(state, agent_pos=positions)), "agent 1", "row 0, column 2"
    )
    text = complaint(lambda: unharmed.replace(state, agent_dir=np.zeros((2, 2), int)))
    assert_names(text, "agent_dir", "(2, 2)", "(3, 2)")


@pytest.mark.parametrize("key", [None, "ó", 2**64, [None, 1], [[1], [1, 2]], b"x", object()])
@pytest.mark.parametrize("backend", BACKENDS)
def test_keys_that_are_nothing_of_the_kind(backend, key) -> None:
    env = shared(ROOM, backend)
    state = env.reset_fn(env.rules.backend.key(rng.key(0)))[0]
    assert "key" in complaint(lambda: env.replace(state, rng_key=key), TypeError)
