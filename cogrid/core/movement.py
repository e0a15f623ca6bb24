"""Movement: everybody turns; contested cells and swaps leave all involved in place."""

from __future__ import annotations

import dataclasses

import numpy as np

from cogrid.backend.array import Array, lift
from cogrid.backend.env_state import EnvState, Events
from cogrid.core.rules import Rules


def move(rules: Rules, state: EnvState, actions: Array, events: Events) -> tuple[EnvState, Events]:
    """Turn, then walk to the cell ahead if it is free of things and, after all have chosen, of others."""
    xp, pos = rules.xp, state.pos
    turn = actions * 4 + state.agent_dir
    stride = rules.lookup(rules.stride, turn)  # (*B, n)
    ahead = pos + stride
    open_ = rules.at(state.cells, ahead) < rules.n_walkable
    want = xp.where(open_, ahead, pos)
    if rules.n_agents > 1:
        want = xp.where(_swaps(pos, want), pos, want)
        want = rules.backend.settle(lambda w: xp.where(_contested(w), pos, w), want, rules.n_agents - 1)
    state = dataclasses.replace(state, pos=want, agent_dir=rules.lookup(rules.facing, turn))
    return state, events._replace(stride=stride, moved=want != pos)


def _swaps(pos: Array, want: Array) -> Array:
    """(*B, n) whether the agent wants the cell of another who wants its own."""
    enters = want[..., :, None] == pos[..., None, :]  # (*B, n, n) i wants the cell of j
    back = pos[..., :, None] == want[..., None, :]
    return (enters & back & _others(pos)).any(axis=-1)


def _contested(want: Array) -> Array:
    """(*B, n) whether another wants the same cell; who stays where it is wants its own.

    Every pass that changes something stops one agent for good, and the first stops two or runs into one that
    stands, so n − 1 passes settle all.
    """
    same = want[..., :, None] == want[..., None, :]  # (*B, n, n)
    return (same & _others(want)).any(axis=-1)


def _others(agents: Array) -> Array:
    return lift(~np.eye(agents.shape[-1], dtype=bool), agents.ndim + 1)
