"""Marks: which of the given cells hold marked things, by slices and comparisons where possible."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cogrid.backend.array import Array

if TYPE_CHECKING:
    from cogrid._core.rules import Rules


def marked(rules: Rules, marks: np.ndarray[Any, Any], cells: Array) -> Array:
    """Whether each symbol is one of `marks` (things,); two comparisons cost much less than a gather."""
    numbers = np.flatnonzero(marks)
    if not numbers.size or numbers[-1] - numbers[0] >= numbers.size:
        return rules.lookup(marks, cells)
    return (cells >= numbers[0].item()) & (cells <= numbers[-1].item())


def rectangle(rules: Rules, cells: np.ndarray[Any, Any]) -> tuple[slice, slice] | None:
    """The rows and columns of exactly these cells; None if they are not a rectangle."""
    rows, columns = np.divmod(cells, rules.width)
    if not cells.size or cells.size != (np.ptp(rows) + 1) * (np.ptp(columns) + 1):
        return None
    return slice(rows.min(), rows.max() + 1), slice(columns.min(), columns.max() + 1)


def any_marked(rules: Rules, marks: np.ndarray[Any, Any], cells: Array, where: np.ndarray[Any, Any]) -> Array:
    """(*B, 1) whether one of the cells in `where` (k,) holds one of `marks`."""
    part = rectangle(rules, where)
    if part is None:
        return marked(rules, marks, rules.pick(cells, where)).any(axis=-1, keepdims=True)
    board = cells.reshape(*cells.shape[:-1], rules.height, rules.width)[(..., *part)]
    return marked(rules, marks, board).any(axis=(-2, -1))[..., None]
