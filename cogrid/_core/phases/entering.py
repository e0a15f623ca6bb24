"""Entering: what happens to agents that have walked onto a thing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from cogrid._core.compile.actions import ENTER
from cogrid._core.compile.odds import realised
from cogrid._core.phases.phase import Events, Phase, Table
from cogrid.backend.env_state import EnvState

if TYPE_CHECKING:
    from cogrid._core.rules import Rules


@dataclass(frozen=True, eq=False)
class Entering(Phase):
    """Apply the rule row of every agent that moved and the thing it now stands on; no cell has two agents.

    An agent that moved did nothing else, so this row replaces an empty one.
    """

    first_rows: Table  # (poses,) the row of entering with the pose's item; the thing is added
    drawn: Table  # the agents whose outcome is drawn: all or none
    name: ClassVar[str] = "enter"

    @classmethod
    def compile(cls, rules: Rules) -> Self | None:
        """None if nothing happens to an agent by walking."""
        if ENTER not in rules.spec.symbols.intents:
            return None
        first = rules.spec.symbols.intents.index(ENTER) * rules.n_items
        rows = (first + rules.held.astype(np.int64)) * rules.n_things
        return cls(rows.astype(rules.row_dtype), rules.rows.drawn)

    @property
    def draws(self) -> Mapping[str, Table]:
        """Those of the interaction: an agent that acts does not walk."""
        return {"interact": self.drawn}

    def __call__(self, rules: Rules, state: EnvState, events: Events) -> tuple[EnvState, Events]:
        xp, lookup, rows, moved = rules.xp, rules.lookup, rules.rows, events.moved
        where = rules.on_board(state.pos)  # (*B, n)
        seen = rules.at(state.cells, where)
        row = lookup(self.first_rows, state.pose) + xp.asarray(seen, rules.row_dtype)
        if self.drawn.size:
            row = realised(lookup, rows.outcomes, row, rules.draws.of("interact", events.drawn))
        thing = xp.where(moved, xp.asarray(lookup(rows.thing_after, row), rules.cell_dtype), seen)
        swap = xp.where(moved, lookup(rows.swap, row), rules.agent_dtype.type(0))
        state = state.evolve(cells=rules.put(state.cells, where, thing), pose=state.pose + swap)
        return state, events.evolve(row=xp.where(moved, row, events.row))
