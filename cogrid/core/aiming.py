"""Aiming: which cell, or which agent, an action is about, where games look further than the cell ahead."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cogrid.backend.array import Array, lift
from cogrid.backend.env_state import EnvState
from cogrid.core.actions import ENTER, STRIDES
from cogrid.core.answers import Aim
from cogrid.core.rules import Rules

#: Adjacent cells in the order in which they are tried: up, down, left, right.
ADJACENT = ((-1, 0), (1, 0), (0, -1), (0, 1))


class Target(NamedTuple):
    """What every agent's action is about."""

    found: Array  # (*B, n) bool whether anything answers
    cell: Array  # (*B, n) where it is; where nothing answers, the first cell that was tried
    other: Array  # (*B, n) int32 the agent that stands there, n where none does


@functools.lru_cache(maxsize=256)
def aimer(rules: Rules) -> Callable[[EnvState, Array], Target]:
    """A function of the state and the agents' choices: the first cell in reach that answers.

    Cells are tried by distance and then from the middle outwards. A thing that is not walkable, or an agent,
    hides what is behind it in its lane; where an agent stands, only the agent can answer.
    """
    xp, n, symbols = rules.xp, rules.n_agents, rules.spec.symbols
    aims = [rules.spec.game.aim(action.name) for action in rules.table_actions]
    kinds = tuple(dict.fromkeys(aims))
    rows, lanes = max(aim.reach for aim in kinds), max(aim.lanes for aim in kinds)
    rules.check_table("aiming", len(kinds) * 4 * rules.n_spots * rows * lanes)
    table = np.concatenate([_cells(rules, aim, rows, lanes) for aim in kinds])  # (kinds · 4 · places, C)
    first = [kinds.index(aim) * 4 * rules.n_spots for aim in aims]  # (actions,)
    useful = things_answer(rules)
    start = np.add.outer(first, rules.facing.astype(np.int64) * rules.n_spots).astype(np.int32).reshape(-1)

    size, flat = np.int32(rows * lanes), table.reshape(-1)
    order, agents = np.arange(size, dtype=np.int32), np.arange(n, dtype=np.int8)

    def standing(cells: Array, pos: Array) -> Array:
        """(*B, n, C) int8 the agent that stands in each cell, n where none does."""
        stands = cells[..., None] == pos[..., None, None, :]  # (*B, n, C, n)
        return xp.where(stands, lift(agents, stands.ndim), np.int8(n)).min(axis=-1)

    def target(state: EnvState, choice: Array) -> Target:
        batch = state.pos.shape[:-1]
        begin = rules.lookup(start, choice) + state.pos.astype(np.int32)  # (*B, n)
        cells = rules.lookup(table, begin)  # (*B, n, C)
        there = cells >= 0
        cells = xp.where(there, cells, cells.dtype.type(0))
        things = rules.at(state.cells, cells.reshape(*batch, -1)).reshape(cells.shape)
        other = standing(cells, state.pos)
        answers: Array = np.bool_(False)
        if useful:
            row = rules.lookup(rules.hand, choice)[..., None] + things.astype(rules.row_dtype)
            answers = rules.lookup(rules.useful, row)
        if symbols.meetings is not None:
            who = xp.minimum(other, np.int8(n - 1)).reshape(*batch, -1)  # anybody, where nobody stands
            held = rules.at(state.held.astype(np.int32), who).reshape(other.shape)
            meets = rules.lookup(rules.meet_useful, rules.lookup(rules.meet_hand, choice)[..., None] + held)
            answers = xp.where(other < n, meets, answers)
        else:
            answers = answers & (other == n)
        if rows > 1:  # what is beside the agent is never hidden
            shape, open_ = (*cells.shape[:-1], rows, lanes), (things < rules.n_walkable) & (other == n)
            answers = _unhidden(xp, answers.reshape(shape), open_.reshape(shape)).reshape(cells.shape)
        best = xp.where(answers & there, lift(order, cells.ndim), size).min(axis=-1)  # (*B, n)
        found = best < size
        cell = rules.lookup(flat, begin * size + xp.where(found, best, np.int32(0)))
        cell = xp.where(cell >= 0, cell, cell.dtype.type(0))
        return Target(found, cell, standing(cell[..., None], state.pos)[..., 0].astype(np.int32))

    return target


@functools.lru_cache(maxsize=256)
def things_answer(rules: Rules) -> bool:
    """Whether an action can do anything with a thing; if not, actions are about agents alone."""
    by_action = [intent != ENTER for intent in rules.spec.symbols.intents]
    return bool(rules.useful.reshape(len(by_action), -1)[by_action].any())


def _unhidden(xp: Any, answers: Array, open_: Array) -> Array:
    """(…, rows, lanes) the cells that answer, where all cells before them in their lane are open."""
    found, clear = [answers[..., 0, :]], open_[..., 0, :]
    for row in range(1, open_.shape[-2]):
        found.append(answers[..., row, :] & clear)
        clear = clear & open_[..., row, :]
    return xp.stack(found, axis=-2)


def _cells(rules: Rules, aim: Aim, rows: int, lanes: int) -> np.ndarray[Any, Any]:
    """(4 · places, rows · lanes) what is aimed at by facing and place; −1 beyond the board and the reach."""
    found = np.full((4, rules.n_spots, rows, lanes), -1, np.int32)
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
                found[facing, : rules.n_cells, distance, lane] = np.where(inside, y * rules.width + x, -1)
    return found.reshape(4 * rules.n_spots, rows * lanes).astype(rules.pos_dtype)
