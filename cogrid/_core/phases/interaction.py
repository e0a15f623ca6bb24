"""Interaction: agents act in order on the cell ahead, each seeing what the earlier ones left."""

from __future__ import annotations

import numpy as np

from cogrid._core.author.chance import realised
from cogrid._core.phases.aiming import aimer, things_answer
from cogrid._core.rules import Rules
from cogrid.backend.array import Array, lift
from cogrid.backend.env_state import EnvState, Events


def interact(rules: Rules, state: EnvState, choice: Array, events: Events) -> tuple[EnvState, Events]:
    """Apply every agent's row of the rule tables; all agents facing one cell write the same symbol."""
    if rules.aims:
        return _aimed(rules, state, choice, events)
    xp, lookup = rules.xp, rules.lookup
    faced = state.pos + lookup(rules.front, state.pose)  # (*B, n)
    faced = rules.on_board(faced) if rules.leaves else faced
    seen = rules.at(state.cells, faced)  # (*B, n)
    pos, pose, faced, seen, choice = rules.backend.apart(state.pos, state.pose, faced, seen, choice)
    hand = lookup(rules.hand, choice)  # (*B, n) the first row for the intent and the held item
    seen = xp.asarray(seen, rules.row_dtype)
    taken = None if rules.guard is None else rules.backend.any_other(_faces, faced, pos)  # (*B, n)
    varies = taken is not None or rules.drawn_outcomes
    if rules.backend.are_apart(faced):
        row = hand + seen
        row = _applied(rules, row, taken, events, slice(0, rules.n_agents)) if varies else row
        seen = lookup(rules.left, row)
    else:
        rows = []
        for i in range(rules.n_agents):
            me = slice(i, i + 1)
            row = hand[..., me] + seen[..., me]  # (*B, 1)
            rows.append(_applied(rules, row, taken, events, me) if varies else row)
            seen = xp.where(faced == faced[..., me], lookup(rules.left, rows[i]), seen)
        row = rules.backend.columns(rows)
    cells = rules.put(state.cells, faced, xp.asarray(seen, rules.cell_dtype))
    state = state.evolve(cells=cells, pos=pos, pose=pose + lookup(rules.swap, row))
    return state, Events(row, events.stride, events.moved, events.wish, events.drawn, choice=choice)


def _applied(rules: Rules, row: Array, taken: Array | None, events: Events, who: slice) -> Array:
    """The rows of some of the agents: the branches drawn for them, and nothing that closes a taken cell."""
    if rules.drawn_outcomes:
        row = realised(rules.lookup, rules.spec.symbols.outcomes, row, events.drawn[..., who])
    if taken is not None:
        row = rules.xp.where(taken[..., who], rules.lookup(rules.guard, row), row)
    return row


def _faces(mine: list[Array], theirs: list[Array]) -> Array:
    """Whether one agent faces the cell where another stands."""
    return mine[0] == theirs[1]


def _aimed(rules: Rules, state: EnvState, choice: Array, events: Events) -> tuple[EnvState, Events]:
    """The same where actions look for a target; hands change in order, as things do.

    Targets are chosen on the board at the start of the phase; the actions then apply to the hands and things
    that earlier agents left.
    """
    xp, lookup, n = rules.xp, rules.lookup, rules.n_agents
    target = aimer(rules)(state, choice)
    if rules.spec.symbols.meetings is None:  # an agent covers what it stands on
        idle = rules.noop * rules.n_poses + xp.asarray(state.pose, rules.choice_dtype)
        choice = xp.where(target.other < n, idle, choice)
    changes, cells = things_answer(rules), state.cells
    if changes:
        seen = xp.asarray(rules.at(cells, target.cell), rules.row_dtype)  # (*B, n)
    agents, pose, rows = lift(rules.agents, state.pos.ndim), state.pose, []
    for i in range(n):
        me = slice(i, i + 1)
        now = choice[..., me] + xp.asarray((pose - state.pose)[..., me], rules.choice_dtype)
        row = lookup(rules.hand, now)  # (*B, 1)
        row = row + seen[..., me] if changes else row
        if rules.spec.symbols.outcomes.n_branches > 1:
            row = realised(lookup, rules.spec.symbols.outcomes, row, events.drawn[..., me])
        after, other = lookup(rules.left, row) if changes else None, target.other[..., me]
        if rules.spec.symbols.meetings is not None:
            row, pose = _met(rules, row, now, pose, agents == other, events, me)
        if changes:
            seen = xp.where((target.cell == target.cell[..., me]) & (other == n), after, seen)
        pose = pose + xp.where(agents == i, lookup(rules.swap, row), rules.agent_dtype.type(0))
        rows.append(row)
    if changes:
        cells = rules.put(cells, target.cell, xp.asarray(seen, rules.cell_dtype))
    return state.evolve(cells=cells, pose=pose), Events(xp.concatenate(rows, axis=-1), *events[1:])


def _met(
    rules: Rules, row: Array, now: Array, pose: Array, other: Array, events: Events, me: slice
) -> tuple[Array, Array]:
    """The row of one agent, and all poses, after it has met the agent that `other` (*B, n) marks, if any."""
    xp, lookup, meetings = rules.xp, rules.lookup, rules.spec.symbols.meetings
    theirs = xp.where(other, pose, rules.agent_dtype.type(0)).sum(axis=-1, keepdims=True, dtype=pose.dtype)
    line = lookup(rules.meet_hand, now) + lookup(rules.held, theirs).astype(np.int32)  # (*B, 1)
    if meetings is not None and meetings.n_branches > 1:
        line = realised(lookup, meetings, line, events.drawn[..., me])
    pose = pose + xp.where(other, lookup(rules.swap_other, line), rules.agent_dtype.type(0))
    met = (line + np.int32(rules.first_meeting)).astype(rules.row_dtype)
    return xp.where(other.any(axis=-1, keepdims=True), met, row), pose
