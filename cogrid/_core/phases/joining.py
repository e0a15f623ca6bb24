"""Joining: agents that work on the same cell in the same step, with strengths that add up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from cogrid._core.compile.asking import acts
from cogrid._core.compile.intents import joint_intent
from cogrid._core.phases.phase import Events, Phase, Table
from cogrid._core.phases.tables.aiming import ADJACENT, answered
from cogrid._core.phases.tables.marks import marked
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState

if TYPE_CHECKING:
    from cogrid._core.rules import Rules


@dataclass(frozen=True, eq=False)
class Joining(Phase):
    """Apply to all who work on a cell the rule row of their joint strength; all leave the same thing there.

    They come after the agents that act alone, and find what those left. An agent whose joint action met
    another has acted and does not work, so this row replaces an empty one.
    """

    strength: Table  # (choices,) int32, 0 for agents that do something else
    most: int  # the limit of the sum
    thing_after: Table  # (lines,) symbol, by total strength, item and thing
    swaps: bool  # hands change
    meets: bool  # the joint action can also meet an agent
    sought: Table | None  # (things,) what workers look for in adjacent cells, if no agent can hide it
    name: ClassVar[str] = "join"

    @classmethod
    def compile(cls, rules: Rules) -> Self | None:
        """None in games without joint work."""
        answers, symbols, rows = rules.answers, rules.spec.symbols, rules.rows
        if (joint := answers.joint) is None:
            return None
        own = rules.items(lambda item: joint.strength_of(item) if acts(answers, item) else 0, np.int32)
        is_joint = np.array([action.name == joint.name for action in rules.table_actions])
        strength = np.where(is_joint[:, None], own[rules.held], 0).astype(np.int32).reshape(-1)
        after = [symbols.number[outcome.thing] for _, _, outcome in symbols.joint_rows]
        swaps = bool(rows.swap[rows.first_joint : rows.first_meeting].any())
        intent, pairs = symbols.intents.index(joint_intent(answers)), rules.n_items**2
        meets = rows.meetings is not None and bool(
            rows.meetings.useful[intent * pairs : (intent + 1) * pairs].any()
        )
        things = np.array(after, rules.cell_dtype)
        return cls(strength, joint.most, things, swaps, meets, _sought(rules))

    def __call__(self, rules: Rules, state: EnvState, events: Events) -> tuple[EnvState, Events]:
        xp, lookup, rows, now = rules.xp, rules.lookup, rules.rows, events.choice
        if rules.acts_alone:  # hands may have changed
            now = now // rules.n_poses * rules.n_poses + xp.asarray(state.pose, rules.choice_dtype)
        strength = lookup(self.strength, now)  # (*B, n)
        if self.meets:
            strength = xp.where(lookup(rows.verb, events.row) > 0, np.int32(0), strength)
        if self.sought is not None:
            cell, seen = _beside(rules, self.sought, state)
        elif rules.aiming is not None:
            target = rules.aiming(rules, state, now)
            cell, strength = target.cell, xp.where(target.other == rules.n_agents, strength, np.int32(0))
            seen = rules.at(state.cells, cell)
        else:
            cell = rules.on_board(state.pos + lookup(rules.front, state.pose))
            seen = rules.at(state.cells, cell)
        total = 0
        for i in range(rules.n_agents):
            me = slice(i, i + 1)
            total = total + xp.where(cell == cell[..., me], strength[..., me], np.int32(0))
        total, works = xp.minimum(total, np.int32(self.most)), strength > 0
        line = (total * rules.n_items + lookup(rules.held, state.pose).astype(np.int32)) * rules.n_things
        line = line + seen.astype(np.int32)
        row = (line + np.int32(rows.first_joint)).astype(rules.row_dtype)
        cells = rules.backend.put_where(works, state.cells, cell, lookup(self.thing_after, line))
        alone = rules.row_dtype.type(0) if events.row is None else events.row
        if self.swaps:
            pose = state.pose + xp.where(works, lookup(rows.swap, row), rules.agent_dtype.type(0))
            state = state.evolve(pose=pose)
        return state.evolve(cells=cells), events.evolve(row=xp.where(works, row, alone))

    def useful(self, rules: Rules, state: EnvState, choice: Array) -> Array | None:
        """Whether it finds something to work on; the interaction answers where agents also act alone."""
        return None if rules.acts_alone else answered(rules, state, choice)


def _sought(rules: Rules) -> Table | None:
    """(things,) what workers look for in adjacent cells, if no agent can hide it; else None."""
    answers, symbols = rules.answers, rules.spec.symbols
    joint = answers.joint
    if joint is None or not joint.aim.adjacent or symbols.meet_rows or rules.leaves:
        return None
    intent = symbols.intents.index(joint_intent(answers))
    useful = rules.rows.useful.reshape(len(symbols.intents), rules.n_items, -1)[intent]
    works = rules.items(lambda item: joint.strength_of(item) > 0 and answers.can_act(item), bool)
    wanted = useful[works]
    differ = (wanted != wanted[:1]).any() or wanted[:, : rules.n_walkable].any()
    return None if differ or not len(wanted) else wanted[0]


def _beside(rules: Rules, sought: Table, state: EnvState) -> tuple[Array, Array]:
    """(*B, n) each: the first cell adjacent to an agent with what is sought, or else the first."""
    xp, n = rules.xp, rules.n_agents
    cells = [state.pos + rules.pos_dtype.type(row * rules.width + column) for row, column in ADJACENT]
    things = rules.at(state.cells, xp.concatenate(cells, axis=-1))  # (*B, 4 n), by one read
    cell, seen = cells[0], things[..., :n]
    for k in reversed(range(len(cells))):
        thing = things[..., k * n : (k + 1) * n]
        is_sought = marked(rules, sought, thing)
        cell, seen = xp.where(is_sought, cells[k], cell), xp.where(is_sought, thing, seen)
    return cell, seen
