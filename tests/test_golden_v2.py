"""Recorded games of JaxMARL's OvercookedV2 replay exactly, without JaxMARL."""

from __future__ import annotations

import json

import numpy as np
import pytest

import cogrid
from cogrid.backend import rng
from tests.golden.v2 import BATCH, FOLDER, LAYOUTS, STEPS, file_of
from tests.oracles.canonical import ACTION_LETTERS
from tests.oracles.v2_encoding import Encoding, digest
from tests.support import on_backends


def test_every_recording_is_replayed() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == set(LAYOUTS)


@pytest.mark.parametrize(("layout", "backend"), on_backends(LAYOUTS, ("CrampedRoomV2",)))
def test_recorded_games_replay(layout: str, backend: str) -> None:
    content = json.loads(file_of(layout).read_text(encoding="utf-8"))
    env = cogrid.make(
        f"OvercookedV2-{layout}-V0", backend, **{"observation": "lossless"} | content["options"], shaping=1.0
    )
    encoding, step = Encoding(env), env.rules.backend.compiled(env.step_fn)
    state, _ = env.reset_fn(np.asarray(rng.split(rng.key(content["seed"]), BATCH)))
    soups = 0
    for number, (letters, told, seen, score, shaped) in enumerate(content["steps"]):
        actions = np.array([[ACTION_LETTERS.index(a) for a in joint] for joint in letters.split()], np.int32)
        state, obs, rewards, _, _ = step(state, actions)
        mine = encoding.translated(state)
        fields = [mine[name] for name in ("x", "y", "facing", "held", "grid", "recipe", "time")]
        where = f"{layout} on {backend}, step {number}"
        assert digest(*fields) == told, where
        assert digest(obs) == seen, where
        expected = np.array(score, np.float32)[:, None] + np.array(shaped, np.float32)
        np.testing.assert_array_equal(np.asarray(rewards), expected, err_msg=where)
        soups += sum(points > 0 for points in score)
    assert len(content["steps"]) == STEPS
    assert soups >= 2
