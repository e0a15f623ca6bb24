"""Checkpoints: a rollout goes on where it stopped, on whatever devices."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import cogrid
from cogrid._scale.checkpoint import CHECKSUMS
from tests.distributed import games
from tests.distributed.support import alone, assert_same
from tests.support import full_disk

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


# Damage


def data(save: Path) -> Path:
    """The largest file of a save: arrays, compressed."""
    return max(save.glob("carry/**/d/*"), key=lambda path: path.stat().st_size)


def flip(path: Path, at: int = -1) -> None:
    content = bytearray(path.read_bytes())
    content[at % len(content)] ^= 1
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def emptied(save: Path) -> None:
    for path in save.rglob("*"):
        if path.is_file():
            path.write_bytes(b"")


DAMAGE: dict[str, Callable[[Path], object]] = {
    "cut": lambda save: cut(data(save)),
    "flipped": lambda save: flip(data(save)),
    "no arrays": lambda save: shutil.rmtree(save / "carry"),
    "no words": lambda save: shutil.rmtree(save / "about"),
    "half of the words": lambda save: (save / "about" / "metadata").write_text("{", encoding="utf-8"),
    "strange words": lambda save: (save / "about" / "metadata").write_text("[1]", encoding="utf-8"),
    "no bytes": emptied,
    "no sums": lambda save: (save / CHECKSUMS).unlink(),
    "half of the sums": lambda save: cut(save / CHECKSUMS),
    "strange sums": lambda save: (save / CHECKSUMS).write_text("[1]", encoding="utf-8"),
    "deep sums": lambda save: (save / CHECKSUMS).write_text("[" * 100_000, encoding="utf-8"),
}


@pytest.fixture(scope="module")
def ten(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with saves of steps 5 and 10, of two devices and of one."""
    folder = tmp_path_factory.mktemp("ten")
    part(folder, 5, 2)
    part(folder, 10, 1)
    return folder


@pytest.mark.parametrize("kind", DAMAGE)
def test_the_save_before_a_damaged_one_is_used(ten, tmp_path, kind) -> None:
    folder = shutil.copytree(ten, tmp_path / "saves")
    DAMAGE[kind](folder / "10")
    with pytest.warns(RuntimeWarning) as told:
        found = part(folder, games.STEPS, 1)
    (sentence,) = (str(one.message) for one in told)
    assert sentence.startswith(f"the save of step 10 in {folder} cannot be used (")
    assert sentence.endswith("), so the rollout resumes from step 5.")
    assert "\n" not in sentence
    assert_same(found, alone("uneven"))
    assert sorted(os.listdir(folder), key=int) == ["15", "20"]
    assert_same(part(folder, games.STEPS, 1), alone("uneven"))  # and all is well again


@pytest.mark.parametrize("kind", [kind for kind in DAMAGE if kind != "no sums"])
def test_one_damaged_save_alone_is_refused_and_kept(ten, tmp_path, kind) -> None:
    folder = shutil.copytree(ten, tmp_path / "saves")
    shutil.rmtree(folder / "5")
    DAMAGE[kind](folder / "10")
    with pytest.raises(ValueError, match=r"^the save of step 10 in .* or name another folder\.$") as caught:
        part(folder, games.STEPS, 1)
    assert f"delete {folder / '10'} to start over" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert os.listdir(folder) == ["10"]


def test_a_save_that_was_stopped_before_its_sums_is_used(ten, tmp_path) -> None:
    folder = shutil.copytree(ten, tmp_path / "saves")
    shutil.rmtree(folder / "5")
    (folder / "10" / CHECKSUMS).unlink()
    assert_same(part(folder, games.STEPS, 1), alone("uneven"))


@pytest.mark.parametrize("step", [5, 10, 12, 15, 20, 25])
def test_an_empty_step_folder_blocks_nothing(ten, tmp_path, step) -> None:
    folder = shutil.copytree(ten, tmp_path / "saves")
    shutil.rmtree(folder / str(step), ignore_errors=True)
    (folder / str(step)).mkdir()
    assert_same(part(folder, games.STEPS, 1), alone("uneven"))
    assert sorted(os.listdir(folder), key=int) == ["15", "20"]


def test_an_empty_step_folder_alone_is_a_beginning(tmp_path) -> None:
    (tmp_path / "15").mkdir()
    assert_same(part(tmp_path, games.STEPS, 1), alone("uneven"))


