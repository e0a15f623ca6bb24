"""An environment shared by threads, and JAX in a fork, are told instead of losing steps or hanging."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid._env.guard import Guard
from cogrid.replay.recording import Recorder
from tests.support import BACKENDS, HAS_JAX, NOOP

ROOM = "Overcooked-CrampedRoom-V0"
NOOPS = {0: NOOP, 1: NOOP}
each_backend = pytest.mark.parametrize("backend", BACKENDS)


def held(env: Any, name: str, call: Any, meanwhile: Any) -> list[Any]:
    """What `call` returns in a thread that is held inside `env.<name>` until `meanwhile` has run."""
    inside, go_on, results = threading.Event(), threading.Event(), []
    function = getattr(env, name)

    def slow(*arguments: Any) -> Any:
        if not inside.is_set():  # only the first: a second one, were it let in, would wait for itself
            inside.set()
            go_on.wait()
        return function(*arguments)

    setattr(env, name, slow)
    thread = threading.Thread(target=lambda: results.append(call()))
    thread.start()
    inside.wait()
    try:
        meanwhile()
    finally:
        go_on.set()
        thread.join()
        setattr(env, name, function)
    return results


@each_backend
def test_two_threads_in_one_environment(backend: str) -> None:
    env = cogrid.make(ROOM, backend)
    env.reset(seed=0)
    snapshot = env.get_state()

    def meanwhile() -> None:
        for call in (lambda: env.step(NOOPS), lambda: env.reset(seed=1), lambda: env.set_state(snapshot)):
            with pytest.raises(
                RuntimeError, match=r"^this environment is used by two threads.*each thread.*\.$"
            ):
                call()

    assert len(held(env, "_step", lambda: env.step(NOOPS), meanwhile)) == 1
    assert int(env.env_state.time) == 1  # the step that was inside went on
    env.step(NOOPS)
    assert int(env.env_state.time) == 2


@each_backend
def test_two_threads_in_one_batch(backend: str) -> None:
    env = cogrid.make_vec(ROOM, 3, backend=backend)
    env.reset(seed=0)
    actions = np.full((3, 2), NOOP)

    def meanwhile() -> None:
        for call in (lambda: env.step(actions), lambda: env.reset(seed=1)):
            with pytest.raises(RuntimeError, match="used by two threads"):
                call()

    held(env, "_advance", lambda: env.step(actions), meanwhile)
    assert env.env_state.time.tolist() == [1] * 3


def test_two_threads_at_one_recorder() -> None:
    recorder = Recorder(cogrid.make(ROOM))
    recorder.reset(seed=0)

    def meanwhile() -> None:
        with pytest.raises(RuntimeError, match="this recorder is used by two threads"):
            recorder.step(NOOPS)

    held(recorder, "_frame", lambda: recorder.step(NOOPS), meanwhile)
    recorder.replay().verify()


def test_threads_that_race_are_told_or_lose_nothing() -> None:
    env = cogrid.make(ROOM, max_steps=10**6)
    env.reset(seed=0)
    stepped, told = [0] * 4, [0] * 4

    def work(number: int) -> None:
        for _ in range(300):
            try:
                env.step(NOOPS)
                stepped[number] += 1
            except RuntimeError:
                told[number] += 1

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert sum(told) > 0
    assert int(env.env_state.time) >= sum(stepped) - sum(told)  # no step is lost without a word


def test_threads_that_take_turns_are_welcome() -> None:
    env = cogrid.make(ROOM)
    threads = [threading.Thread(target=lambda: env.reset(seed=0)) for _ in range(3)]
    for thread in threads:
        thread.start()
        thread.join()
    env.step(NOOPS)


def test_an_error_or_an_interrupt_leaves_the_environment_usable() -> None:
    env = cogrid.make(ROOM)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="missing"):
        env.step({})
    env._guard.enter()  # an interrupt came before it left
    env.step(NOOPS)
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env)), copy.deepcopy(Recorder(env)).env):
        twin.step(NOOPS)


def test_a_thread_that_comes_in_at_the_same_moment_is_told_when_it_leaves() -> None:
    guard = Guard("environment", "numpy")
    guard.enter()
    thread = threading.Thread(target=lambda: setattr(guard, "_thread", threading.get_ident()))
    thread.start()
    thread.join()
    with pytest.raises(RuntimeError, match="two threads"):
        guard.leave()


if HAS_JAX:
    FORK = """
import os, signal, sys, warnings
warnings.simplefilter("ignore")
import cogrid
made = cogrid.make("Arena-V0", backend="jax", map_size=5)  # not used before the fork
env = cogrid.make("Arena-V0", backend="jax", map_size=5)
if sys.argv[1] == "used":
    env.reset(seed=0)
noops = dict.fromkeys(env.possible_agents, 6)
if os.fork() == 0:
    signal.alarm(120)  # a child that hangs fails
    cogrid.make("Arena-V0").reset(seed=0)  # NumPy works everywhere
    calls = [lambda: env.reset(seed=0)]
    if sys.argv[1] == "used":
        rollout = lambda: cogrid.rollout(env, num_envs=2, num_steps=2)
        calls = [lambda: env.step(noops), lambda: made.reset(seed=0), rollout]
    for call in calls:
        try:
            call()
            print("nothing", flush=True)
        except RuntimeError as error:
            print(error, flush=True)
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows forks no process")
    @pytest.mark.parametrize("before", ["used", "made"])
    def test_jax_in_a_fork(before: str) -> None:
        run = subprocess.run(
            [sys.executable, "-c", FORK, before], capture_output=True, text=True, encoding="utf-8"
        )
        assert run.returncode == 0, run.stderr
        lines = run.stdout.splitlines()
        if before == "made":
            assert lines == ["nothing"]  # JAX was not running yet
        else:
            assert len(lines) == 3
            assert all("would hang in its fork" in line and "'spawn'" in line for line in lines)
