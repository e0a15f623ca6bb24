"""Aiming: which cell or agent an action acts on, for games whose actions reach beyond the cell ahead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cogrid._core.author.acting import Aim
from cogrid._core.compile.actions import ENTER, STRIDES
from cogrid._core.phases.phase import Table
from cogrid.backend.array import Array, everywhere, lift
from cogrid.backend.env_state import EnvState

if TYPE_CHECKING:
    from cogrid._core.rules import Rules

#: Adjacent cells in the order in which they are tried: up, down, left, right.
ADJACENT = ((-1, 0), (1, 0), (0, -1), (0, 1))


class AimedTarget(NamedTuple):
    """The target of every agent's action."""

    exists: Array  # (*B, n) bool whether there is a target
    cell: Array  # (*B, n) its cell; without a target, the first cell that was tried
    other: Array  # (*B, n) int32 the agent that stands there, n where none does


@dataclass(frozen=True, eq=False)
class Aiming:
    """The first cell in reach on which an action works.

    Cells are tried by distance and then from the middle outwards. A thing that is not walkable, or an agent,
    hides what is behind it in its lane; where an agent stands, only the agent can be the target.
    """

    start: Table  # (choices,) int32 the first line of the two tables below; the place is added
    cells: Table  # (lines, rows · lanes) the cells in reach
    flat: Table  # the same as positions in one dimension
    order: Table  # (rows, lanes) int32 the order in which cells are tried
    answers: Table  # (choices · symbols,) bool possible targets: see `_answering`
    n_symbols: int
    hand: Table  # (poses,) the symbol of an agent
    void: Table  # the symbols of places off the board
    things: bool  # an action can do something with a thing; if not, only agents are targets

    @classmethod
    def compile(cls, rules: Rules) -> Aiming | None:
        """None if all actions are for the thing in the cell ahead."""
        aims = [rules.answers.aim(action.name) for action in rules.table_actions]
        if rules.rows.meetings is None and all(aim == Aim() for aim in aims):
            return None
        kinds = tuple(dict.fromkeys(aims))
        rows, lanes = max(aim.reach for aim in kinds), max(aim.lanes for aim in kinds)
        size, remedy = len(kinds) * 4 * rules.n_spots * rows * lanes, "use a smaller board or shorter aims"
        rules.check_table("the table of targets", size, remedy)
        table = np.concatenate([_cells(rules, aim, rows, lanes) for aim in kinds])  # (kinds · 4 · places, C)
        first = [kinds.index(aim) * 4 * rules.n_spots for aim in aims]  # (actions,)
        start = np.add.outer(first, rules.facing.astype(np.int64) * rules.n_spots)
        flat = np.where(table < rules.n_spots, table, 0).reshape(-1).astype(rules.pos_dtype)
        order = np.arange(rows * lanes, dtype=np.int32).reshape(rows, lanes)
        by_action = [intent != ENTER for intent in rules.spec.symbols.intents]
        things = bool(rules.rows.useful.reshape(len(by_action), -1)[by_action].any())
        answering = _answering(rules, things)  # (choices, symbols)
        dtype = rules.backend.index_dtype(answering.shape[1])
        hand = (rules.n_things + rules.held).astype(dtype)
        void = np.full(1 + rules.n_spots - rules.n_cells, answering.shape[1] - 1, dtype)
        return cls(
            start.astype(np.int32).reshape(-1),
            table,
            flat,
            order,
            answering.reshape(-1),
            answering.shape[1],
            hand,
            void,
            things,
        )

    def __call__(self, rules: Rules, state: EnvState, choice: Array) -> AimedTarget:
        xp, backend, (rows, lanes) = rules.xp, rules.backend, self.order.shape
        size, line_dtype = np.int32(rows * lanes), backend.index_dtype(self.answers.size)
        begin = rules.lookup(self.start, choice) + state.pos.astype(np.int32)  # (*B, n)
        cells = rules.lookup(self.cells, begin)  # (*B, n, C)
        board = xp.asarray(state.cells, self.hand.dtype)
        board = xp.concatenate((board, everywhere(rules.xp, self.void, board)), axis=-1)
        board = rules.put(board, state.pos, rules.lookup(self.hand, state.pose))
        seen = rules.at(board, cells.reshape(*choice.shape[:-1], -1)).reshape(*choice.shape, rows, lanes)
        line = choice.astype(line_dtype) * line_dtype.type(self.n_symbols)
        answers = rules.lookup(self.answers, line[..., None, None] + seen.astype(line_dtype))
        best: Array = size
        for row in reversed(range(rows)):  # farther cells count only where the nearer ones are open
            behind = size if row == rows - 1 else xp.where(seen[..., row, :] < rules.n_walkable, best, size)
            best = xp.where(answers[..., row, :], lift(self.order[row], seen.ndim - 1), behind)
        best = best.min(axis=-1)  # (*B, n)
        exists = best < size
        cell = rules.lookup(self.flat, begin * size + xp.where(exists, best, np.int32(0)))
        return AimedTarget(exists, cell, backend.who(cell[..., None], state.pos)[..., 0].astype(np.int32))


