"""Glue does what taking trees apart and putting them together does, and leaves all other arguments alone."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pytest

from cogrid._native.glue import glued
from cogrid._native.trees import flatten

RULES = object()


@dataclasses.dataclass(frozen=True)
class State:
    """A state as the engine has them."""

    cells: Any
    clock: Any
    weight: Any
    rules: Any = RULES


class Pair(NamedTuple):
    """A tuple with names."""

    first: Any
    second: Any


def array(*shape: int, dtype: Any = np.int32) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int), dtype=dtype).reshape(shape)


def state(**changes: Any) -> State:
    return dataclasses.replace(State(array(2, 3), array(), None), **changes)


GIVEN = (state(), {"r": array(4), 0: None}, [array(2, dtype=np.int8)], Pair(array(1), ()), RULES)


def glue(given: Any, result: Any, gives: list[tuple[str, int]]) -> Any:
    """Of a function that returns two new arrays, and notes what it was given."""
    leaves: list[Any] = []
    structure = flatten(given, leaves)
    calls: list[list[Any]] = []

    def run(inputs: list[Any]) -> list[Any]:
        calls.append(inputs)
        return [inputs[0] + 1, array(9)]

    return glued(structure, leaves, [1, 0], run, flatten(result, []), gives), calls


def test_arrays_are_passed_and_returned_at_their_places() -> None:
    result = (state(), [array(1), {"a": array(1)}], Pair(None, array(1)), {}, RULES)
    attempt, calls = glue(
        GIVEN, result, [("output", 0), ("input", 0), ("input", 2), ("output", 1), ("input", 4)]
    )
    for _ in range(2):
        made, (one, other), pair, empty, rules = attempt(GIVEN)
        given = GIVEN[0]
        assert [id(one) for one in calls.pop()] == [id(given.clock), id(given.cells)]
        assert (type(made), list(made.__dict__)) == (State, list(given.__dict__))
        assert made.cells == given.clock + 1
        assert made.clock is given.cells
        assert one is GIVEN[1]["r"]
        assert np.array_equal(other["a"], array(9))
        assert (type(pair), pair.first) == (Pair, None)
        assert pair.second is GIVEN[3].first
        assert (empty, rules) == ({}, RULES)
        empty["mine"] = 1  # new each time


def test_without_outputs_nothing_runs() -> None:
    attempt, calls = glue((state(),), (array(1),), [("input", 1)])
    (result,) = attempt((state(),))
    assert (result, calls) == (0, [])


class Mine(np.ndarray):
    """A user's own arrays."""


@dataclasses.dataclass(frozen=True)
class Other(State):
    """A state of another family."""


CHANGED = {
    "shape": (state(cells=array(3, 2)), *GIVEN[1:]),
    "batch": (state(cells=array(1, 2, 3)), *GIVEN[1:]),
    "type": (state(clock=array(dtype=np.int64)), *GIVEN[1:]),
    "number": (state(clock=0), *GIVEN[1:]),
    "subclass of arrays": (state(cells=array(2, 3).view(Mine)), *GIVEN[1:]),
    "None": (state(cells=None), *GIVEN[1:]),
    "no None": (state(weight=array(2)), *GIVEN[1:]),
    "rules": (state(rules=object()), *GIVEN[1:]),
    "class": (Other(array(2, 3), array(), None), *GIVEN[1:]),
    "keys": (GIVEN[0], {"r": array(4), 1: None}, *GIVEN[2:]),
    "order of keys": (GIVEN[0], {0: None, "r": array(4)}, *GIVEN[2:]),
    "length of a list": (*GIVEN[:2], [array(2, dtype=np.int8)] * 2, *GIVEN[3:]),
    "tuple for a list": (*GIVEN[:2], (array(2, dtype=np.int8),), *GIVEN[3:]),
    "plain tuple": (*GIVEN[:3], (array(1), ()), *GIVEN[4:]),
    "one argument more": (*GIVEN, None),
    "one argument less": GIVEN[:-1],
}


@pytest.mark.parametrize("name", CHANGED)
def test_anything_else_is_left_to_others(name) -> None:
    attempt, calls = glue(GIVEN, (array(1),), [("output", 0)])
    assert attempt(CHANGED[name]) is None
    assert calls == []
    assert attempt(GIVEN) is not None
