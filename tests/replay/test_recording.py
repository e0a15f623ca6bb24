"""Replays: what was recorded on one backend plays on both, and what is wrong with a file is told."""

from __future__ import annotations

import copy
import dataclasses
import gzip
import json
import os
import pickle

import numpy as np
import pytest
from pettingzoo.test import parallel_api_test

import cogrid
from cogrid._core.author.rewards import Reward
from cogrid._core.compile.spec import Spec
from cogrid.backend import rng
from cogrid.envs import registry
from cogrid.replay.frames import WIDTH
from cogrid.replay.recording import Mismatch, Recorder, Replay, load_folder, record
from tests.doors import Doors, hall
from tests.episodes import jitted, random_actions, shared
from tests.support import BACKENDS, INTERACT, LEFT, NOOP, assert_same, busy_actions, keys

ROOM, ARENA = "Overcooked-CrampedRoom-V0", "Arena-V0"
BOARD = """
    XPXTX
    O1  X
    X  2D
    XXSXX
"""
CASES = {
    "room": (ROOM, {"shaping": 0.3, "max_steps": 40}),
    "layouts": (
        ROOM,
        {
            "layout": ["CrampedRoom", BOARD],
            "random_start": True,
            "recipes": [("onion,onion,tomato", 30.0, 15)],
            "shaping": 0.3,
            "max_steps": 40,
        },
    ),
    "arena": (ARENA, {"map_size": 6, "num_agents": 3, "max_steps": 40}),
}
each_case = pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=pytest.mark.xdist_group(f"replay:{case}")) for case in ("layouts", "arena")],
)
each_backend = pytest.mark.parametrize("backend", BACKENDS)


def made(case: str, backend: str, **adapter) -> cogrid.CoGridEnv:
    id, options = CASES[case]
    return cogrid.make(id, backend, **options, **adapter)


def played(recorder: Recorder, seed: int, steps: int = 100) -> Recorder:
    """The recorder, after an episode or its first steps."""
    recorder.reset(seed=seed)
    return played_on(recorder, seed, steps)


def played_on(recorder: Recorder, seed: int, steps: int = 100) -> Recorder:
    actions = random_actions(recorder, seed)
    for _ in range(steps):
        if recorder.agents:
            recorder.step(next(actions))
    return recorder


def room_replay(steps: int = 100) -> Replay:
    return played(Recorder(made("room", "numpy")), 3, steps).replay()


# Playing


@each_case
def test_recorded_on_either_backend_plays_on_both(case, tmp_path) -> None:
    replays = [played(Recorder(made(case, backend)), 5).replay({"names": ["a", "b"]}) for backend in BACKENDS]
    assert len(set(map(repr, replays))) == 1  # the same file, whoever records
    path = tmp_path / "episode.json.gz"
    replays[-1].save(path)
    loaded = Replay.load(path)
    assert loaded == replays[0]
    assert (loaded.id, loaded.seed, loaded.metadata) == (CASES[case][0], 5, {"names": ["a", "b"]})
    assert len(loaded) == 40
    for backend in BACKENDS:
        loaded.verify(backend)


@each_backend
@each_case
def test_frames_are_those_of_the_environment(backend, case) -> None:
    env = made(case, backend)
    recorder = played(Recorder(env), 8, 20)
    frames = list(recorder.replay().play(backend))
    assert len(frames) == 21
    assert_same(frames[-1].state, env.env_state)
    state, obs = env.rules.backend.compiled(env.reset_fn)(rng.key(8))
    assert_same(frames[0].state, state)
    np.testing.assert_array_equal(frames[0].obs, obs)
    for joint, frame in zip(recorder.replay().actions, frames[1:], strict=True):
        state, obs, rewards, done, _ = jitted(env)(state, joint)
        np.testing.assert_array_equal(frame.obs, obs)
        np.testing.assert_array_equal(frame.rewards, rewards)
        assert bool(frame.done) == bool(done)


