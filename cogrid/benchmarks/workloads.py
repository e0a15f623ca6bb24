"""Workloads: action tapes drawn from a seed, the same for both backends, and checksums of their results."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from cogrid._core.compile.spec import Spec
from cogrid.backend import rng
from cogrid.backend.array import Array
from cogrid.cogrid_env import CoGridEnv
from cogrid.envs.registry import script_for

WORKLOADS = ("noop", "random", "cooperative")
LANES = 8  # different tapes of a batch; environment i plays tape i modulo LANES
NOISE = 0.3  # share of random actions: the tapes differ, and include verbs that no good cook needs

Tape = np.ndarray[Any, np.dtype[np.int8]]


def start_keys(seed: int, lanes: int) -> Array:
    """(lanes, 2) the start key of each tape's environment; fewer lanes are a prefix of more."""
    return rng.split(rng.key(seed), LANES)[:lanes]


@functools.lru_cache(maxsize=16)
def tape(spec: Spec, workload: str, steps: int, lanes: int, seed: int) -> Tape:
    """(steps, lanes, n) actions; fewer steps, or fewer lanes, are a prefix of more."""
    if workload not in WORKLOADS:
        raise ValueError(f"workload={workload!r} is unknown: choose one of {', '.join(WORKLOADS)}.")
    env = CoGridEnv(spec)
    if workload == "noop":
        actions = np.full((steps, lanes, spec.num_agents), env.action_names.index("noop"), np.int8)
    elif workload == "random":
        generator = np.random.default_rng(seed)
        shape = (steps, LANES, spec.num_agents)
        actions = generator.integers(env.rules.n_actions, size=shape, dtype=np.int8)[:, :lanes]
    else:
        actions = _cooperative(env, steps, lanes, seed)
    actions.flags.writeable = False
    return actions


def _cooperative(env: CoGridEnv, steps: int, lanes: int, seed: int) -> Tape:
    """Actions recorded from scripted play."""
    if (script := script_for(env.spec.game)) is None:
        raise ValueError(
            f"workload='cooperative' needs a script, and {type(env.spec.game).__name__} has none: "
            "choose 'random' or 'noop'."
        )
    actions = np.zeros((steps, lanes, env.spec.num_agents), np.int8)
    for lane, key in enumerate(start_keys(seed, lanes)):
        state, _ = env.reset_fn(key)
        team = script(env.rules, seed=seed + lane, noise=NOISE)
        for now in range(steps):
            actions[now, lane] = list(team.act(state).values())
            state, *_ = env.step_fn(state, actions[now, lane])
    return actions


def meeting_most(spec: Spec) -> str:
    """The workload that uses the most verbs of a game: scripted play if the game has a script."""
    return "random" if script_for(spec.game) is None else "cooperative"


def spread(lanes: Array, batch: int, axis: int = 0) -> Array:
    """The lanes, repeated along an axis until the batch is full."""
    return np.take(lanes, np.arange(batch) % lanes.shape[axis], axis=axis)


def checksum(arrays: Mapping[str, Any]) -> str:
    """16 hex digits of named arrays; integers of any width count as the same numbers."""
    total = hashlib.sha256()
    for name in sorted(arrays):
        value = np.asarray(arrays[name])
        value = value.astype(np.int64) if value.dtype.kind in "iu" else value
        total.update(f"{name} {value.dtype} {value.shape} ".encode() + np.ascontiguousarray(value).tobytes())
    return total.hexdigest()[:16]
