"""A test tape: an episode and the beginning of the next, with the checksums that NumPy gives."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from cogrid._apps.export.recorded import ExportedWorld, Field
from cogrid._native.trees import flatten
from cogrid.backend import rng
from cogrid.cogrid_env import CoGridEnv
from cogrid.policies.named import policy_of, usual_policy

MOST, NEXT = 2000, 50  # steps of the first episode at most, and steps of the next one
SEED = 0


def tape(env: CoGridEnv, world: ExportedWorld) -> str:
    """The text of the tape: a policy's episode, then random actions of which some are out of range."""
    fields = (*world.state, *world.result)
    lines, checksum = [], 0

    def add(words: Iterable[Any], values: Sequence[Any]) -> None:
        nonlocal checksum
        leaves: list[Any] = []
        flatten(values, leaves)
        checksum = zlib.crc32(b"".join(map(_bytes, leaves, fields)), checksum)
        lines.append(" ".join([*map(str, words), f"{checksum:08x}"]))

    def begin(key: Any) -> Any:
        state, obs = env.reset_fn(key)
        add(["reset", *key], (state, obs, np.zeros(env.spec.num_agents), np.zeros(())))
        return state

    def step(state: Any, actions: Any) -> tuple[Any, bool]:
        state, obs, rewards, done, _ = env.step_fn(state, actions)
        add(["step", *actions], (state, obs, rewards, done))
        return state, bool(done)

    state, over, count = begin(rng.key(SEED)), False, 0
    act = policy_of(usual_policy(env.rules), env.rules, seed=SEED)
    while not over and count < MOST:
        chosen = act(state)
        state, over = step(state, np.array([chosen[agent] for agent in sorted(chosen)], np.int32))
        count += 1
    state = begin(state.words)
    draws = np.random.default_rng(SEED).integers(-1, len(env.spec.actions) + 1, (NEXT, env.spec.num_agents))
    for actions in draws.astype(np.int32):
        state, _ = step(state, actions)
    return "\n".join(lines) + "\n"


def _bytes(value: Any, field: Field) -> bytes:
    """An array as it is in C, whose integers may be narrower than NumPy's."""
    return np.asarray(value).astype(field.dtype.newbyteorder("<")).tobytes()