@each_backend
def test_from_the_middle_of_an_episode(backend) -> None:
    env = made("layouts", backend)
    played(Recorder(env), 2, 7)
    late = played_on(Recorder(env), 4, 9).replay()  # wrapped when the episode was on
    assert (late.seed, len(late), late.start["state"]["time"]) == (None, 9, 7)
    other = Recorder(made("layouts", "numpy"))
    other.set_state(late.start)
    for replay in (late, played_on(other, 4, 9).replay()):
        assert replay == late
        for name in BACKENDS:
            replay.verify(name)


@each_backend
def test_agents_that_end_before_the_others(backend) -> None:
    env = cogrid.CoGridEnv(hall("#EE#\n#12#\n####", max_steps=5), backend)
    recorder = Recorder(env)
    recorder.reset(seed=0)
    recorder.step({0: INTERACT, 1: NOOP})
    recorder.step({1: NOOP})
    recorder.step({1: INTERACT})
    assert not recorder.agents
    replay = recorder.replay()
    assert (replay.id, replay.tape) == (None, "466664")
    for name in BACKENDS:
        replay.verify(name, env=env)
    assert replay == record(env, replay.actions, 0)
    with pytest.raises(ValueError, match="without an id: give its environment with env="):
        replay.verify()


@each_backend
def test_agents_that_end_under_a_negative_weight(backend) -> None:
    """Points of 0 times -1 are -0, which is not what the recorder saw of who has ended."""
    spec = Spec(Hints(), "#EE#\n#12#\n####", observation="lossless", shaping=-1.0)
    recorder = Recorder(cogrid.CoGridEnv(spec, backend))
    recorder.reset(seed=0)
    recorder.step({0: INTERACT, 1: NOOP})
    recorder.step({1: NOOP})
    recorder.replay().verify(env=recorder.env)


@dataclasses.dataclass(frozen=True)
class Hints(Doors):
    """Doors, for whose use there is a hint alone."""

    def rewards(self):
        return (Reward("hint", lambda event: event.verb == "leave", shaping=True),)


@each_backend
def test_copies_and_pickles_go_on_recording(backend) -> None:
    env = cogrid.CoGridEnv(hall("#EE#\n#12#\n####", max_steps=5), backend)
    recorder = Recorder(env)
    recorder.reset(seed=0)
    recorder.step({0: INTERACT, 1: NOOP})
    others = [copy.deepcopy(recorder), pickle.loads(pickle.dumps(recorder))]
    for one in (recorder, *others):
        one.step({1: NOOP})
        assert len(one.replay()) == 2
        assert one.replay() == recorder.replay()
    recorder.step({1: INTERACT})
    assert others[0].agents == [1]  # a copy is on its own
    assert copy.deepcopy(recorder).replay() == recorder.replay()


def test_without_observations() -> None:
    env = cogrid.make(ROOM, observation="none", max_steps=3)
    replay = played(Recorder(env), 0).replay()
    assert (len(replay), next(replay.play()).obs.shape) == (3, (2, 0))
    replay.verify()


def test_conventions_stay_pettingzoos() -> None:
    recorder = Recorder(made("room", "numpy", infos=True))
    parallel_api_test(recorder, num_cycles=20)
    recorder.reset(seed=1)
    tape = recorder.replay()
    with pytest.raises(ValueError, match="out of range"):
        recorder.step({0: 9, 1: 0})
    assert recorder.replay() == tape  # what was refused is not recorded
    assert recorder.spec is recorder.env.spec


@each_backend
def test_a_batch_gives_its_environments(backend) -> None:
    env = made("layouts", backend)
    batch = env.rules.backend.key(keys(3, 4))
    tape = busy_actions(env, np.random.default_rng(0), 50, 4)
    replay = record(env, tape, batch, index=2, metadata={"score": 1.5})
    numpy = made("layouts", "numpy")
    state, obs = numpy.reset_fn(keys(3, 4))
    for joints, frame in zip(tape, replay.play("numpy"), strict=False):
        np.testing.assert_array_equal(frame.obs, obs[2])
        state, obs, *_ = numpy.step_fn(state, joints)
    alone = record(env, tape[:, 2], batch[2])
    assert len(replay) == 40  # to the end of the episode
    assert dataclasses.replace(replay, metadata={}) == alone
    states, _ = numpy.reset_fn(keys(3, 4))
    assert record(env, tape, states, index=2) == alone  # a state of the other backend, too
    for name in BACKENDS:
        replay.verify(name)


