"""Checkpoints: a rollout goes on where it stopped, on whatever devices."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

import cogrid
from tests.distributed import games
from tests.distributed.support import alone, assert_same

pytestmark = pytest.mark.xdist_group("processes")


def part(folder, num_steps, devices, num_envs=7, **options):
    every = games.EVERY
    run = cogrid.rollout(
        games.room(),
        None,
        games.KEY,
        num_envs,
        num_steps,
        chunk=games.CHUNK,
        checkpoint=folder,
        checkpoint_every=every,
        devices=devices,
        **options,
    )
    return games.whole(run)


def test_on_one_device_then_four_then_three_then_one(tmp_path) -> None:
    for num_steps, devices in ((5, 1), (10, 4), (15, 3)):
        part(tmp_path, num_steps, devices)
    assert sorted(os.listdir(tmp_path), key=int) == ["10", "15"]  # the last two
    assert_same(part(tmp_path, games.STEPS, 1), alone("uneven"))
    assert_same(part(tmp_path, games.STEPS, 4), alone("uneven"))  # has nothing left to play


def test_what_devices_divide_stays_spread(tmp_path) -> None:
    part(tmp_path, 5, 2, num_envs=8)
    assert_same(part(tmp_path, games.STEPS, 4, num_envs=8), alone("random"))


def test_a_save_that_was_not_finished_is_not_there(tmp_path) -> None:
    part(tmp_path, 10, 1)
    whole = tmp_path / "10"
    whole.rename(tmp_path / "10.orbax-checkpoint-tmp")
    assert_same(part(tmp_path, games.STEPS, 1), alone("uneven"))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"key": 3}, "key=[0, 2] and not [0, 3]"),
        ({"num_envs": 6}, "num_envs=7 and not 6"),
        ({"policy": games.script}, "policy=None and not 'script'"),
        ({"env": games.room(max_steps=8)}, "spec="),
        ({"num_steps": 4}, "num_steps=4, but"),
    ],
)
def test_another_rollout_is_refused(tmp_path_factory, options, text) -> None:
    folder = tmp_path_factory.getbasetemp() / "first"
    before = {"env": games.room(), "key": games.KEY, "num_envs": 7, "num_steps": 5, "checkpoint": folder}
    cogrid.rollout(**before, devices=1)
    with pytest.raises(ValueError, match=r"\.$") as caught:
        cogrid.rollout(**{**before, **options}, devices=1)
    assert text in str(caught.value)
    assert os.listdir(folder) == ["5"]


def test_without_orbax(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "orbax.checkpoint", None)
    with pytest.raises(ModuleNotFoundError, match=r"install cogrid with the extra \[checkpoint\]\.$"):
        part(tmp_path / "never", 5, 1)
    assert not (tmp_path / "never").exists()
    assert np.asarray(alone("uneven")["episodes"]).any()
