"""A NumPy step builds no array that depends on the rules alone: those are constants of the rules."""

from __future__ import annotations

import dataclasses
import functools
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid._core.rules import Rules
from cogrid.author import Layout, Outcome, Spec
from cogrid.cogrid_env import CoGridEnv
from tests.doors import Doors, hall
from tests.support import IDS, has_features, keys

ROOM, ARENA = "Overcooked-CrampedRoom-V0", "Arena-V0"
#: What makes an array out of plain numbers, and what makes a table of the rules.
MAKERS = (
    *("arange", "array", "empty", "eye", "full", "full_like", "identity", "indices", "linspace", "ones"),
    *("ones_like", "tile", "zeros", "zeros_like"),
)
TABLES = ("symbols", "items", "events", "cells_where", "cells_of", "reachable")
HALL = """
    ##E#E##
    # 1 2 #
    #######
"""
CORE = str(Path(cogrid._core.__file__).parent), str(Path(cogrid.backend.__file__).parent)


@dataclass(frozen=True)
class SlowDoors(Doors):
    """A door that needs many steps to open, so that there are far more things than cells."""

    steps: int = 5000

    def interact(self, held: Any, thing: Any) -> Outcome | None:
        if thing == "door":
            return Outcome(held, ("door", self.steps), "knock")
        return Outcome(held, "door", "leave", 1.0) if thing == ("door", 1) else None

    def tick(self, thing: Any) -> Any:
        return ("door", thing[1] - 1) if isinstance(thing, tuple) and thing[1] > 1 else thing


def games() -> Iterator[Any]:
    """Every id with every observation, several layouts, and a game in which agents end."""
    for id in IDS:
        for observation in ("features",) * has_features(id) + ("lossless", "window"):
            make = functools.partial(cogrid.make, id, observation=observation, shaping=0.5)
            yield pytest.param(make, id=f"{id} {observation}")
    layouts = ["CrampedRoom", "CounterCircuit"]
    yield pytest.param(functools.partial(cogrid.make, ROOM, layout=layouts), id="two layouts")
    yield pytest.param(functools.partial(CoGridEnv, hall(HALL)), id="doors")


@contextmanager
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The arrays that the engine makes of nothing but numbers and rules, by who asks for them."""
    found: list[str] = []

    def watched(name: str, function: Any) -> Any:
        @functools.wraps(function)
        def make(*arguments: Any, **options: Any) -> Any:
            caller = sys._getframe(1)
            if caller.f_code.co_filename.startswith(CORE):
                found.append(f"{name} in {caller.f_code.co_name}, {caller.f_code.co_filename}")
            return function(*arguments, **options)

        return make

    with monkeypatch.context() as patch:
        for name in MAKERS:
            patch.setattr(np, name, watched(name, getattr(np, name)))
        for name in TABLES:
            patch.setattr(Rules, name, watched(name, getattr(Rules, name)))
        yield found


def joint(env: Any, generator: np.random.Generator, *batch: int) -> Any:
    return generator.integers(0, env.rules.n_actions, (*batch, env.spec.num_agents))


@pytest.mark.parametrize("infos", [False, True])
@pytest.mark.parametrize("make", list(games()))
def test_a_step_makes_no_array_of_the_rules_alone(make: Any, infos: bool, monkeypatch: Any) -> None:
    env = make(infos=infos)
    state, _ = env.reset_fn(keys(0, 1)[0])
    generator = np.random.default_rng(0)
    env.step_fn(state, joint(env, generator))  # constants are made when they are first used
    with made(monkeypatch) as found:
        for _ in range(20):
            state = env.step_fn(state, joint(env, generator))[0]
        assert not found
        env.reset_fn(keys(1, 1)[0])
        assert found  # the watch sees what a reset makes


def size(value: Any) -> int:
    """Bytes of all that a step returns."""
    if dataclasses.is_dataclass(value):
        return sum(array.nbytes for array in value.stored().values())
    if isinstance(value, (tuple, list, dict)):
        return sum(map(size, value.values() if isinstance(value, dict) else value))
    return int(np.asarray(value).nbytes)


@pytest.mark.parametrize("infos", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(functools.partial(cogrid.make, ARENA, map_size=60, num_agents=1), id="window"),
        pytest.param(functools.partial(cogrid.make, ROOM, cook_time=5000, shaping=1.0), id="features"),
        pytest.param(
            functools.partial(cogrid.make, ROOM, cook_time=5000, observation="lossless"), id="lossless"
        ),
        pytest.param(
            functools.partial(CoGridEnv, Spec(SlowDoors(), (Layout("hall", HALL),), observation="lossless")),
            id="doors",
        ),
    ],
)
def test_memory_of_a_step_does_not_grow_with_the_tables(make: Any, infos: bool) -> None:
    """Tables are far larger here than a state and what is seen of it."""
    env = make(infos=infos)
    state, _ = env.reset_fn(keys(0, 1)[0])
    generator = np.random.default_rng(0)
    result = env.step_fn(state, joint(env, generator))
    rules = env.rules
    owners = (rules, rules.rows, *rules.phases)
    tables = [table for owner in owners for table in vars(owner).values() if isinstance(table, np.ndarray)]
    largest = max(max(table.nbytes for table in tables), env.rules.n_cells * env.spec.window**2 * 8)
    allowed = 16_000 + 3 * size(result)
    assert largest > 1.5 * allowed
    tracemalloc.start()
    try:
        for _ in range(5):
            actions = joint(env, generator)
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            result = env.step_fn(state, actions)
            assert tracemalloc.get_traced_memory()[1] - before < allowed
            state = result[0]
    finally:
        tracemalloc.stop()