@each_backend
def test_a_policy_is_recorded(backend) -> None:
    env, asked = made("room", backend), []

    def policy(obs):
        asked.append(obs.shape)
        return env.rules.xp.asarray([len(asked) % 4, 99])  # out of range is a noop

    replay = record(env, policy, 11)
    assert (replay.seed, len(replay), len(asked)) == (11, 40, 40)
    assert set(asked) == {(2, *env.observation_space(0).shape)}
    assert replay.tape[:8] == "16263606"
    replay.verify("numpy")


# What makes the environment again


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_steps": 7, "shaping": 0.3, "action_set": "rotation"},
        {"layout": "CoordinationRing"},
        {"layout": ["CrampedRoom", BOARD], "orders": ["onion", "tomato,tomato"], "random_start": True},
        {"recipes": [("onion", None, 5)], "bonus_orders": [("onion",)], "cook_start": "interact"},
    ],
)
def test_recipes_of_kitchens(options) -> None:
    spec = shared(ROOM, "numpy").spec.override(**options)
    id, overrides = registry.recipe(spec)
    assert registry.make(id, **json.loads(json.dumps(overrides))).spec == spec
    assert len(overrides) <= len(options)


def test_a_board_of_your_own_keeps_the_id_that_was_asked_for() -> None:
    ring = "Overcooked-CoordinationRing-V0"
    for id in (ROOM, ring):
        env = cogrid.make(id, layout=BOARD)
        assert played(Recorder(env), 1, 2).replay().id == id
        assert record(env, np.zeros((2, 2), int), 0).id == id
        assert copy.deepcopy(played(Recorder(env), 1, 2)).replay().id == id
    assert record(cogrid.make(ROOM, layout="CoordinationRing"), np.zeros((2, 2), int), 0).id == ring


def test_recipes_of_arenas() -> None:
    spec = shared(ARENA, "numpy").spec
    assert registry.recipe(spec) == (ARENA, {})
    assert registry.recipe(spec.override(map_size=6)) == (ARENA, {"map_size": 6})


def test_a_spec_without_an_id_has_no_recipe() -> None:
    assert registry.recipe(hall("#E#\n#1#\n###", 1)) is None
    named = cogrid.make(ROOM, layout=BOARD).spec
    named = dataclasses.replace(named, layout=(dataclasses.replace(named.layout[0], name="mine"),))
    assert registry.recipe(named) is None  # its layout has a name that text cannot carry


# Files


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_files(name, tmp_path) -> None:
    replay, path = room_replay(), tmp_path / name
    replay.save(path)
    first = path.read_bytes()
    assert Replay.load(path) == Replay.load(str(path)) == replay
    replay.save(path)
    assert path.read_bytes() == first
    assert [one.name for one in tmp_path.iterdir()] == [name]
    content = json.loads(gzip.decompress(first) if name.endswith(".gz") else first)
    assert (content["format"], content["version"], content["made_by"]) == (
        "cogrid replay",
        1,
        cogrid.__version__,
    )


def test_a_long_episode_stays_small(tmp_path) -> None:
    env = cogrid.make(ROOM, max_steps=1000)
    tape = busy_actions(env, np.random.default_rng(0), 1000, 1)[:, 0]
    record(env, tape, 0).save(tmp_path / "long.json")
    assert (tmp_path / "long.json").stat().st_size < 1000 * 6 + 1500  # two digits of actions, four of sums


