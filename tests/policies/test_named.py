"""Policies by name, and trained ones from their files."""

from __future__ import annotations

import gc
import io
import json
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cogrid.policies import policy_file
from cogrid.policies.named import Actor, policy_of, usual_policy
from cogrid.policies.policy_file import PolicyFile
from tests.episodes import shared

ROOM = "Overcooked-CrampedRoom-V0"


def saved(path: Path, inputs: int, bias: Any = (0, 0, 0, 0, 50, 0, 0), observation: str = "features") -> str:
    """The file of a small actor that prefers what the last bias says."""
    sizes = ((inputs, 8), (8, 8), (8, 7))
    layers = [(np.ones(size, np.float32) / 100, np.zeros(size[1], np.float32)) for size in sizes]
    layers[2][1][:] = bias
    policy_file.save(path, PolicyFile(ROOM, observation, layers, {"seed": 3}))
    return str(path)


def first(env):
    return env.reset_fn(np.zeros(2, np.uint32))[0]


def test_names() -> None:
    env = shared(ROOM, "numpy")
    assert usual_policy(env.rules) == "scripted"
    assert usual_policy(shared("Arena-V0", "numpy").rules) == "random"
    for name in ("scripted", "random"):
        assert list(policy_of(name, env.rules)(first(env))) == [0, 1]
        assert list(policy_of(name, env.rules, [1])(first(env))) == [1]
    some = [policy_of("random", env.rules, seed=3) for _ in range(2)]
    assert [some[0](first(env)) for _ in range(9)] == [some[1](first(env)) for _ in range(9)]


@pytest.mark.parametrize(("observation", "inputs"), [("features", None), ("lossless", 4 * 5 * 26)])
def test_a_trained_policy_sees_what_it_was_trained_on(tmp_path, observation, inputs) -> None:
    """Also where the environment itself observes something else."""
    env = shared(ROOM, "numpy", observation="none")
    inputs = inputs or len(shared(ROOM, "numpy").feature_names)
    act = policy_of(saved(tmp_path / "a.npz", inputs, observation=observation), env.rules)
    assert act(first(env)) == {0: 4, 1: 4}


def test_a_trained_policy_draws_its_actions(tmp_path) -> None:
    env = shared(ROOM, "numpy")
    file = saved(tmp_path / "a.npz", len(env.feature_names), (1, 0, 0, 0, 0, 0, -50))
    act = policy_of(file, env.rules, [1], seed=1)
    drawn = [act(first(env))[1] for _ in range(300)]
    assert set(drawn) == set(range(6))
    assert 0.2 < drawn.count(0) / 300 < 0.5  # e / (e + 5) = 0.35


def test_mistakes_raise_clear_errors(tmp_path) -> None:
    rules = shared(ROOM, "numpy").rules
    (tmp_path / "text.npz").write_text("no archive", encoding="utf-8")
    (tmp_path / "empty.npz").touch()
    np.savez(tmp_path / "other.npz", weights=np.zeros(3))
    narrow = saved(tmp_path / "narrow.npz", 5)
    for name, words in (
        ("clever", "'clever'"),
        (str(tmp_path / "text.npz"), "text.npz is not a policy file"),
        (str(tmp_path / "empty.npz"), "empty.npz is not a policy file"),
        (str(tmp_path / "other.npz"), "other.npz is not a policy file"),
        (narrow, "has different observations"),
    ):
        with pytest.raises(ValueError, match=words):
            policy_of(name, rules)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("weight_1", np.zeros((9, 8), np.float32)),  # takes more than the layer before it gives
        ("bias_1", np.zeros(9, np.float32)),
        ("weight_1", np.zeros(8, np.float32)),
        ("weight_1", np.full((8, 8), "a")),
    ],
)
def test_layers_that_do_not_fit_are_no_saved(tmp_path, name, array) -> None:
    env = shared(ROOM, "numpy")
    file = saved(tmp_path / "a.npz", len(env.feature_names))
    with np.load(file) as whole:
        arrays = dict(whole)
    assert name in arrays
    np.savez(file, **arrays | {name: array})
    with pytest.raises(ValueError, match="or it is damaged"):
        policy_of(file, env.rules)


def test_a_damaged_archive_is_rejected(tmp_path) -> None:
    env = shared(ROOM, "numpy")
    with np.load(saved(tmp_path / "a.npz", len(env.feature_names))) as whole:
        np.savez_compressed(tmp_path / "b.npz", **dict(whole))
    data = bytearray((tmp_path / "b.npz").read_bytes())
    start = data.index(b"meta.npy") + len("meta.npy") + 20  # behind the header and its extra field
    data[start : start + 8] = bytes([255] * 8)
    (tmp_path / "b.npz").write_bytes(data)
    with pytest.raises(ValueError, match="or it is damaged"):
        policy_of(str(tmp_path / "b.npz"), env.rules)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["weight_0", "bias_2"])
