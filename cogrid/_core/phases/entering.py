"""Entering: what happens to agents that have walked onto a thing."""

from __future__ import annotations

import numpy as np

from cogrid._core.author.actions import ENTER
from cogrid._core.author.chance import realised
from cogrid._core.rules import Rules
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState, Events


def enter(rules: Rules, state: EnvState, events: Events) -> tuple[EnvState, Events]:
    """Apply the rule row of every agent that moved and the thing it now stands on; no cell has two agents.

    An agent that moved did nothing else, so this row replaces an empty one.
    """
    xp, lookup, moved = rules.xp, rules.lookup, events.moved
    where = rules.on_board(state.pos)  # (*B, n)
    seen = rules.at(state.cells, where)
    row = lookup(_first_rows(rules), state.pose) + xp.asarray(seen, rules.row_dtype)
    if rules.drawn_outcomes:
        outcomes = rules.spec.symbols.outcomes
        row = realised(lookup, outcomes, row, rules.draws.of("interact", events.drawn))
    thing = xp.where(moved, xp.asarray(lookup(rules.left, row), rules.cell_dtype), seen)
    swap = xp.where(moved, lookup(rules.swap, row), rules.agent_dtype.type(0))
    state = state.evolve(cells=rules.put(state.cells, where, thing), pose=state.pose + swap)
    row = xp.where(moved, row, events.row)
    return state, Events(row, events.stride, moved, events.wish, events.drawn)


def _first_rows(rules: Rules) -> Array:
    """(poses,) the row of entering with the pose's item; the thing is added later."""
    first = rules.spec.symbols.intents.index(ENTER) * rules.n_items
    return ((first + rules.held.astype(np.int64)) * rules.n_things).astype(rules.row_dtype)
