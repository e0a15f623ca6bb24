"""Trees are taken apart and put together again; their structures can be compared and hashed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import cogrid
from cogrid._native.trees import LEAF, flatten, paths, rebuild
from cogrid.backend import rng


class Pair(NamedTuple):
    left: Any
    right: Any


def test_every_container_comes_back() -> None:
    one, two, three, four = map(np.array, range(4))
    tree = (Pair(one, [two, None]), {"b": three, "a": (four,)}, "a word", 3)
    leaves: list[Any] = []
    structure = flatten(tree, leaves)
    assert [int(leaf) for leaf in leaves] == [0, 1, 2, 3]
    assert rebuild(structure, leaves) == tree
    assert list(paths(structure)) == ["0_0", "0_1_0", "1_b", "1_a_0"]
    assert hash(structure) == hash(flatten(tree, []))
    assert structure != flatten((*tree[:3], 4), [])
    assert flatten(one, []) == LEAF
    assert flatten(None, []) is None


def test_a_state_comes_back_with_its_rules() -> None:
    state, _ = cogrid.make("Overcooked-CrampedRoom-V0").reset_fn(rng.key(0))
    leaves: list[Any] = []
    structure = flatten(state, leaves)
    assert list(paths(structure)) == ["cells", "pos", "pose", "clock", "words"]
    again = rebuild(structure, leaves)
    assert type(again) is type(state)
    assert vars(again) == vars(state)
