"""Ticks: what things do by themselves."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState, Events
from cogrid.core.chance import SCALE, realised
from cogrid.core.game import OneCell
from cogrid.core.rules import Rules

Change = Callable[[Array, EnvState, Array], Array]  # cells, the state as the phase began, its draws -> cells


def tick(rules: Rules, state: EnvState, events: Events) -> EnvState:
    """Every thing becomes what its tick makes of it; some cells can never hold one that ticks."""
    cells = state.cells
    if rules.ticking.size:
        cells = rules.backend.lookup_at(rules.ticked, cells, rules.ticking)
    for change in changes(rules) if rules.chance else ():
        cells = change(cells, state, events.drawn)
    return state if cells is state.cells else state.evolve(cells=cells)


@functools.lru_cache(maxsize=256)
def changes(rules: Rules) -> tuple[Change, ...]:
    """What chance does after the sure ticks, in its order; nothing for most games."""
    found = [_by_chance(rules)] if rules.chancy.size else []
    return (*found, *(_one_cell(rules, k, one) for k, one in enumerate(rules.spec.game.one_cell())))


def _by_chance(rules: Rules) -> Change:
    """Cells that can hold a thing whose tick is drawn get what their draw makes of them."""
    odds = rules.spec.symbols.ticks
    dtype = rules.backend.index_dtype(len(odds.values))
    after = odds.table(rules.spec.symbols.number.__getitem__, rules.cell_dtype)

    def change(cells: Array, state: EnvState, drawn: Array) -> Array:
        case = rules.xp.asarray(rules.pick(state.cells, rules.chancy), dtype)  # (*B, k)
        index = realised(rules.lookup, odds, case, rules.draws.of("tick", drawn))
        return rules.backend.place(cells, rules.chancy, rules.lookup(after, index))

    return change


def _one_cell(rules: Rules, number: int, one: OneCell) -> Change:
    """One of the cells that qualify, each as likely, changes: the draw, times their number, is its rank."""
    xp, symbols = rules.xp, rules.spec.symbols
    cells_ = rules.cells_where(one.qualifies)  # (k,)
    qualifies = rules.symbols(one.qualifies, np.uint32)
    after = rules.symbols(
        lambda t: symbols.number[one.becomes(t) if one.qualifies(t) else t], rules.cell_dtype
    )
    bound = np.uint32((one.weight * SCALE + one.out_of // 2) // one.out_of)

    def change(cells: Array, state: EnvState, drawn: Array) -> Array:
        mine = rules.draws.of("one cell", drawn)[..., 2 * number : 2 * number + 2]  # (*B, 2) whether, which
        seen = rules.pick(cells, cells_)
        ranks = rules.lookup(qualifies, seen).cumsum(axis=-1, dtype=np.uint32)  # (*B, k) from 1 on
        count, draw = ranks[..., -1:], mine[..., 1:]
        low = (draw & np.uint32(0xFFF)) * count  # the product has up to 39 bits, so in two parts
        chosen = ((draw >> np.uint32(12)) * count + (low >> np.uint32(12))) >> np.uint32(12)  # (*B, 1)
        happens = (mine[..., :1] < bound) & (state.clock[..., None] >= np.int32(one.since))
        hit = happens & (ranks == chosen + np.uint32(1)) & (rules.lookup(qualifies, seen) > 0)
        return rules.backend.place(cells, cells_, xp.where(hit, rules.lookup(after, seen), seen))

    return change
