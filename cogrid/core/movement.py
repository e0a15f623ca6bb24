"""Movement: everybody turns; contested cells and swaps leave all involved in place."""

from __future__ import annotations

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
        other = lift(~np.eye(rules.n_agents, dtype=bool), pos.ndim + 1)  # (…, n, n)
        want = xp.where(rules.backend.any(_swaps(pos, want) & other), pos, want)

        def stop(want: Array) -> Array:
            return xp.where(rules.backend.any(_same(want) & other), pos, want)

        want = rules.backend.settle(stop, want, rules.n_agents - 1)
    state = state.evolve(pos=want, agent_dir=rules.lookup(rules.facing, turn))
    return state, events._replace(stride=stride, moved=want != pos)


def _swaps(pos: Array, want: Array) -> Array:
    """(*B, n, n) whether i wants the cell of j, and j that of i."""
    return (want[..., :, None] == pos[..., None, :]) & (pos[..., :, None] == want[..., None, :])


def _same(want: Array) -> Array:
    """(*B, n, n) whether i and j want one cell; who stays where it is wants its own.

    Every pass that changes something stops one agent for good, and the first stops two or runs into one that
    stands, so n − 1 passes settle all.
    """
    return want[..., :, None] == want[..., None, :]