def test_a_failed_save_leaves_what_was_there(tmp_path, monkeypatch) -> None:
    path = tmp_path / "a.json"
    path.write_text("before", encoding="utf-8")

    def refuse(*_):
        raise OSError("no space")

    monkeypatch.setattr("os.replace", refuse)
    with pytest.raises(OSError, match="no space"):
        room_replay(2).save(path)
    assert path.read_text(encoding="utf-8") == "before"
    assert [one.name for one in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "is not a replay"),
        ({"version": 2}, "has version 2, but this cogrid reads version 1"),
        ({"tape": None}, "tape is None"),
        ({"tape": "0123"}, "not have one digit per agent for 5 steps"),
        ({"tape": "012345678-"}, "not have one digit per agent for 5 steps"),
        ({"digests": "abc"}, "not have one digit per agent"),
        ({"start": {}}, "start is not a snapshot"),
        ({"made_by": "0.1\n"}, "made_by is"),
        ({"made_by": "1" * 100}, "made_by is"),
        ({"more": 1}, "its fields are not id, overrides"),
    ],
)
def test_damaged_fields(change, message, tmp_path) -> None:
    path = tmp_path / "a.json"
    room_replay(5).save(path)
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | change), encoding="utf-8")
    with pytest.raises(ValueError, match=message) as told:
        Replay.load(path)
    assert str(path) in str(told.value)


FOREIGN = {
    "empty": b"",
    "list": b"[1]",
    "half": b"{",
    "bytes": b"\xff\0",
    "cut": gzip.compress(b"{}")[:-6],
    "number": gzip.compress(b"3"),
}


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
@pytest.mark.parametrize("kind", FOREIGN)
def test_foreign_files(name, kind, tmp_path) -> None:
    (tmp_path / name).write_bytes(FOREIGN[kind])
    with pytest.raises(ValueError, match="is not a replay"):
        Replay.load(tmp_path / name)


# What differs


def test_the_first_step_that_differs_is_named() -> None:
    replay, at = room_replay(), 24
    wrong = replay.digests[at * 4 : at * 4 + 4][::-1]
    digests = replay.digests[: at * 4] + wrong + replay.digests[at * 4 + 4 :]
    assert digests != replay.digests
    frames = dataclasses.replace(replay, digests=digests).play()
    for _ in range(at):
        next(frames)
    with pytest.raises(Mismatch, match="differs after step 24 of 40 on numpy"):
        next(frames)


def test_other_actions_are_detected() -> None:
    tape = np.full((6, 2), NOOP)
    ours, theirs = (record(made("room", "numpy"), tape, 0) for tape[3, 1] in (LEFT, NOOP))
    with pytest.raises(Mismatch, match="differs after step 4 of 6"):
        dataclasses.replace(ours, tape=theirs.tape).verify()


def test_actions_that_change_nothing_are_detected_by_the_checksum() -> None:
    env = made("room", "numpy")
    replay = record(env, np.full((4, 2), NOOP), 0)
    changed = dataclasses.replace(replay, tape="5" + replay.tape[1:])  # toggle does nothing in a kitchen
    with pytest.raises(Mismatch, match="every step agrees on numpy, but not the checksum"):
        changed.verify()


def test_another_start_or_seed_is_detected() -> None:
    replay = room_replay(4)
    moved = replay.start | {"state": replay.start["state"] | {"time": 1}}
    with pytest.raises(Mismatch, match="differs at its start"):
        dataclasses.replace(replay, start=moved).verify()
    random = record(shared(ARENA, "numpy"), np.zeros((2, 4), int), 3)
    with pytest.raises(Mismatch, match="does not start as seed 4 does on numpy"):
        dataclasses.replace(random, seed=4).verify()
    with pytest.raises(Mismatch, match="env= is another world, or the world has changed since"):
        replay.verify(env=shared(ROOM, "numpy"))
    with pytest.raises(Mismatch, match=r"^the world has changed since cogrid .* recorded this replay"):
        dataclasses.replace(replay, overrides={**replay.overrides, "max_steps": 399}).verify()


def test_mistakes_raise_clear_errors() -> None:
    env = shared(ROOM, "numpy")
    for actions in (np.zeros((3, 3), int), np.zeros((3, 2)), np.zeros(2, int)):
        with pytest.raises(ValueError, match=r"integers of shape \(steps, 2\)"):
            record(env, actions, 0)
    with pytest.raises(ValueError, match=r"integers of shape \(2\)"):
        record(env, lambda obs: [1], 0)
    with pytest.raises(ValueError, match="give index="):
        record(env, np.zeros((3, 2), int), keys(0, 4))
    states, _ = env.reset_fn(keys(0, 4))
    with pytest.raises(ValueError, match=r"not from states of shape \(4,\): give index="):
        record(env, np.zeros((3, 2), int), states)
    with pytest.raises(ValueError, match="index=4 is not one of the 4 environments"):
        record(env, np.zeros((3, 4, 2), int), states, index=4)
    with pytest.raises(TypeError, match="a batch of states or keys, not 7"):
        record(env, np.zeros((3, 1, 2), int), 7, index=0)
    with pytest.raises(TypeError, match="is not made of plain JSON values"):
        record(env, np.zeros((3, 2), int), 0, metadata={"score": np.float32(1)})
    with pytest.raises(ValueError, match="nothing to replay before reset"):
        Recorder(cogrid.make(ROOM)).replay()