def test_weights_that_are_not_finite_are_no_policy(tmp_path, name, value) -> None:
    """They played action 0 for ever."""
    env = shared(ROOM, "numpy")
    file = saved(tmp_path / "a.npz", len(env.feature_names))
    with np.load(file) as whole:
        arrays = dict(whole)
    arrays[name][..., 0] = value
    np.savez(file, **arrays)
    with pytest.raises(ValueError, match=r"a\.npz holds weights that are NaN or infinite"):
        policy_of(file, env.rules)


def test_weights_whose_sums_are_not_finite_raise_an_error_in_play(tmp_path) -> None:
    env = shared(ROOM, "numpy")
    file = saved(tmp_path / "a.npz", len(env.feature_names), (1e38, 0, 0, 0, 0, 0, 0))
    with np.load(file) as whole:
        arrays = dict(whole)
    arrays["bias_1"][:] = 5  # so that all its units are near 1
    arrays["weight_2"][:] = 3e38
    np.savez(file, **arrays)
    act = policy_of(file, env.rules)
    with pytest.raises(ValueError, match=r"a\.npz gives logits that are not finite"):
        act(first(env))


@pytest.mark.parametrize("kind", ["bomb", "shape", "deep", "names", "array"])
def test_hostile_archives_are_no_saved(tmp_path, kind, monkeypatch) -> None:
    env = shared(ROOM, "numpy")
    file = Path(saved(tmp_path / "a.npz", len(env.feature_names)))
    with np.load(file) as whole:
        arrays = dict(whole)
    weight = "weight_0"
    if kind == "bomb":  # small on the disk
        monkeypatch.setattr("cogrid.policies.policy_file.MAX_BYTES", 2**20)
        np.savez_compressed(file, **arrays | {weight: np.zeros((len(arrays[weight]), 20_000), np.float32)})
        assert file.stat().st_size < 100_000
        monkeypatch.setattr("cogrid.policies.policy_file._fit", lambda *_: pytest.fail("it was unpacked"))
    elif kind == "shape":  # a header that claims more than there is
        header = io.BytesIO()
        claim = {"descr": "<f4", "fortran_order": False, "shape": (2, 10**15)}
        np.lib.format.write_array_header_1_0(header, claim)
        np.savez(file, **{name: array for name, array in arrays.items() if name != weight})
        with zipfile.ZipFile(file, "a") as archive:
            archive.writestr(f"{weight}.npy", header.getvalue())
    elif kind == "deep":
        np.savez(file, **arrays | {"meta": np.array("[" * 100_000)})
    elif kind == "names":
        np.savez(file, **arrays | {"weight_" + "9" * 5000: np.zeros(1)})
    else:
        with file.open("wb") as plain:
            np.save(plain, np.zeros(3))
    with pytest.raises(ValueError, match=r"a\.npz is not a policy file of version 1 or 2, or it is damaged"):
        policy_of(str(file), env.rules)


def test_a_header_that_python_cannot_read_is_rejected(tmp_path) -> None:
    """NumPy raises a tokenize.TokenError for it."""
    env = shared(ROOM, "numpy")
    file = Path(saved(tmp_path / "a.npz", len(env.feature_names)))
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data.replace(b"'descr': ", b"'descr':["))
    with pytest.raises(ValueError, match="or it is damaged"):
        policy_of(str(file), env.rules)


def test_a_file_that_is_no_archive_is_closed(tmp_path) -> None:
    env = shared(ROOM, "numpy")
    file = Path(saved(tmp_path / "a.npz", len(env.feature_names)))
    file.write_bytes(file.read_bytes()[:-30])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(ValueError, match="or it is damaged"):
            policy_of(str(file), env.rules)
        gc.collect()
    assert not caught


def remembering(path: Path, inputs: int) -> str:
    """The file of an actor that counts its steps: it takes action 4 in the first two, and then action 6."""
    first = (np.zeros((inputs, 3), np.float32), np.zeros(3, np.float32))
    # size 1: the reset gate is open, the update gate half open, the candidate 1: 0, 1/2, 3/4, 7/8 …
    into = (np.zeros((3, 3), np.float32), np.array([50, 0, 50], np.float32))
    onwards = (np.zeros((1, 3), np.float32), np.zeros(3, np.float32))
    last = (np.zeros((1, 7), np.float32), np.zeros(7, np.float32))
    last[0][0, 6], last[1][4], last[1][6] = 800, 50, 50 - 800 * 0.8
    policy_file.save(path, PolicyFile(ROOM, "features", [first, last], {}, [into, onwards]))
    return str(path)


