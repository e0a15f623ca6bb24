"""Profiling: `COGRID_PROFILING=1` times the phases of a NumPy step and changes nothing else."""

from __future__ import annotations

import copy
import functools
import itertools
import pickle
from collections import Counter
from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid._core import profiling
from cogrid._core.step import functions, step
from tests.doors import hall
from tests.episodes import digest, play, random_actions
from tests.support import BACKENDS, IDS, NOOP, assert_same, keys

ROOM, VARIABLE = "Overcooked-CrampedRoom-V0", "COGRID_PROFILING"
BOARD = "#E###\n#1 2#\n#####"
PHASES = ["interact", "move", "tick", "reward", "observe", "finish"]


@pytest.fixture(autouse=True)
def unset(monkeypatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def profiled(monkeypatch, id: str, **options: Any) -> cogrid.CoGridEnv:
    """An environment made under the variable, which is gone again afterwards."""
    with monkeypatch.context() as patch:
        patch.setenv(VARIABLE, "1")
        return cogrid.make(id, **options)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("value", [None, "", "0"])
def test_off_is_the_very_same_function(monkeypatch, backend, value) -> None:
    if value is not None:
        monkeypatch.setenv(VARIABLE, value)
    env = cogrid.make(ROOM, backend=backend)
    assert env.step_timing is None
    assert env._step is env.rules.backend.compiled(functions(env.rules, False).step)
    env.reset(seed=0)
    env.step({0: NOOP, 1: NOOP})
    assert env.step_timing is None


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("value", ["2", "yes", "on", "true", " 1"])
def test_other_values_are_refused(monkeypatch, backend, value) -> None:
    monkeypatch.setenv(VARIABLE, value)
    with pytest.raises(ValueError, match=f"COGRID_PROFILING='{value}' is unknown") as caught:
        cogrid.make(ROOM, backend=backend)
    assert str(caught.value).count(".") == 1
    assert str(caught.value).endswith(".")


def test_nanoseconds_of_every_phase(monkeypatch) -> None:
    env = profiled(monkeypatch, ROOM)
    assert env.step_timing == dict.fromkeys(PHASES, 0)
    env.reset(seed=0)
    for actions in itertools.islice(random_actions(env, 0), 5):
        env.step(actions)
        timing = env.step_timing
        assert list(timing) == PHASES
        assert all(type(nanoseconds) is int and nanoseconds >= 0 for nanoseconds in timing.values())
    assert sum(timing.values()) > 0
    timing.clear()  # the caller's own
    assert list(env.step_timing) == PHASES


def test_each_environment_has_its_own_times(monkeypatch) -> None:
    env, idle = profiled(monkeypatch, ROOM), profiled(monkeypatch, ROOM)
    env.reset(seed=0)
    idle.reset(seed=0)
    env.step({0: NOOP, 1: NOOP})
    assert any(env.step_timing.values())
    assert not any(idle.step_timing.values())


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("make", [cogrid.make, functools.partial(cogrid.make_vec, num_envs=2)])
def test_only_numpy_has_phases(monkeypatch, backend, make) -> None:
    assert make(ROOM, backend=backend).step_timing is None
    with monkeypatch.context() as patch:
        patch.setenv(VARIABLE, "1")
        env = make(ROOM, backend=backend)
    if backend == "numpy":
        assert env.step_timing == dict.fromkeys(PHASES, 0)
        return
    with pytest.raises(ValueError, match=r"a compiled step has no phases .* `python -m bench profile`"):
        env.step_timing  # noqa: B018  # reading it raises


@pytest.mark.parametrize("autoreset", ["same-step", "next-step"])
def test_a_vector_tells_its_phases_and_plays_the_same_game(monkeypatch, autoreset) -> None:
    plain = cogrid.make_vec(ROOM, 3, autoreset=autoreset, max_steps=4)
    monkeypatch.setenv(VARIABLE, "1")
    timed = cogrid.make_vec(ROOM, 3, autoreset=autoreset, max_steps=4)
    for env in (plain, timed):
        env.reset(seed=0)
        for action in range(6):
            env.step(np.full((3, 2), action))
    assert_same(timed.env_state, plain.env_state)
    assert plain.step_timing is None
    assert list(timed.step_timing) == PHASES
    assert sum(timed.step_timing.values()) > 0


def test_the_variable_is_read_once(monkeypatch) -> None:
    off, on = cogrid.make(ROOM), profiled(monkeypatch, ROOM)
    monkeypatch.setenv(VARIABLE, "nonsense")
    for env in (off, on):
        env.reset(seed=0)
        env.step({0: NOOP, 1: NOOP})
    assert off.step_timing is None
    assert any(on.step_timing.values())


def test_pure_functions_stay_as_they_are(monkeypatch) -> None:
    env = profiled(monkeypatch, ROOM)
    assert env.step_fn is cogrid.make(ROOM).step_fn
    state, _ = env.reset_fn(keys(0, 1)[0])
    env.step_fn(state, np.full(2, NOOP))
    assert not any(env.step_timing.values())


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("infos", [False, True])
def test_same_bytes(monkeypatch, id, infos) -> None:
    options = {"infos": infos, "max_steps": 30}
    env, plain = profiled(monkeypatch, id, **options), cogrid.make(id, **options)
    assert digest(play(env, 3)) == digest(play(plain, 3))
    assert_same(env.env_state, plain.env_state)


def test_same_infos(monkeypatch) -> None:
    env, plain = (
        profiled(monkeypatch, ROOM, infos=True, shaping=1.0),
        cogrid.make(ROOM, infos=True, shaping=1.0),
    )
    env.reset(seed=0)
    plain.reset(seed=0)
    for actions in itertools.islice(random_actions(plain, 1), 20):
        told, expected = env.step(actions)[4], plain.step(actions)[4]
        np.testing.assert_equal(told, expected)


def test_agents_that_end_by_themselves(monkeypatch) -> None:
    with monkeypatch.context() as patch:
        patch.setenv(VARIABLE, "1")
        env = cogrid.CoGridEnv(hall(BOARD))
    assert digest(play(env, 5)) == digest(play(cogrid.CoGridEnv(hall(BOARD)), 5))
    assert any(env.step_timing.values())


def test_copies_and_pickles(monkeypatch) -> None:
    env = profiled(monkeypatch, ROOM)
    env.reset(seed=0)
    env.step({0: NOOP, 1: NOOP})
    there = pickle.loads(pickle.dumps(env))
    assert there.step_timing is None  # it was made where the variable is not set
    monkeypatch.setenv(VARIABLE, "1")
    for again in (pickle.loads(pickle.dumps(env)), copy.deepcopy(env)):
        assert not any(again.step_timing.values())
        again.step({0: NOOP, 1: NOOP})
        assert any(again.step_timing.values())


@pytest.mark.parametrize("infos", [False, True])
def test_each_phase_runs_once_in_a_step(infos) -> None:
    calls = Counter()

    def counted(phase, function):
        def run(*arguments):
            calls[phase] += 1
            return function(*arguments)

        return run

    env = cogrid.make(ROOM, infos=infos)
    state, _ = env.reset_fn(keys(0, 1)[0])
    step(env.rules, state, np.full(2, NOOP), infos, profiling.watched(env.rules, counted))
    assert calls == dict.fromkeys(PHASES, 1)
    env.step_fn(state, np.full(2, NOOP))
    assert calls == dict.fromkeys(PHASES, 1)  # the step itself is not watched
