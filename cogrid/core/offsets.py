"""Offsets: how far it is from cell to cell, as parts of the board."""

from __future__ import annotations

from typing import Any

import numpy as np

from cogrid.backend.array import Array, lift
from cogrid.core.rules import Rules


class Offsets:
    """Offsets between any two cells, through one number for each pair of differences."""

    def __init__(self, rules: Rules) -> None:
        self.lookup, self.pick, self.xp, self.rules = rules.lookup, rules.pick, rules.xp, rules
        height, width = rules.height, rules.width
        span = 2 * width - 1
        row, column = np.divmod(np.arange(height * width), width)
        self.wide = (row * span + column).astype(np.int32)  # (cells,)
        self.zero = np.int32((height - 1) * span + width - 1)
        rows, columns = np.arange(1 - height, height), np.arange(1 - width, width)
        table = np.zeros((len(rows), span, 2), np.float32)
        table[..., 0] = scaled(rows, height)[:, None]
        table[..., 1] = scaled(columns, width)
        self.table = table.reshape(-1, 2)
        self.exists = np.concatenate((np.ones((len(self.table), 1), np.float32), self.table), axis=-1)
        self.exists = np.concatenate((self.exists, np.zeros((1, 3), np.float32)))  # the last: there is none
        self.steps = (abs(rows)[:, None] + abs(columns)).astype(np.int32).reshape(-1)

    def between(self, pos: Array, who: np.ndarray[Any, Any]) -> Array:
        """(*B, n, k, 2) rows and columns from every agent to those in `who` (n, k), as parts of the board."""
        wide = self.lookup(self.wide, self.rules.on_board(pos))  # (*B, n)
        offsets = self.lookup(self.table, self.pick(wide, who) - (wide - self.zero)[..., None])
        if self.rules.leaves:
            away = pos >= self.rules.n_cells
            either = (self.pick(away, who) | away[..., None])[..., None]  # (*B, n, k, 1)
            offsets = self.xp.where(either, np.float32(0), offsets)
        return offsets

    def _pairs(self, pos: Array, cells: Array) -> Array:
        """(*B, n, k) the numbers of the differences from every agent to cells; −1 is none."""
        wide = self.lookup(self.wide, self.xp.maximum(cells, cells.dtype.type(0)))
        return wide - (self.lookup(self.wide, pos) - self.zero)[..., None]

    def to(self, pos: Array, cells: Array) -> Array:
        """(*B, n, k, 3) exists, rows, columns from every agent to cells (*B, 1 or n, k); −1 is none."""
        none = np.int32(len(self.table))
        return self.lookup(self.exists, self.xp.where(cells >= 0, self._pairs(pos, cells), none))

    def closest(self, pos: Array, cells: Array) -> Array:
        """(*B, n, 1) of cells (*B, k) the closest to every agent, of equal ones the first; −1 if none is."""
        cells, xp = cells[..., None, :], self.xp  # (*B, 1, k)
        steps = xp.where(cells >= 0, self.lookup(self.steps, self._pairs(pos, cells)), np.int32(2**15))
        count = cells.shape[-1]
        order = lift(np.arange(count, dtype=np.int32), steps.ndim)
        rank = steps * np.int32(count) + order
        best = rank.min(axis=-1, keepdims=True) % np.int32(count)  # (*B, n, 1)
        return xp.where(order == best, cells, cells.dtype.type(-1)).max(axis=-1, keepdims=True)


def scaled(distance: Any, size: int) -> Any:
    """A distance as a part of the board."""
    return distance / max(1, size - 1)


def between_cells(rules: Rules, cell: Any, target: Any) -> tuple[Any, Any]:
    """Rows and columns from cells to others."""
    (r, c), (tr, tc) = np.divmod(cell, rules.width), np.divmod(target, rules.width)
    return tr - r, tc - c


def distance(rules: Rules, cell: Any, target: Any) -> Any:
    """Steps from cells to others, were there no walls."""
    rows, columns = between_cells(rules, cell, target)
    return abs(rows) + abs(columns)


def closest(rules: Rules, cells: np.ndarray[Any, Any], targets: np.ndarray[Any, Any]) -> Any:
    """For each cell, the closest of the targets, of equal ones the first; −1 if there are none."""
    there = targets[targets >= 0]  # in reading order
    if not there.size:
        return np.full_like(cells, -1)
    block = max(1, 2**20 // there.size)  # cells at a time, which bounds the memory
    parts = [cells[first : first + block, None] for first in range(0, cells.size, block)]
    return np.concatenate([there[distance(rules, part, there).argmin(axis=-1)] for part in parts])


def offset_to(rules: Rules, cell: Any, target: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """Exists, rows, columns; zeros where the target is −1."""
    rows, columns = between_cells(rules, cell, target)
    numbers = np.ones(target.shape), scaled(rows, rules.height), scaled(columns, rules.width)
    return [np.where(target >= 0, number, 0.0) for number in numbers]
