"""Interaction: agents act in order on the cell ahead, each seeing what the earlier ones left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from cogrid._core.author.rewards import pays_other
from cogrid._core.compile.odds import realised
from cogrid._core.phases.phase import Events, Phase, Table
from cogrid._core.phases.tables.aiming import answered
from cogrid._core.phases.tables.rows import Meetings
from cogrid.backend.array import Array, lift
from cogrid.backend.env_state import EnvState

if TYPE_CHECKING:
    from cogrid._core.rules import Rules


@dataclass(frozen=True, eq=False)
class Interaction(Phase):
    """Apply every agent's row of the rule tables; all agents facing one cell write the same symbol."""

    guard: Table | None  # (rows,) what is applied to a cell in which an agent stands; see `_guard`
    agents: Table  # (n,) int32 their numbers
    drawn: Table  # the agents whose outcome is drawn: all or none
    tells_met: bool  # a reward term pays the agent that was met
    name: ClassVar[str] = "interact"

    @classmethod
    def compile(cls, rules: Rules) -> Self | None:
        """None if agents only ever work together."""
        if not rules.acts_alone:
            return None
        tells_met = any(map(pays_other, rules.game.rewards()))
        return cls(_guard(rules), np.arange(rules.n_agents, dtype=np.int32), rules.rows.drawn, tells_met)

    @property
    def draws(self) -> Mapping[str, Table]:
        """One for each agent, also for what it enters: an agent that walks does not act."""
        return {"interact": self.drawn}

    def __call__(self, rules: Rules, state: EnvState, events: Events) -> tuple[EnvState, Events]:
        if rules.aiming is not None:
            return self._aimed(rules, state, events)
        xp, lookup, rows = rules.xp, rules.lookup, rules.rows
        faced = state.pos + lookup(rules.front, state.pose)  # (*B, n)
        faced = rules.on_board(faced) if rules.leaves else faced
        seen = rules.at(state.cells, faced)  # (*B, n)
        pos, pose, faced, seen, choice = rules.backend.apart(
            state.pos, state.pose, faced, seen, events.choice
        )
        first = lookup(rows.of_choice, choice)  # (*B, n) the first row for the intent and the held item
        seen = xp.asarray(seen, rules.row_dtype)
        taken = None if self.guard is None else rules.backend.any_other(_faces, faced, pos)  # (*B, n)
        varies = taken is not None or self.drawn.size
        if rules.backend.are_apart(faced):
            row = first + seen
            row = self._applied(rules, row, taken, events, slice(0, rules.n_agents)) if varies else row
            seen = lookup(rows.thing_after, row)
        else:
            applied = []
            for i in range(rules.n_agents):
                me = slice(i, i + 1)
                row = first[..., me] + seen[..., me]  # (*B, 1)
                applied.append(self._applied(rules, row, taken, events, me) if varies else row)
                seen = xp.where(faced == faced[..., me], lookup(rows.thing_after, applied[i]), seen)
            row = rules.backend.columns(applied)
        cells = rules.put(state.cells, faced, xp.asarray(seen, rules.cell_dtype))
        state = state.evolve(cells=cells, pos=pos, pose=pose + lookup(rows.swap, row))
        return state, events.evolve(row=row, choice=choice)

    def _applied(self, rules: Rules, row: Array, taken: Array | None, events: Events, who: slice) -> Array:
        """The rows of some agents: the branches drawn for them, and nothing that closes a taken cell."""
        if self.drawn.size:
            row = realised(rules.lookup, rules.rows.outcomes, row, _drawn(rules, events, who))
        if taken is not None:
            row = rules.xp.where(taken[..., who], rules.lookup(self.guard, row), row)
        return row

    def _aimed(self, rules: Rules, state: EnvState, events: Events) -> tuple[EnvState, Events]:
        """The same where actions look for a target; hands change in order, as things do.

        Targets are chosen on the board at the start of the phase; the actions then apply to the hands and
        things that earlier agents left.
        """
        assert rules.aiming is not None
        xp, lookup, n, rows, choice = rules.xp, rules.lookup, rules.n_agents, rules.rows, events.choice
        target = rules.aiming(rules, state, choice)
        if rows.meetings is None:  # an agent covers what it stands on
            idle = rules.noop * rules.n_poses + xp.asarray(state.pose, rules.choice_dtype)
            choice = xp.where(target.other < n, idle, choice)
        changes, cells = rules.aiming.things, state.cells
        if changes:
            seen = xp.asarray(rules.at(cells, target.cell), rules.row_dtype)  # (*B, n)
        agents, pose, applied = lift(self.agents, state.pos.ndim), state.pose, []
        for i in range(n):
            me = slice(i, i + 1)
            now = choice[..., me] + xp.asarray((pose - state.pose)[..., me], rules.choice_dtype)
            row = lookup(rows.of_choice, now)  # (*B, 1)
            row = row + seen[..., me] if changes else row
            if rows.outcomes.n_branches > 1:
                row = realised(lookup, rows.outcomes, row, _drawn(rules, events, me))
            after, other = lookup(rows.thing_after, row) if changes else None, target.other[..., me]
            if rows.meetings is not None:
                row, pose = _met(rules, rows.meetings, row, now, pose, agents == other, events, me)
            if changes:
                seen = xp.where((target.cell == target.cell[..., me]) & (other == n), after, seen)
            pose = pose + xp.where(agents == i, lookup(rows.swap, row), rules.agent_dtype.type(0))
            applied.append(row)
        if changes:
            cells = rules.put(cells, target.cell, xp.asarray(seen, rules.cell_dtype))
        events = events.evolve(row=xp.concatenate(applied, axis=-1))
        return state.evolve(cells=cells, pose=pose), events.evolve(
            met=target.other
        ) if self.tells_met else events

    def useful(self, rules: Rules, state: EnvState, choice: Array) -> Array:
        """Whether it finds something to act on."""
        return answered(rules, state, choice)