# Games as data


@pytest.mark.parametrize("backend", BACKENDS)
def test_arrays_are_the_episode(backend) -> None:
    env = shared(ROOM, backend, max_steps=12)
    tape = np.random.default_rng(0).integers(0, 7, (12, 2))
    replay = record(env, tape, 3)
    arrays = replay.arrays(backend)
    np.testing.assert_array_equal(arrays["actions"], tape)
    state, obs = env.reset_fn(rng.key(3))
    np.testing.assert_array_equal(arrays["obs"][0], obs)
    for number, joint in enumerate(tape):
        state, obs, rewards, done, _ = env.step_fn(state, joint.astype(np.int32))
        np.testing.assert_array_equal(arrays["obs"][number + 1], obs)
        np.testing.assert_array_equal(arrays["rewards"][number], rewards)
        assert arrays["done"][number] == bool(done) == (number == 11)
    assert {name: array.dtype for name, array in arrays.items()} == {
        "obs": np.float32,
        "actions": np.int32,
        "rewards": np.float32,
        "done": bool,
    }
    assert record(env, tape[:0], 3).arrays()["rewards"].shape == (0, 2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_another_observation_than_recorded(backend) -> None:
    """It is still checked against what was recorded, and equals what an environment with it shows."""
    env, planes = (
        shared(ROOM, backend, max_steps=6),
        shared(ROOM, backend, max_steps=6, observation="lossless"),
    )
    tape = np.random.default_rng(1).integers(0, 7, (6, 2))
    replay, frames = record(env, tape, 3), list(record(planes, tape, 3).play(backend))
    for frame, expected in zip(replay.play(backend, observation="lossless"), frames, strict=True):
        np.testing.assert_array_equal(frame.obs, expected.obs)
        np.testing.assert_array_equal(planes.observe(expected.state), expected.obs)
    assert [None if f.actions is None else f.actions.tolist() for f in frames] == [None, *tape.tolist()]
    damaged = dataclasses.replace(replay, tape="6" * 12)
    with pytest.raises(Mismatch):
        list(damaged.play(backend, observation="lossless"))


def test_digests_that_are_cut_off() -> None:
    content = json.loads(room_replay(1).text())
    content["digests"] = content["digests"][: 3 * WIDTH // 2]
    content["tape"] = content["tape"][:1]
    with pytest.raises(ValueError, match="not have one digit per agent"):
        Replay.parse(json.dumps(content))


def test_a_folder_of_replays(tmp_path) -> None:
    replay = record(shared(ROOM, "numpy"), np.zeros((2, 2), int), 0)
    (tmp_path / "b").mkdir()
    copies = ("e.replay (1).json", "e.replay(2).json", "e.replay-3.json", "e.replay.json (4).gz")
    names = ("a.replay.json", "b/1.replay.json.gz", *copies)  # browsers name copies in their own ways
    for name in names:
        replay.save(tmp_path / name)
    for name in ("results.json", "replay.json", "a.replay.json.txt"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    found = list(load_folder(tmp_path))
    assert [path.relative_to(tmp_path).as_posix() for path, _ in found] == sorted(names)
    assert all(one == replay for _, one in found)
    (tmp_path / "c.replay.json").write_text("{}", encoding="utf-8")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "d.replay.json")  # nobody writes into it
    with pytest.warns(UserWarning, match=r"skipped: .*c.replay.json is not a replay"):
        assert list(load_folder(tmp_path)) == found
    with pytest.raises(ValueError, match="is not a folder"):
        next(load_folder(tmp_path / "none"))