def test_no_flipped_bit_of_the_arrays_is_played_on(tmp_path) -> None:
    """Some of them would be decompressed to other arrays without a word."""
    part(tmp_path, 5, 1, num_envs=512)
    path = data(tmp_path / "5")
    whole = path.read_bytes()
    for at in range(0, len(whole), len(whole) // 30):
        flip(path, at)
        with pytest.raises(ValueError, match="is not what was saved"):
            part(tmp_path, 5, 1, num_envs=512)
        path.write_bytes(whole)
    part(tmp_path, 5, 1, num_envs=512)


def test_a_file_is_no_folder(tmp_path) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    with pytest.raises(NotADirectoryError, match=r"file' is a file: name a folder\.$"):
        part(tmp_path / "file", 5, 1)
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"key": 3}, "key=[0, 2] instead of [0, 3]"),
        ({"num_envs": 6}, "num_envs=7 instead of 6"),
        ({"policy": games.script}, "policy=None instead of 'script'"),
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


def always(action):
    """Policies of one name that do different things."""
    return lambda params, obs, key: np.full(2, action, np.int32)


def by_params(params, obs, key):
    return params["action"].astype(np.int32)


def played(folder, policy, num_steps=5, **options):
    sizes = {"num_envs": 3, "num_steps": num_steps, "checkpoint_every": 5, "devices": 1}
    return cogrid.rollout(games.room(), policy, games.KEY, checkpoint=folder, **sizes, **options)


def test_another_policy_of_the_same_name_is_refused(tmp_path) -> None:
    played(tmp_path, always(3))
    assert always(3).__qualname__ == always(2).__qualname__
    for other in (always(2), lambda params, obs, key: np.full(2, 3, np.int32)):
        with pytest.raises(ValueError, match=r"holds another rollout, with policy.*name another folder"):
            played(tmp_path, other, 10)
    again = played(tmp_path, always(3), 10)  # the same, made anew
    assert again.sums.episodes.tolist() == [1] * 3


def test_other_params_are_refused(tmp_path) -> None:
    played(tmp_path, by_params, params={"action": np.array([3, 1])})
    for other in ({"action": np.array([3, 2])}, {"action": np.array([3, 1], np.int8)}, None):
        with pytest.raises(ValueError, match=r"params_digest=.* instead of .*name another folder"):
            played(tmp_path, by_params, 10, params=other)
    again = played(tmp_path, by_params, 10, params={"action": np.array([3, 1])})
    assert again.sums.episodes.tolist() == [1] * 3


def test_what_cannot_be_compared_is_named_in_a_warning(tmp_path) -> None:
    lock = threading.Lock()

    def policy(params, obs, key):
        return np.full(2, int(lock.locked()), np.int32)

    played(tmp_path, policy)
    with pytest.warns(UserWarning, match=r"hold a _thread\.lock, which cannot be compared: .*policy_id"):
        played(tmp_path, policy, 10)


def test_a_policy_id_identifies_the_policy_instead(tmp_path) -> None:
    lock = threading.Lock()
    named = {"params": {"action": np.array([3, 1])}, "policy_id": "v1"}
    played(tmp_path, by_params, **named)
    different = {
        "policy='v1' instead of 'v2'": (by_params, {**named, "policy_id": "v2"}),
        "policy='v1' instead of 'by_params'": (by_params, {**named, "policy_id": None}),
        "policy='v1' instead of None": (None, named),
        "params_digest": (by_params, {**named, "params": None}),
    }
    for text, (policy, options) in different.items():
        with pytest.raises(ValueError, match=text):
            played(tmp_path, policy, 10, **options)
    played(tmp_path, lambda params, obs, key: by_params(params, obs, lock and key), 10, **named)


def test_a_name_is_no_policy_id(tmp_path) -> None:
    played(tmp_path, games.script)
    with pytest.raises(ValueError, match=r"policy_digest='.*' instead of None"):
        played(tmp_path, games.script, 10, policy_id="script")


def test_without_orbax(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "orbax.checkpoint", None)
    with pytest.raises(ModuleNotFoundError, match=r"install cogrid with the extra \[checkpoint\]\.$"):
        part(tmp_path / "never", 5, 1)
    assert not (tmp_path / "never").exists()
    assert np.asarray(alone("uneven")["episodes"]).any()


def test_a_full_disk_leaves_the_older_save_and_nothing_else(tmp_path) -> None:
    part(tmp_path, 5, 1)
    with full_disk(64), pytest.raises((OSError, ValueError)):
        part(tmp_path, 10, 1)
    assert os.listdir(tmp_path) == ["5"]
    assert_same(part(tmp_path, games.STEPS, 1), alone("uneven"))