def _drawn(rules: Rules, events: Events, who: slice) -> Array:
    """The draws for what some agents do."""
    return rules.draws.some("interact", events.drawn, who)


def _guard(rules: Rules) -> Table | None:
    """Rows in which nothing closes the cell; None if no action closes a walkable thing."""
    row, after = np.arange(rules.rows.first_joint), rules.rows.thing_after
    closes = (row % rules.n_things < rules.n_walkable) & (after >= rules.n_walkable)
    if not closes.any():
        return None
    return np.where(closes, row % (rules.n_items * rules.n_things), row).astype(rules.row_dtype)


def _faces(mine: list[Array], theirs: list[Array]) -> Array:
    """Whether one agent faces the cell where another stands."""
    return mine[0] == theirs[1]


def _met(
    rules: Rules,
    meetings: Meetings,
    row: Array,
    now: Array,
    pose: Array,
    other: Array,
    events: Events,
    me: slice,
) -> tuple[Array, Array]:
    """The row of one agent, and all poses, after it has met the agent that `other` (*B, n) marks, if any."""
    xp, lookup = rules.xp, rules.lookup
    theirs = xp.where(other, pose, rules.agent_dtype.type(0)).sum(axis=-1, keepdims=True, dtype=pose.dtype)
    line = lookup(meetings.of_choice, now) + lookup(rules.held, theirs).astype(np.int32)  # (*B, 1)
    if meetings.odds.n_branches > 1:
        line = realised(lookup, meetings.odds, line, _drawn(rules, events, me))
    pose = pose + xp.where(other, lookup(meetings.swap_other, line), rules.agent_dtype.type(0))
    met = (line + np.int32(meetings.first)).astype(rules.row_dtype)
    return xp.where(other.any(axis=-1, keepdims=True), met, row), pose
