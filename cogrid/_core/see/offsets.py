"""Offsets: distances between cells, as fractions of the board."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from cogrid.backend.array import Array

if TYPE_CHECKING:
    from cogrid._core.rules import Rules


class OffsetTable:
    """The offset between any two cells, looked up by one number for each pair of differences."""

    def __init__(self, rules: Rules) -> None:
        self.lookup, self.pick, self.xp, self.rules = rules.lookup, rules.pick, rules.xp, rules
        height, width = rules.height, rules.width
        span = 2 * width - 1
        row, column = np.divmod(np.arange(height * width), width)
        self.wide = (row * span + column).astype(np.int32)  # (cells,)
        self.zero = np.array((height - 1) * span + width - 1, np.int32)
        rows, columns = np.arange(1 - height, height), np.arange(1 - width, width)
        table = np.zeros((len(rows), span, 2), np.float32)
        table[..., 0] = scaled(rows, height)[:, None]
        table[..., 1] = scaled(columns, width)
        self.table = table.reshape(-1, 2)
        self.exists = np.concatenate((np.ones((len(self.table), 1), np.float32), self.table), axis=-1)
        self.exists = np.concatenate(
            (self.exists, np.zeros((1, 3), np.float32))
        )  # the last row: no such cell
        # Nearer cells rank lower; of equally near cells, the first, whose difference has the lowest number.
        far = [*(abs(rows)[:, None] + abs(columns)).reshape(-1).tolist(), height + width]
        self.rank = (np.array(far) * len(far) + np.arange(len(far))).astype(np.int32)

    def between(self, pos: Array, who: np.ndarray[Any, Any]) -> Array:
        """(*B, n, k, 2) rows and columns from every agent to those in `who` (n, k), as board fractions."""
        wide = self.lookup(self.wide, self.rules.on_board(pos) if self.rules.leaves else pos)  # (*B, n)
        offsets = self.lookup(self.table, self.pick(wide, who) - (wide - self.zero)[..., None])
        if self.rules.leaves:
            away = pos >= self.rules.n_cells
            either = (self.pick(away, who) | away[..., None])[..., None]  # (*B, n, k, 1)
            offsets = self.xp.where(either, np.float32(0), offsets)
        return offsets

    def to(self, pos: Array, nearest: list[Array], each: Array) -> Array:
        """(*B, n, k, 3) exists, rows, columns: to the nearest of some cells (*B, any), and to each of others.

        −1 is no cell. Of equally near cells, the first one counts.
        """
        xp, count = self.xp, np.int32(len(self.exists))
        cells = xp.concatenate([*nearest, each], axis=-1)[..., None, :]  # (*B, 1, all)
        wide = self.lookup(self.wide, xp.maximum(cells, cells.dtype.type(0)))
        pairs = wide - (self.lookup(self.wide, pos) - self.zero)[..., None]  # (*B, n, all) by difference
        pairs = xp.where(cells >= 0, pairs, count - 1)
        ranks, ends = self.lookup(self.rank, pairs), np.cumsum([0, *(some.shape[-1] for some in nearest)])
        best = [
            ranks[..., first:end].min(axis=-1, keepdims=True, initial=self.rank[-1]) % count
            for first, end in itertools.pairwise(ends.tolist())
        ]
        return self.lookup(self.exists, xp.concatenate([*best, pairs[..., ends[-1] :]], axis=-1))


def scaled(distance: Any, size: int) -> Any:
    """A distance as a fraction of the board."""
    return distance / max(1, size - 1)


def between_cells(rules: Rules, cell: Any, target: Any) -> tuple[Any, Any]:
    """Rows and columns from cells to others."""
    (r, c), (tr, tc) = np.divmod(cell, rules.width), np.divmod(target, rules.width)
    return tr - r, tc - c


def distance(rules: Rules, cell: Any, target: Any) -> Any:
    """Steps from cells to others, ignoring walls."""
    rows, columns = between_cells(rules, cell, target)
    return abs(rows) + abs(columns)


def closest(rules: Rules, cells: np.ndarray[Any, Any], targets: np.ndarray[Any, Any]) -> Any:
    """For each cell, the closest target, the first of equally close ones; −1 if there are none."""
    exist = targets[targets >= 0]  # in reading order
    if not exist.size:
        return np.full_like(cells, -1)
    block = max(1, 2**20 // exist.size)  # cells at a time, which bounds the memory
    parts = [cells[first : first + block, None] for first in range(0, cells.size, block)]
    return np.concatenate([exist[distance(rules, part, exist).argmin(axis=-1)] for part in parts])


def offset_to(rules: Rules, cell: Any, target: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """Exists, rows, columns; zeros where the target is −1."""
    rows, columns = between_cells(rules, cell, target)
    numbers = np.ones(target.shape), scaled(rows, rules.height), scaled(columns, rules.width)
    return [np.where(target >= 0, number, 0.0) for number in numbers]
