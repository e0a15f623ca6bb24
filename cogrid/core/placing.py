"""Placing: things that reset puts on the floor, one after the other, where there is room for them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from cogrid.backend.array import Array
from cogrid.core.answers import Near
from cogrid.core.chance import odds, one_of, realised
from cogrid.core.game import Game
from cogrid.core.layout import FLOOR
from cogrid.core.spec import Spec

if TYPE_CHECKING:
    from cogrid.core.rules import Rules


def placing_draws(game: Game) -> np.ndarray[Any, Any]:
    """The numbers of what is drawn: 2k for the cell of thing k, 2k + 1 for what it is."""
    placed = game.placed()
    return np.arange(0 if placed is None else 2 * placed.count)


@functools.lru_cache(maxsize=256)
def placing_cells(spec: Spec) -> np.ndarray[Any, Any]:
    """(layouts, cells) where things may be placed: bare floor, far enough from the edge."""
    placed, inside = spec.game.placed(), np.zeros((spec.height, spec.width), bool)
    if placed is not None:
        edge = placed.margin
        inside[edge:-edge, edge:-edge] = True
    floor = [[letter == FLOOR for row in board for letter in row] for board in spec.boards]
    cells: np.ndarray[Any, Any] = inside.reshape(-1) & np.array(floor)
    return cells


def place_things(rules: Rules, drawn: Array, cells: Array, free: Array, pose: Array) -> Array:
    """Every draw, times the number of cells that are still `free` (*B, cells), is the rank of a cell."""
    xp, game, symbols = rules.xp, rules.spec.game, rules.spec.symbols
    placed, (least, cases) = game.placed(), symbols.placed
    assert placed is not None
    mine, things = rules.start_draws.of("placed", drawn), odds(cases)
    after = things.table(symbols.number.__getitem__, rules.cell_dtype)
    strength = rules.lookup(rules.items(game.strength, np.int32)[rules.held], pose)  # (*B, n)
    weakest = xp.sort(strength, axis=-1)[..., : placed.weakest].sum(axis=-1, keepdims=True, dtype=np.int32)
    near = Near(bool, 1, placed.apart - 1, "diamond").offsets if placed.apart > 1 else ()
    for k in range(placed.count):
        which, what = (mine[..., number : number + 1] for number in (2 * k, 2 * k + 1))
        ranks = free.cumsum(axis=-1, dtype=np.uint32)  # from 1 on
        hit = free & (ranks == one_of(which, ranks[..., -1:]) + np.uint32(1))
        case = realised(rules.lookup, things, weakest - np.int32(least), what)
        cells = xp.where(hit, rules.lookup(after, case), cells)
        free = free & ~hit
        if near:
            board = hit.reshape(*hit.shape[:-1], rules.height, rules.width).astype(np.int8)
            free = free & (rules.backend.around(board, near).reshape(free.shape) == 0)
    return cells
