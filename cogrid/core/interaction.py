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
    seen = rules.at(state.cells, faced).astype(rules.row_dtype)  # (*B, n)
    rows = []
    for i in range(rules.n_agents):
        me = slice(i, i + 1)
        rows.append(hand[..., me] + seen[..., me])  # (*B, 1)
        seen = xp.where(faced == faced[..., me], lookup(rules.left, rows[i]), seen)
    row = xp.concatenate(rows, axis=-1)
    cells = rules.put(state.cells, faced, seen.astype(rules.cell_dtype))
    return state.evolve(cells=cells, held=lookup(rules.kept, row)), Events(row)


def _occupied(faced: Array, pos: Array) -> Array:
    return (faced[..., :, None] == pos[..., None, :]).any(axis=-1)
