"""Differences: every bit counts, and the first one is named by its field and its place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid._core.state.difference import differing, first_difference, named
from tests.doors import hall
from tests.episodes import shared
from tests.support import keys

ROOM, ARENA = "Overcooked-CrampedRoom-V0", "Arena-V0"


def told(env: Any, batch: int = 0, **changes: Any) -> dict[str, Any]:
    """What a reset tells, with stored fields of the state changed."""
    state, obs = env.reset_fn(keys(0, batch) if batch else keys(0, 1)[0])
    changes = {name: change(getattr(state, name).copy()) for name, change in changes.items()}
    return named(env.rules, ("state", "obs"), (state.evolve(**changes), obs))


def put(index: Any, value: Any) -> Any:
    def change(array: Any) -> Any:
        array[index] = value
        return array

    return change


def found(env: Any, left: dict[str, Any], right: dict[str, Any], batch: tuple[int, ...] = ()) -> Any:
    wrong = differing(left, right, batch)
    return first_difference(env.rules, left, right, batch, int(wrong.argmax()))


def test_nothing_differs_from_itself() -> None:
    for env in (shared(ROOM, "numpy", shaping=1.0), shared(ARENA, "numpy")):
        for batch in (0, 3):
            assert not differing(told(env, batch), told(env, batch), (batch,) if batch else ()).any()


@pytest.mark.parametrize(
    ("changes", "field", "place", "values"),
    [
        ({"cells": put(2, 0)}, "cells", ("row 0", "column 2"), ("Pot", "0 (floor)")),
        ({"pos": put(1, 6)}, "agent_pos", ("agent 1",), ("row 1, column 3", "row 1, column 1")),
        ({"pose": put(1, 0)}, "agent_dir", ("agent 1",), ("3", "0")),
        ({"pose": lambda pose: pose + 1}, "held", ("agent 0",), ("0 (None)", "1 (")),
        ({"clock": lambda clock: clock + 1}, "time", (), ("0", "1")),
        ({"clock": lambda clock: ~clock}, "state's done", (), ("False", "True")),
        ({"words": put(1, 9)}, "rng_key", ("word 1",), ("", "9")),
        ({"weight": lambda weight: weight / 2}, "shaping_weight", (), ("1.0", "0.5")),
    ],
)
def test_fields_of_a_state(changes: Any, field: str, place: Any, values: Any) -> None:
    env = shared(ROOM, "numpy", shaping=1.0)
    difference = found(env, told(env), told(env, **changes))
    assert (difference.field, difference.place) == (field, place)
    assert values[0] in difference.main
    assert values[1] in difference.shadow


def test_the_end_of_one_agent() -> None:
    env = cogrid.CoGridEnv(hall("#E###\n#1 2#\n#####"))
    difference = found(env, told(env), told(env, ended=put(1, True)))
    assert difference == ("ended", ("agent 1",), "False", "True")


def test_features_and_planes_by_their_names() -> None:
    env = shared(ROOM, "numpy")
    other = told(env)
    other["obs"] = put((1, 3), 0.5)(other["obs"].copy())
    assert found(env, told(env), other).place == ("agent 1", repr(env.feature_names[3]))
    grid = shared(ROOM, "numpy", observation="lossless")
    other = told(grid)
    other["obs"] = put((0, 2, 4, 1), 7)(other["obs"].copy())
    place = ("agent 0", "row 2", "column 4", repr(grid.feature_names[1]))
    assert found(grid, told(grid), other) == ("obs", place, "0", "7")


def test_every_environment_that_differs_and_the_first_of_them() -> None:
    env = shared(ARENA, "numpy")
    left, right = told(env, 4), told(env, 4, pos=lambda pos: pos + np.array([[0], [1], [0], [1]]))
    assert differing(left, right, (4,)).tolist() == [False, True, False, True]
    assert found(env, left, right, (4,)).place == ("agent 0",)


@pytest.mark.parametrize(("left", "right", "same"), [(0.0, -0.0, False), (np.nan, np.nan, True)])
def test_bits_and_not_numbers(left: float, right: float, same: bool) -> None:
    sides = [{"rewards": np.array([1, value], np.float32)} for value in (left, right)]
    assert differing(*sides, ()).any() == (not same)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.zeros((2, 3), np.float64), "float64 of shape (2, 3)"),
        (np.zeros((2, 2), np.float32), "float32 of shape (2, 2)"),
    ],
)
def test_types_and_shapes(value: Any, words: str) -> None:
    env = shared(ROOM, "numpy")
    left, right = {"rewards": np.zeros((2, 3), np.float32)}, {"rewards": value}
    assert differing(left, right, (2,)).all()
    assert found(env, left, right, (2,)) == ("rewards", (), "float32 of shape (2, 3)", words)


def test_an_index_of_another_type_than_its_backends() -> None:
    env = shared(ROOM, "numpy")
    difference = found(env, told(env), told(env, pos=lambda pos: pos.astype(np.int16)))
    assert difference == ("agent_pos", (), "int64 of shape (2,)", "int16 of shape (2,)")


def test_what_one_side_does_not_tell() -> None:
    env = shared(ROOM, "numpy")
    verb = named(env.rules, "infos", {"verb": np.zeros(2)})
    assert found(env, verb, {}) == ("infos verb", (), "there", "not there")
