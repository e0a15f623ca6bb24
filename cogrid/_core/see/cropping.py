"""Cropping: the board with its agents, and the part of it that each agent sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cogrid._core.author.planes import View
from cogrid._core.compile.actions import STRIDES
from cogrid.backend.array import Array, everywhere

if TYPE_CHECKING:
    from cogrid._core.rules import Rules


def peopled(rules: Rules, board: Array, pos: Array, agent: Array, void: np.ndarray[Any, Any]) -> Array:
    """(*B, spots) the board with the agents (*B, n) as symbols; `void` (n,) fills places off the board."""
    if rules.leaves:
        board = rules.xp.concatenate((board, everywhere(rules.xp, void, board)), axis=-1)
    return rules.put(board, pos, agent)


def cropped(
    rules: Rules, board: Array, crop: np.ndarray[Any, Any], pos: Array, outside: np.ndarray[Any, Any]
) -> Array:
    """(*B, n, side²) the symbols around every agent; `outside` (1,) is seen outside the map."""
    index = rules.lookup(crop, pos)  # (*B, n, side²)
    wide = rules.xp.concatenate((board, everywhere(rules.xp, outside[:1], board)), axis=-1)
    flat = rules.at(wide, index.reshape(*pos.shape[:-1], -1))
    return flat.reshape(index.shape)


def cells_around(rules: Rules) -> np.ndarray[Any, Any]:
    """(places, side²) the cells around a place; outside the map the place after the last."""
    rules.check_table(f"a window of side {rules.spec.window}", rules.n_spots * rules.spec.window**2)
    reach = np.arange(rules.spec.window) - rules.spec.window // 2
    row, column = np.divmod(np.arange(rules.n_cells)[:, None, None], rules.width)
    rows, columns = row + reach[:, None], column + reach
    inside = (rows >= 0) & (rows < rules.height) & (columns >= 0) & (columns < rules.width)
    cells = _with_parking(rules, np.where(inside, rows * rules.width + columns, rules.n_spots))
    return cells.reshape(rules.n_spots, -1).astype(rules.backend.index_dtype(rules.n_spots + 1))


def cells_ahead(rules: Rules, view: View) -> np.ndarray[Any, Any]:
    """(4 · places, rows · columns) the cells seen, by facing and place; outside, the place after the last."""
    rows, columns = view.shape
    rules.check_table(f"{view!r}", 4 * rules.n_spots * rows * columns)
    ahead, right = view.ahead - np.arange(rows)[:, None], np.arange(columns) - view.side
    row, column = np.divmod(np.arange(rules.n_cells)[:, None, None], rules.width)
    by_facing = []
    for facing in range(4):
        (down, along), (aside, across) = STRIDES[facing], STRIDES[(facing + 1) % 4]
        y, x = row + ahead * down + right * aside, column + ahead * along + right * across
        inside = (y >= 0) & (y < rules.height) & (x >= 0) & (x < rules.width)
        by_facing.append(_with_parking(rules, np.where(inside, y * rules.width + x, rules.n_spots)))
    cells = np.concatenate(by_facing).reshape(4 * rules.n_spots, -1)
    return cells.astype(rules.backend.index_dtype(rules.n_spots + 1))


def _with_parking(rules: Rules, cells: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """(cells, …) -> (places, …) the cells seen; none from off the board."""
    away = np.full((rules.n_spots - rules.n_cells, *cells.shape[1:]), rules.n_spots)
    return np.concatenate((cells, away))
