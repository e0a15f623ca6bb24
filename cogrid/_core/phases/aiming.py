"""Aiming: which cell or agent an action acts on, for games whose actions reach beyond the cell ahead."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cogrid._core.author.actions import ENTER, STRIDES
from cogrid._core.author.answers import Aim
from cogrid._core.phases.cropping import everywhere
from cogrid._core.rules import Rules
from cogrid.backend.array import Array, lift
from cogrid.backend.env_state import EnvState

#: Adjacent cells in the order in which they are tried: up, down, left, right.
ADJACENT = ((-1, 0), (1, 0), (0, -1), (0, 1))


class Target(NamedTuple):
    """The target of every agent's action."""

    found: Array  # (*B, n) bool whether there is a target
    cell: Array  # (*B, n) its cell; without a target, the first cell that was tried
    other: Array  # (*B, n) int32 the agent that stands there, n where none does


@functools.lru_cache(maxsize=256)
def aimer(rules: Rules) -> Callable[[EnvState, Array], Target]:
    """A function of the state and the agents' choices: the first cell in reach on which the action works.

    Cells are tried by distance and then from the middle outwards. A thing that is not walkable, or an agent,
    hides what is behind it in its lane; where an agent stands, only the agent can be the target.
    """
    xp, backend = rules.xp, rules.backend
    aims = [rules.game.aim(action.name) for action in rules.table_actions]
    kinds = tuple(dict.fromkeys(aims))
    rows, lanes = max(aim.reach for aim in kinds), max(aim.lanes for aim in kinds)
    rules.check_table("aiming", len(kinds) * 4 * rules.n_spots * rows * lanes)
    table = np.concatenate([_cells(rules, aim, rows, lanes) for aim in kinds])  # (kinds · 4 · places, C)
    first = [kinds.index(aim) * 4 * rules.n_spots for aim in aims]  # (actions,)
    start = np.add.outer(first, rules.facing.astype(np.int64) * rules.n_spots).astype(np.int32).reshape(-1)
    size = np.int32(rows * lanes)
    flat = np.where(table < rules.n_spots, table, 0).reshape(-1).astype(rules.pos_dtype)
    order = np.arange(size, dtype=np.int32).reshape(rows, lanes)
    answering = _answering(rules)  # (choices, symbols)
    width, answers_to = answering.shape[1], answering.reshape(-1)
    dtype, line_dtype = backend.index_dtype(width), backend.index_dtype(answering.size)
    hand = (rules.n_things + rules.held).astype(dtype)  # (poses,) the symbol of an agent
    void = np.full(1 + rules.n_spots - rules.n_cells, width - 1, dtype)

    def target(state: EnvState, choice: Array) -> Target:
        begin = rules.lookup(start, choice) + state.pos.astype(np.int32)  # (*B, n)
        cells = rules.lookup(table, begin)  # (*B, n, C)
        board = xp.asarray(state.cells, dtype)
        board = xp.concatenate((board, everywhere(rules, void, board)), axis=-1)
        board = rules.put(board, state.pos, rules.lookup(hand, state.pose))
        seen = rules.at(board, cells.reshape(*choice.shape[:-1], -1)).reshape(*choice.shape, rows, lanes)
        line = choice.astype(line_dtype) * line_dtype.type(width)
        answers = rules.lookup(answers_to, line[..., None, None] + seen.astype(line_dtype))
        best: Array = size
        for row in reversed(range(rows)):  # farther cells count only where the nearer ones are open
            behind = size if row == rows - 1 else xp.where(seen[..., row, :] < rules.n_walkable, best, size)
            best = xp.where(answers[..., row, :], lift(order[row], seen.ndim - 1), behind)
        best = best.min(axis=-1)  # (*B, n)
        found = best < size
        cell = rules.lookup(flat, begin * size + xp.where(found, best, np.int32(0)))
        return Target(found, cell, backend.who(cell[..., None], state.pos)[..., 0].astype(np.int32))

    return target


def _answering(rules: Rules) -> np.ndarray[Any, Any]:
    """(choices, things + items + 1) possible targets: a thing, an agent by what it holds, never the void."""
    rules.check_table("what answers", len(rules.hand) * (rules.n_things + rules.n_items + 1))
    found = np.zeros((len(rules.hand), rules.n_things + rules.n_items + 1), bool)
    if things_answer(rules):
        found[:, : rules.n_things] = rules.useful[rules.hand[:, None] + np.arange(rules.n_things)]
    if rules.spec.symbols.meetings is not None:
        found[:, rules.n_things : -1] = rules.meet_useful[rules.meet_hand[:, None] + np.arange(rules.n_items)]
    return found


@functools.lru_cache(maxsize=256)
def things_answer(rules: Rules) -> bool:
    """Whether an action can do anything with a thing; if not, only agents are targets."""
    by_action = [intent != ENTER for intent in rules.spec.symbols.intents]
    return bool(rules.useful.reshape(len(by_action), -1)[by_action].any())


def _cells(rules: Rules, aim: Aim, rows: int, lanes: int) -> np.ndarray[Any, Any]:
    """(4 · places, rows · lanes) the cells aimed at, by facing and place; the void beyond board and reach."""
    found = np.full((4, rules.n_spots, rows, lanes), rules.n_spots, np.int32)
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
                found[facing, : rules.n_cells, distance, lane] = np.where(
                    inside, y * rules.width + x, rules.n_spots
                )
    return found.reshape(4 * rules.n_spots, rows * lanes).astype(rules.backend.index_dtype(rules.n_spots + 1))