def test_a_policy_remembers_and_forgets_with_the_episode(tmp_path) -> None:
    env = shared(ROOM, "numpy")
    act = policy_of(remembering(tmp_path / "a.npz", len(env.feature_names)), env.rules, [1])
    for _ in range(2):
        state, played = first(env), []
        for _ in range(4):
            played.append(act(state)[1])
            state = env.step_fn(state, np.full(2, 6))[0]
        assert played == [4, 4, 6, 6]


def test_environments_and_seats_are_remembered_apart(tmp_path) -> None:
    """The second environment begins anew after two steps; agent 0 of the first one has no seat at first."""
    env, draw = shared(ROOM, "numpy"), np.random.default_rng(0)
    actor = Actor(remembering(tmp_path / "a.npz", len(env.feature_names)), env.rules)
    state = env.reset_fn(np.zeros((2, 2), np.uint32))[0]
    seats = np.array([[False, True], [True, True]])
    played = []
    for step in range(4):
        if step == 2:
            state, seats = env.replace(state, time=[2, 0]), np.ones((2, 2), bool)
        played.append(actor.actions(state, seats, draw).tolist())
        state = env.step_fn(state, np.full((2, 2), 6))[0]
    assert played == [[4, 4, 4], [4, 4, 4], [4, 6, 4, 4], [4, 6, 4, 4]]


def test_a_recurrent_file_is_of_version_2_and_others_stay_as_they_were(tmp_path) -> None:
    """A reader that knows no memory must not play without it."""
    for file, version, arrays in (
        (saved(tmp_path / "a.npz", 5), 1, {f"{name}_{k}" for name in ("weight", "bias") for k in range(3)}),
        (remembering(tmp_path / "b.npz", 5), 2, None),
    ):
        with np.load(file) as whole:
            assert json.loads(str(whole["meta"]))["version"] == version
            assert arrays in (None, set(whole.files) - {"meta"})
    assert policy_file.load(tmp_path / "a.npz").size == 0
    assert policy_file.load(tmp_path / "b.npz").size == 1


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("memory_weight_0", np.zeros((4, 3), np.float32)),  # takes more than the layer before it gives
        ("memory_weight_0", np.zeros((3, 4), np.float32)),
        ("memory_weight_1", np.zeros((2, 3), np.float32)),
        ("memory_bias_1", np.zeros(4, np.float32)),
        ("memory_bias_0", np.full(3, "a")),
        ("weight_1", np.zeros((3, 7), np.float32)),  # takes what the first layer gives, not the memory
        ("memory_weight_1", None),
        ("meta", np.array('{"version": 1, "id": "a", "observation": "features", "about": {}}')),
    ],
)
def test_a_memory_that_does_not_fit_is_no_policy(tmp_path, name, array) -> None:
    file = remembering(tmp_path / "a.npz", 5)
    with np.load(file) as whole:
        arrays = dict(whole)
    assert name in arrays
    arrays = {key: value for key, value in (arrays | {name: array}).items() if value is not None}
    np.savez(file, **arrays)
    with pytest.raises(ValueError, match="or it is damaged"):
        policy_file.load(Path(file))


def test_a_memory_that_is_not_finite_is_no_policy(tmp_path) -> None:
    file = remembering(tmp_path / "a.npz", 5)
    with np.load(file) as whole:
        arrays = dict(whole)
    arrays["memory_weight_1"][:] = np.nan
    np.savez(file, **arrays)
    with pytest.raises(ValueError, match="NaN or infinite"):
        policy_file.load(Path(file))


def test_a_greedy_policy_takes_its_most_likely_action(tmp_path) -> None:
    env = shared(ROOM, "numpy")
    file = saved(tmp_path / "a.npz", len(env.feature_names), (0, 0, 0, 0.2, 0, 0, 0))
    draws, greedy = (policy_of(f"{how}{file}", env.rules, [1], seed=1) for how in ("", "greedy:"))
    assert len({draws(first(env))[1] for _ in range(50)}) > 3
    assert {greedy(first(env))[1] for _ in range(50)} == {3}
    by_name = policy_of("greedy:Overcooked-CrampedRoom-5", env.rules)
    assert by_name(first(env)) == by_name(first(env))


@pytest.mark.parametrize("name", ["greedy:random", "greedy:", "greedy:greedy:Overcooked-CrampedRoom-5"])
def test_only_a_trained_policy_can_be_greedy(name) -> None:
    with pytest.raises(
        ValueError, match="greedy: before one of the last three takes its most likely actions"
    ):
        policy_of(name, shared(ROOM, "numpy").rules)
