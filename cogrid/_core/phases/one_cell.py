"""One cell: random changes of a single cell of the board, after the ticks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from cogrid._core.author.cells import OneCell
from cogrid._core.author.chance import SCALE
from cogrid._core.compile.odds import one_of
from cogrid._core.phases.phase import Events, Phase, Table
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState

if TYPE_CHECKING:
    from cogrid._core.rules import Rules


@dataclass(frozen=True, eq=False)
class Picking(Phase):
    """Make the changes of single cells, in their order."""

    changes: tuple[CellChange, ...]
    name: ClassVar[str] = "one cell"

    @classmethod
    def compile(cls, rules: Rules) -> Self | None:
        """None if the game has no such changes."""
        changes = tuple(CellChange.compile(rules, one) for one in rules.answers.one_cell)
        return cls(changes) if changes else None

    @property
    def draws(self) -> Mapping[str, Table]:
        """Two for each change: whether it happens, and where."""
        return {"one cell": np.arange(2 * len(self.changes))}

    def __call__(self, rules: Rules, state: EnvState, events: Events) -> tuple[EnvState, Events]:
        for number, change in enumerate(self.changes):
            drawn = rules.draws.of("one cell", events.drawn)[..., 2 * number : 2 * number + 2]  # (*B, 2)
            state = state.evolve(cells=change(rules, state, drawn))
        return state, events


@dataclass(frozen=True, eq=False)
class CellChange:
    """A random one of the cells that qualify changes: the draw times their number is its rank."""

    cells: Table  # (k,) the cells that can ever qualify
    qualifies: Table  # (things,) uint32 1 where it does
    after: Table  # (things,) symbol
    bound: np.uint32  # it happens for draws below this
    since: int  # and from this step on

    @classmethod
    def compile(cls, rules: Rules, one: OneCell) -> Self:
        """Which cells and things qualify, what they become, and the bound below which a draw changes one."""
        symbols = rules.spec.symbols
        changed = [one.becomes(thing) if one.qualifies(thing) else thing for thing in symbols.things]
        return cls(
            rules.cells_where(one.qualifies),
            rules.symbols(one.qualifies, bool).astype(np.uint32),
            np.array([symbols.number[thing] for thing in changed], rules.cell_dtype),
            np.uint32((one.weight * SCALE + one.out_of // 2) // one.out_of),
            one.since,
        )

    def __call__(self, rules: Rules, state: EnvState, drawn: Array) -> Array:
        """The board after the change, if it happens."""
        seen = rules.pick(state.cells, self.cells)
        marks = rules.lookup(self.qualifies, seen)  # (*B, k)
        ranks = marks.cumsum(axis=-1, dtype=np.uint32)  # from 1 on
        count, which = ranks[..., -1:], drawn[..., 1:]
        happens = (drawn[..., :1] < self.bound) & (state.clock[..., None] >= np.int32(self.since))
        hit = happens & (ranks == one_of(which, count) + np.uint32(1)) & (marks > 0)
        after = rules.xp.where(hit, rules.lookup(self.after, seen), seen)
        return rules.backend.place(state.cells, self.cells, after)
