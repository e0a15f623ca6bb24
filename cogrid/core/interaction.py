"""Interaction: agents act in order on the cell ahead, each seeing what the earlier ones left."""

from __future__ import annotations

from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState, Events
from cogrid.core.rules import Rules


def interact(rules: Rules, state: EnvState, actions: Array) -> tuple[EnvState, Events]:
    """Play every agent's line of the rule tables; all who face one cell end up writing the same symbol."""
    xp, lookup = rules.xp, rules.lookup
    faced = state.pos + lookup(rules.ahead, state.agent_dir)  # (*B, n)
    first = lookup(rules.first_row, actions)  # (*B, n) 0 for those who only walk
    if rules.guarded:
        first = xp.where(_occupied(faced, state.pos), 0, first)
    hand = first + state.held.astype(rules.row_dtype) * rules.n_things
    seen = rules.at(state.cells, faced)  # (*B, n)
    rows = []
    for i in range(rules.n_agents):
        row = hand[..., i] + seen[..., i].astype(rules.row_dtype)
        left = lookup(rules.left, row)
        seen = xp.where(faced == faced[..., i, None], left[..., None], seen)
        rows.append(row)
    row = rules.backend.stack(rows)
    cells = rules.put(state.cells, faced, seen)
    state = state.evolve(cells=cells, held=lookup(rules.kept, row))
    return state, Events(row)


def _occupied(faced: Array, pos: Array) -> Array:
    return (faced[..., :, None] == pos[..., None, :]).any(axis=-1)
