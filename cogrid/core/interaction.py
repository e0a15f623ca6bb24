"""Interaction: agents act in order on the cell ahead, each seeing what the earlier ones left."""

from __future__ import annotations

from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState, Events
from cogrid.core.chance import realised
from cogrid.core.rules import Rules


def interact(rules: Rules, state: EnvState, choice: Array, events: Events) -> tuple[EnvState, Events]:
    """Play every agent's line of the rule tables; all who face one cell end up writing the same symbol."""
    xp, lookup = rules.xp, rules.lookup
    faced = state.pos + lookup(rules.front, state.pose)  # (*B, n)
    if rules.guarded:
        idle = rules.noop * rules.n_poses + xp.asarray(state.pose, rules.choice_dtype)
        choice = xp.where(rules.backend.any_other(_faces, faced, state.pos), idle, choice)
    hand = lookup(rules.hand, choice)  # (*B, n) the first row of what is asked, the held item's line in it
    seen = xp.asarray(rules.at(state.cells, faced), rules.row_dtype)  # (*B, n)
    rows = []
    for i in range(rules.n_agents):
        me = slice(i, i + 1)
        rows.append(hand[..., me] + seen[..., me])  # (*B, 1)
        if rules.drawn_outcomes:
            rows[i] = realised(lookup, rules.spec.symbols.outcomes, rows[i], events.drawn[..., me])
        seen = xp.where(faced == faced[..., me], lookup(rules.left, rows[i]), seen)
    row = xp.concatenate(rows, axis=-1)
    cells = rules.put(state.cells, faced, xp.asarray(seen, rules.cell_dtype))
    state = state.evolve(cells=cells, pose=state.pose + lookup(rules.swap, row))
    return state, Events(row, events.stride, events.moved, events.wish, events.drawn)


def _faces(mine: list[Array], theirs: list[Array]) -> Array:
    """Whether one agent faces the cell where another stands."""
    return mine[0] == theirs[1]
