"""Workloads: tapes are drawn once, begin alike, deliver where they should, and checksums ignore widths."""

from __future__ import annotations

import numpy as np
import pytest

import cogrid
from cogrid.benchmarks.workloads import LANES, checksum, spread, start_keys, tape
from tests.support import CLASSIC, NOOP

ROOM = cogrid.make("Overcooked-CrampedRoom-V0").spec
ARENA = cogrid.make("Arena-V0").spec


@pytest.mark.parametrize("workload", ["noop", "random", "cooperative"])
def test_shorter_and_narrower_tapes_are_parts_of_longer_and_wider_ones(workload: str) -> None:
    long, short = tape(ROOM, workload, 40, 4, 7), tape(ROOM, workload, 40, 2, 7)
    assert long.shape == (40, 4, 2)
    assert long.dtype == np.int8
    np.testing.assert_array_equal(long[:, :2], short)
    if workload != "random":  # which is drawn in one piece
        np.testing.assert_array_equal(long[:10], tape(ROOM, workload, 10, 4, 7))


def test_tapes_are_constant_and_differ_by_seed_and_lane() -> None:
    random = tape(ROOM, "random", 50, 3, 1)
    with pytest.raises(ValueError, match="read-only"):
        random[0] = 0
    assert (random != tape(ROOM, "random", 50, 3, 2)).any()
    assert (random[:, 0] != random[:, 1]).any()
    assert set(np.unique(random)) == set(range(7))
    assert set(np.unique(tape(ROOM, "noop", 5, 2, 0))) == {NOOP}
    played = tape(ROOM, "cooperative", 50, 2, 1)
    assert (played[:, 0] != played[:, 1]).any()


@pytest.mark.parametrize("id", CLASSIC)
def test_cooperative_tapes_deliver(id: str) -> None:
    env = cogrid.make(id, max_steps=1000)
    state, _ = env.reset_fn(start_keys(42, 4))
    total = np.zeros((4, 2), np.float32)
    for actions in tape(env.spec, "cooperative", 256, 4, 42):
        state, _, rewards, _, _ = env.step_fn(state, actions)
        total += rewards
    soups = total[:, 0] / 20
    assert soups.min() >= 1, soups
    assert soups.sum() >= 8, soups


def test_what_cannot_be_played_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'cooperative' needs a script, and Arena has none"):
        tape(ARENA, "cooperative", 5, 1, 0)
    with pytest.raises(ValueError, match=r"workload='dance' is unknown: choose one of noop, random, coop"):
        tape(ARENA, "dance", 5, 1, 0)


def test_starts_and_lanes_fill_a_batch_in_turn() -> None:
    np.testing.assert_array_equal(start_keys(3, LANES)[:5], start_keys(3, 5))
    np.testing.assert_array_equal(spread(np.array([7, 8, 9]), 7), [7, 8, 9, 7, 8, 9, 7])
    assert spread(np.zeros((4, 3, 2)), 5, axis=1).shape == (4, 5, 2)


def test_checksum_sees_values_names_and_shapes_but_not_widths() -> None:
    one = {"a": np.array([1, 2], np.int8), "b": np.array([0.5], np.float32)}
    assert checksum(one) == checksum({"b": one["b"], "a": one["a"].astype(np.int64)})
    for other in (
        {**one, "a": np.array([1, 3])},
        {**one, "a": np.array([[1, 2]])},
        {"c": one["a"], "b": one["b"]},
        {**one, "b": np.array([0.25], np.float32)},
    ):
        assert checksum(other) != checksum(one)
