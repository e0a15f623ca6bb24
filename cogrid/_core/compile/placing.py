"""Placing: the cells on which reset may place things, and the draws that it takes."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from cogrid._core.author.cells import Placed
from cogrid._core.author.layout import FLOOR
from cogrid._core.compile.spec import Spec


def placing_draws(placed: tuple[Placed, ...]) -> np.ndarray[Any, Any]:
    """The numbers of the draws: 2k for the cell of thing k, 2k + 1 for what it is."""
    return np.arange(2 * sum(one.count for one in placed))


@functools.lru_cache(maxsize=256)
def placing_cells(spec: Spec) -> np.ndarray[Any, Any]:
    """(layouts, cells) where things may be placed: bare floor, far enough from the edge for any of them."""
    edge = min((placed.margin for placed in spec.symbols.answers.placed), default=spec.height)
    legend = spec.game.legend
    floor = [[legend[letter] == legend[FLOOR] for row in board for letter in row] for board in spec.boards]
    cells: np.ndarray[Any, Any] = inside(spec.height, spec.width, edge) & np.array(floor)
    return cells


def inside(height: int, width: int, margin: int) -> np.ndarray[Any, Any]:
    """(cells,) bool: at least `margin` away from the edge."""
    cells = np.zeros((height, width), bool)
    cells[margin : height - margin, margin : width - margin] = True
    return cells.reshape(-1)
