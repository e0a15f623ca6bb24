"""The native backend in whole environments: both APIs, automatic resets, shadows, copies, changed states."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import cogrid
from cogrid.backend import rng
from cogrid.backend.array import get_backend
from cogrid.backend.backends import BACKENDS, installed
from tests.support import assert_same, keys

ROOM = "Overcooked-CrampedRoom-V0"
OPTIONS = {"max_steps": 23, "random_start": True, "shaping": 0.5}


def test_an_episode_of_pettingzoo() -> None:
    ours, theirs = (cogrid.make(ROOM, backend, infos=True, **OPTIONS) for backend in ("numpy", "native"))
    np.testing.assert_equal(theirs.reset(seed=3), ours.reset(seed=3))
    draw = np.random.default_rng(0)
    while ours.agents:
        actions = dict(enumerate(draw.integers(0, 7, 2).tolist()))
        np.testing.assert_equal(theirs.step(actions), ours.step(actions))
    assert not theirs.agents
    assert theirs.render() == ours.render()


@pytest.mark.parametrize("autoreset", ["same-step", "next-step"])
@pytest.mark.parametrize("pooled", [False, True])
def test_a_batch_with_automatic_reset(autoreset: str, pooled: bool) -> None:
    envs = [
        cogrid.make_vec(ROOM, 6, backend=name, autoreset=autoreset, infos=True, any_board=pooled, **OPTIONS)
        for name in ("numpy", "native")
    ]
    board = cogrid.make(ROOM, any_board=True).encode_board("CrampedRoom")
    options = {"pool": np.stack([board, board[:, ::-1]])} if pooled else None
    mine, yours = (env.reset(seed=1, options=options) for env in envs)
    np.testing.assert_equal(yours, mine)
    draw, ends = np.random.default_rng(0), 0
    for _ in range(60):
        actions = draw.integers(0, 7, (6, 2))
        mine, yours = (env.step(actions) for env in envs)
        np.testing.assert_equal(yours, mine)
        assert_same(envs[0].env_state, envs[1].env_state)
        ends += int((mine[2] | mine[3]).sum())
    assert ends > 6
    again = pickle.loads(pickle.dumps(envs[1]))
    np.testing.assert_equal(again.step(actions), envs[0].step(actions))


def test_a_shadow_on_numpy() -> None:
    env = cogrid.make(ROOM, "native", shadow=True, infos=True, **OPTIONS)
    for seed in range(2):
        env.reset(seed=seed)
        while env.agents:
            env.step(dict.fromkeys(env.agents, 4))
    report = env.shadow
    assert report is not None
    assert (report.backend, report.shadow, report.mismatches) == ("native", "numpy", 0)
    assert report.comparisons == 2 * 24


def test_states_are_changed_copied_and_kept() -> None:
    env = cogrid.make(ROOM, "native", **OPTIONS)
    state, _ = env.reset_fn(rng.key(0))
    changed = env.replace(state, agent_pos=[[1, 1], [2, 1]], shaping_weight=0.25)
    after = [env.step_fn(changed, np.array([action, 6]))[0] for action in range(7)]
    assert len({tuple(one.pos.tolist() + one.pose.tolist()) for one in after}) > 2
    assert_same(copy.deepcopy(after[0]), after[0])
    assert all(type(value) is np.ndarray for value in after[0].stored().values())
    plain = cogrid.make(ROOM, **OPTIONS)
    again = plain.replace(plain.reset_fn(rng.key(0))[0], agent_pos=[[1, 1], [2, 1]], shaping_weight=0.25)
    for action, one in enumerate(after):
        assert_same(plain.step_fn(again, np.array([action, 6]))[0], one)


def test_features_of_an_author_with_constants_at_traced_places() -> None:
    env = cogrid.make("Overcooked-Generated-V0", "native")
    plain = cogrid.make("Overcooked-Generated-V0")
    assert_same(plain.reset_fn(keys(0, 4))[0], env.reset_fn(keys(0, 4))[0])


def test_it_counts_as_installed_where_there_is_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "native" in installed()
    monkeypatch.setattr("cogrid.backend.backends.which", lambda name: None)
    monkeypatch.setattr("cogrid.backend.backends.find_spec", lambda name: None)
    assert installed() == ("numpy",)
    assert BACKENDS["native"].compilers


def test_keys_are_split_while_a_function_is_recorded() -> None:
    split = get_backend("native").compiled(lambda key: rng.split(key, 3))
    np.testing.assert_array_equal(split(keys(0, 4)), rng.split(keys(0, 4), 3))
