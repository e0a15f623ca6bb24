"""Whole episodes of the stateful environment, as bytes that can be compared between processes."""

from __future__ import annotations

import functools
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import cogrid
from tests.support import main_action

ROOT = Path(__file__).parents[1]


@functools.cache
def shared(id: str, backend: str, **overrides: Any) -> cogrid.CoGridEnv:
    """An environment for tests that use only its pure functions and constants."""
    return cogrid.make(id, backend=backend, **overrides)


def jitted(env: Any) -> Any:
    """`step_fn`, compiled where the backend compiles; the object that `env.step` itself calls."""
    return env.rules.backend.compiled(env.step_fn)


def random_actions(env: Any, seed: int) -> Iterator[dict[int, int]]:
    """Endless joint actions, by NumPy's own generator; half of them interact."""
    generator = np.random.default_rng(seed)
    interact, n_actions = main_action(env), len(env.action_names)
    while True:
        draws = generator.integers(-n_actions, n_actions, len(env.possible_agents)).tolist()
        yield {agent: draws[agent] if draws[agent] >= 0 else interact for agent in env.agents}


def record(*values: Any) -> bytes:
    """Dicts by agent, as bytes: types, shapes and all."""
    parts = []
    for by_agent in values:
        for agent, value in by_agent.items():
            array = np.asarray(value)
            parts.append(f"{agent} {array.dtype} {array.shape} ".encode() + array.tobytes())
    return b"".join(parts)


def play(env: Any, seed: int, steps: int = 60) -> Iterator[bytes]:
    """The bytes of a reset and of every step of an episode, or of several if the horizon is short."""
    obs, _ = env.reset(seed=seed)
    yield record(obs)
    actions = random_actions(env, seed)
    for _ in range(steps):
        if not env.agents:
            yield record(env.reset()[0])
        yield record(*env.step(next(actions))[:4])


def digest(parts: Iterable[bytes]) -> str:
    """One short name for all of it."""
    total = hashlib.sha256()
    for part in parts:
        total.update(part)
    return total.hexdigest()


def run_python(source: str, *arguments: str, hash_seed: str = "0") -> subprocess.CompletedProcess[str]:
    """A process of its own that imports the checkout."""
    search = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, "-c", source, *arguments],
        env={**os.environ, "PYTHONPATH": search, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        encoding="utf-8",
    )
