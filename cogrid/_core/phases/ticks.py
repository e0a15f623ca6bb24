"""Ticks: what things do by themselves."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from cogrid._core.author.cells import Near
from cogrid._core.compile.asking import ticks_of
from cogrid._core.compile.odds import Odds, realised
from cogrid._core.phases.phase import Events, Phase, Table
from cogrid._core.phases.tables.marks import marked
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState

if TYPE_CHECKING:
    from cogrid._core.rules import Rules


@dataclass(frozen=True, eq=False)
class Ticking(Phase):
    """Apply every thing's tick; cells that can never hold a ticking thing are skipped."""

    after: Table  # (things,) the symbol after the tick, in the first branch
    cells: Table  # (k,) the cells that can hold a thing that ticks, in any branch
    cases: Cases | None  # of the things whose tick depends on a draw or on what is near
    name: ClassVar[str] = "tick"

    @classmethod
    def compile(cls, rules: Rules) -> Self | None:
        """None if nothing ticks."""
        symbols = rules.spec.symbols
        first = symbols.ticks.values[: rules.n_things]  # of the first branch, which is usually the only one
        cells = rules.cells_where(lambda thing: ticks_of(rules.answers, thing)[0][0][0] != thing)
        cases = Cases.compile(rules)
        if not cells.size and cases is None:
            return None
        return cls(np.array([symbols.number[thing] for thing in first], rules.cell_dtype), cells, cases)

    @property
    def draws(self) -> Mapping[str, Table]:
        """One for each cell whose tick is drawn."""
        return {} if self.cases is None else {"tick": self.cases.drawn}

    def __call__(self, rules: Rules, state: EnvState, events: Events) -> tuple[EnvState, Events]:
        cells = state.cells
        if self.cells.size:
            cells = rules.backend.lookup_at(self.after, cells, self.cells)
        if self.cases is not None:
            cells = self.cases(rules, cells, state.cells, events)
        return state.evolve(cells=cells), events


@dataclass(frozen=True, eq=False)
class Cases:
    """The cells that can hold a thing whose tick depends on a draw or on what is near, case by case."""

    cells: Table  # (k,)
    after: Table  # (branches · cases,) symbol
    odds: Odds  # by the count near the cell and the thing
    near: NearCount | None
    dtype: np.dtype[np.signedinteger]  # of a case

    @classmethod
    def compile(cls, rules: Rules) -> Self | None:
        """None if every thing always becomes the same."""
        answers, symbols = rules.answers, rules.spec.symbols
        cells = rules.cells_where(lambda thing: len({*itertools.chain(*ticks_of(answers, thing))}) > 1)
        if not cells.size:
            return None
        after = symbols.ticks.table(symbols.number.__getitem__, rules.cell_dtype)
        near, dtype = answers.near, rules.backend.index_dtype(len(symbols.ticks.values))
        count = None if near is None else NearCount.compile(rules, near, cells)
        return cls(cells, after, symbols.ticks, count, dtype)

    @property
    def drawn(self) -> Table:
        """The cells that need a draw: all or none."""
        return self.cells if self.odds.n_branches > 1 else self.cells[:0]

    def __call__(self, rules: Rules, cells: Array, before: Array, events: Events) -> Array:
        """The cells with these ticks; what is near is counted on the board before any tick."""
        case = rules.xp.asarray(rules.pick(before, self.cells), self.dtype)  # (*B, k)
        if self.near is not None:
            case = case + self.near(rules, before).astype(self.dtype) * self.dtype.type(rules.n_things)
        if self.odds.n_branches > 1:
            case = realised(rules.lookup, self.odds, case, rules.draws.of("tick", events.drawn))
        return rules.backend.place(cells, self.cells, rules.lookup(self.after, case))


@dataclass(frozen=True, eq=False)
class NearCount:
    """Counts the marks near each of the cells that need them, at most `near.most`."""

    near: Near
    offsets: tuple[tuple[int, int], ...]  # rows and columns from a cell to those near it
    marks: Table  # (things,) in the narrowest type that the sum fits
    cells: Table  # (k,)

    @classmethod
    def compile(cls, rules: Rules, near: Near, cells: Table) -> Self:
        """What each thing adds to the counts near it, cut off at the most that the game asks about."""
        marks = rules.symbols(near.mark, np.int32)
        marks = np.minimum(marks, near.most)  # the sum is cut off there anyway, and this fits its type
        largest = max(int(marks.max()) * max(1, len(near.offsets)), near.most)
        dtype = next(t for t in (np.int8, np.int16, np.int32) if largest <= np.iinfo(t).max)
        return cls(near, near.offsets, marks.astype(dtype), cells)

    def __call__(self, rules: Rules, cells: Array) -> Array:
        """(*B, k), or (*B, 1) where the whole board is near."""
        board, most = self._marks(rules, cells), self.near.most
        if self.near.radius is None:
            return rules.xp.minimum(board.sum(axis=-1, keepdims=True, dtype=np.int32), np.int32(most))
        board = board.reshape(*cells.shape[:-1], rules.height, rules.width)
        total = rules.backend.around(board, self.offsets).reshape(cells.shape)  # (*B, cells)
        return rules.xp.minimum(rules.pick(total, self.cells), self.marks.dtype.type(most))

    def _marks(self, rules: Rules, cells: Array) -> Array:
        if self.marks.max() > 1:
            return rules.lookup(self.marks, cells)
        return marked(rules, self.marks > 0, cells).astype(self.marks.dtype)
