"""The committed golden files are what the reference implementations say today."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("overcooked")
pytest.importorskip("jaxmarl")

import jax

from tests.golden import v2
from tests.golden.record import recorded_text
from tests.golden.record_v2 import answered, begun
from tests.golden.trajectory import RECORDED, file_of
from tests.oracles.canonical import ACTION_LETTERS, Kitchen
from tests.oracles.jaxmarl_v2_oracle import Pair
from tests.oracles.v2_options import varied


@pytest.mark.parametrize(
    ("kitchen", "cook_start"), RECORDED, ids=[f"{kitchen.name}-{rule}" for kitchen, rule in RECORDED]
)
def test_recordings_are_current(kitchen: Kitchen, cook_start: str) -> None:
    path = file_of(kitchen, cook_start)
    current = path.read_text(encoding="utf-8") == recorded_text(kitchen, cook_start)
    assert current, f"{path.name} differs: record it again with python -m tests.golden.record"


@pytest.mark.parametrize("layout", v2.LAYOUTS)
def test_jaxmarl_answers_as_recorded(layout: str) -> None:
    """To the same actions: who played them does not matter."""
    content = json.loads(v2.file_of(layout).read_text(encoding="utf-8"))
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        pair = Pair(layout, varied(layout))
        state, theirs = begun(pair)
        assert content["options"] == pair.rules.ours
        for number, (letters, *told) in enumerate(content["steps"]):
            moves = [[ACTION_LETTERS.index(a) for a in joint] for joint in letters.split()]
            state, theirs, answer = answered(pair, state, theirs, np.array(moves, np.int32))
            assert answer == told, f"step {number}: record it again with python -m tests.golden.record_v2"