def answered(rules: Rules, state: EnvState, choice: Array) -> Array:
    """(*B, n, actions) whether each choice finds something that it can act on."""
    if rules.aiming is not None:
        finds = [rules.aiming(rules, state, choice[..., k]).exists for k in range(rules.n_actions)]
        return rules.xp.stack(finds, axis=-1)
    faced = rules.on_board(state.pos + rules.lookup(rules.front, state.pose))
    seen = rules.at(state.cells, faced).astype(rules.row_dtype)  # (*B, n)
    return rules.lookup(rules.rows.useful, rules.lookup(rules.rows.of_choice, choice) + seen[..., None])


def _answering(rules: Rules, things: bool) -> Table:
    """(choices, things + items + 1) possible targets: a thing, an agent by what it holds, never the void."""
    rows, n_symbols = rules.rows, rules.n_things + rules.n_items + 1
    size, remedy = len(rows.of_choice) * n_symbols, "use fewer things, items or actions"
    rules.check_table("the table of targets", size, remedy)
    answering = np.zeros((len(rows.of_choice), n_symbols), bool)
    if things:
        answering[:, : rules.n_things] = rows.useful[rows.of_choice[:, None] + np.arange(rules.n_things)]
    if rows.meetings is not None:
        lines = rows.meetings.of_choice[:, None] + np.arange(rules.n_items)
        answering[:, rules.n_things : -1] = rows.meetings.useful[lines]
    return answering


def _cells(rules: Rules, aim: Aim, rows: int, lanes: int) -> Table:
    """(4 · places, rows · lanes) the cells aimed at, by facing and place; the void beyond board and reach."""
    cells = np.full((4, rules.n_spots, rows, lanes), rules.n_spots, np.int32)
    row, column = np.divmod(np.arange(rules.n_cells), rules.width)
    for facing, (down, right) in enumerate(STRIDES):
        for distance in range(aim.reach):
            for lane in range(aim.lanes):
                aside = (lane + 1) // 2 * (-1 if lane % 2 else 1)  # 0, −1, 1, −2, 2 …
                ahead = distance + 1
                r, c = down * ahead + right * aside, right * ahead - down * aside
                if aim.adjacent:
                    r, c = ADJACENT[lane]
                y, x = row + r, column + c
                inside = (y >= 0) & (y < rules.height) & (x >= 0) & (x < rules.width)
                cells[facing, : rules.n_cells, distance, lane] = np.where(
                    inside, y * rules.width + x, rules.n_spots
                )
    return cells.reshape(4 * rules.n_spots, rows * lanes).astype(rules.backend.index_dtype(rules.n_spots + 1))
