"""Ticks: what things do by themselves."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from cogrid._core.author.answers import Near, OneCell
from cogrid._core.author.chance import SCALE, odds, one_of, realised
from cogrid._core.compile.asking import hand_ticks_of
from cogrid._core.phases.marks import marked
from cogrid._core.rules import Rules
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState, Events

#: The state so far, the state before the phase, the draws -> the state.
Change = Callable[[EnvState, EnvState, Array], EnvState]


def tick(rules: Rules, state: EnvState, events: Events) -> EnvState:
    """Apply every thing's tick; cells that can never hold a ticking thing are skipped."""
    before = state
    if rules.ticking.size:
        state = state.evolve(cells=rules.backend.lookup_at(rules.ticked, state.cells, rules.ticking))
    for _, change in changes(rules) if rules.lively else ():
        state = change(state, before, events.drawn)
    return state


@functools.lru_cache(maxsize=256)
def changes(rules: Rules) -> tuple[tuple[str, Change], ...]:
    """Further changes, by hook and in order: things and hands with random ticks, single cells."""
    found = [("tick", _case_by_case(rules))] if rules.chancy.size else []
    found += [("tick_hand", _hands(rules))] if rules.live_hands else []
    ones = enumerate(rules.game.one_cell())
    return (*found, *(("one_cell", _one_cell(rules, k, one)) for k, one in ones))


def _case_by_case(rules: Rules) -> Change:
    """Cells that can hold a thing whose tick depends on a draw or on what is near."""
    odds = rules.spec.symbols.ticks
    dtype = rules.backend.index_dtype(len(odds.values))
    after = odds.table(rules.spec.symbols.number.__getitem__, rules.cell_dtype)
    near = rules.game.near()
    count = None if near is None else _counter(rules, near)

    def change(state: EnvState, before: EnvState, drawn: Array) -> EnvState:
        case = rules.xp.asarray(rules.pick(before.cells, rules.chancy), dtype)  # (*B, k)
        if count is not None:
            case = case + count(before.cells).astype(dtype) * dtype.type(rules.n_things)
        if odds.n_branches > 1:
            case = realised(rules.lookup, odds, case, rules.draws.of("tick", drawn))
        return state.evolve(cells=rules.backend.place(state.cells, rules.chancy, rules.lookup(after, case)))

    return change


def _counter(rules: Rules, near: Near) -> Callable[[Array], Array]:
    """(*B, cells) -> (*B, k) the marks near each of the cells that need them, at most `most`."""
    most, offsets = np.int32(near.most), near.offsets
    marks = rules.symbols(near.mark, np.int32)
    if (marks < 0).any():
        raise ValueError(
            f"Near's mark of {rules.spec.symbols.things[marks.argmin()]!r} is {marks.min()}: "
            "return 0 or more."
        )
    marks = np.minimum(marks, most)  # the sum is cut off there anyway, and this fits its type
    largest = max(int(marks.max()) * max(1, len(offsets)), near.most)
    marks = marks.astype(next(t for t in (np.int8, np.int16, np.int32) if largest <= np.iinfo(t).max))

    def marks_of(cells: Array) -> Array:
        if marks.max() > 1:
            return rules.lookup(marks, cells)
        return marked(rules, marks > 0, cells).astype(marks.dtype)

    def everywhere(cells: Array) -> Array:
        total = marks_of(cells).sum(axis=-1, keepdims=True, dtype=np.int32)  # (*B, 1)
        return rules.xp.minimum(total, most)

    def around(cells: Array) -> Array:
        board = marks_of(cells).reshape(*cells.shape[:-1], rules.height, rules.width)
        total = rules.backend.around(board, offsets).reshape(cells.shape)  # (*B, cells)
        return rules.xp.minimum(rules.pick(total, rules.chancy), marks.dtype.type(most))

    return everywhere if near.radius is None else around


def _hands(rules: Rules) -> Change:
    """Apply every hand's tick, by a table over branches and poses of the change in the pose."""
    symbols = rules.spec.symbols
    by_pose = odds([hand_ticks_of(rules.game, symbols.items[item]) for item in rules.held])
    held = np.tile(rules.held, by_pose.n_branches)
    swap = by_pose.table(symbols.item_number.__getitem__, rules.agent_dtype) - held  # (branches · poses,)
    dtype = rules.backend.index_dtype(len(swap))

    def change(state: EnvState, before: EnvState, drawn: Array) -> EnvState:
        case = rules.xp.asarray(state.pose, dtype)
        if by_pose.n_branches > 1:
            case = realised(rules.lookup, by_pose, case, rules.draws.of("tick hand", drawn))
        return state.evolve(pose=state.pose + rules.lookup(swap, case))

    return change


def _one_cell(rules: Rules, number: int, one: OneCell) -> Change:
    """A random one of the cells that qualify changes: the draw times their number is its rank."""
    xp, symbols = rules.xp, rules.spec.symbols
    where = rules.cells_where(one.qualifies)  # (k,)
    qualifies = rules.symbols(one.qualifies, np.uint32)
    changed = [one.becomes(t) if one.qualifies(t) else t for t in symbols.things]
    after = np.array([symbols.number[thing] for thing in changed], rules.cell_dtype)
    bound = np.uint32((one.weight * SCALE + one.out_of // 2) // one.out_of)

    def change(state: EnvState, before: EnvState, drawn: Array) -> EnvState:
        mine = rules.draws.of("one cell", drawn)[..., 2 * number : 2 * number + 2]  # (*B, 2) whether, which
        seen = rules.pick(state.cells, where)
        marks = rules.lookup(qualifies, seen)  # (*B, k)
        ranks = marks.cumsum(axis=-1, dtype=np.uint32)  # from 1 on
        count, draw = ranks[..., -1:], mine[..., 1:]
        happens = (mine[..., :1] < bound) & (state.clock[..., None] >= np.int32(one.since))
        hit = happens & (ranks == one_of(draw, count) + np.uint32(1)) & (marks > 0)
        cells = rules.backend.place(state.cells, where, xp.where(hit, rules.lookup(after, seen), seen))
        return state.evolve(cells=cells)

    return change
