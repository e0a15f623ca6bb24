"""A plain sketch: the tools of `Generated.draw` for a single board, cell by cell, from the authors' guide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

T = TypeVar("T")
Flat = np.ndarray[Any, Any]  # (cells,) codes, or a mask


class BoardDice(Protocol):
    """The randomness of a board; the draws are numbered in the order of the calls."""

    def number(self, purpose: str, who: int) -> int:
        """A number below 2²⁴."""

    def pick(self, purpose: str, who: int, options: Sequence[T]) -> T:
        """One of the options."""


class PlainSketch:
    """What `Generated.draw` is called with; a board is a flat array of codes."""

    xp = np

    def __init__(self, legend: Sequence[str], rows: Sequence[str], n_agents: int, dice: BoardDice) -> None:
        self.letters = (*legend, *"123456789")
        self.height, self.width, self.n_agents = len(rows), len(rows[0]), n_agents
        self.rows, self.columns = np.divmod(np.arange(self.height * self.width), self.width)
        self._layout, self._dice, self._drawn = "".join(rows), dice, 0

    def code(self, letter: str) -> int:
        return self.letters.index(letter)

    def full(self, letter: str) -> Flat:
        return np.full(self.height * self.width, self.code(letter))

    def layout(self) -> Flat:
        return np.array([self.code(letter) for letter in self._layout])

    def draws(self, count: int) -> Flat:
        return np.array([self._dice.number("board", self._next()) for _ in range(count)])

    def below(self, limit: int, count: int = 1) -> Flat:
        return np.array([self._dice.pick("board", self._next(), range(limit)) for _ in range(count)])

    def pick(self, mask: Flat, drawn: Any = None) -> Flat:
        """A cell of the mask, as a mask; `drawn` is a draw of `draws` or `repeat`."""
        cells, picked = np.flatnonzero(mask).tolist(), np.zeros_like(mask)
        number = self._next() if drawn is None else -1
        if cells and drawn is None:
            picked[self._dice.pick("board", number, cells)] = True
        elif cells:
            picked[cells[int(drawn[0]) * len(cells) // 2**24]] = True
        return picked

    def beside(self, mask: Flat) -> Flat:
        up, down = self.shifted(mask, -1, 0), self.shifted(mask, 1, 0)
        return up | down | self.shifted(mask, 0, -1) | self.shifted(mask, 0, 1)

    def shifted(self, mask: Flat, rows: int, columns: int) -> Flat:
        """The cells that have a cell of the mask so many rows below and columns to the right of them."""
        moved = np.zeros_like(mask)
        for cell in range(mask.size):
            row, column = self.rows[cell] + rows, self.columns[cell] + columns
            if 0 <= row < self.height and 0 <= column < self.width:
                moved[cell] = mask[row * self.width + column]
        return moved

    def repeat(self, times: int, change: Callable[[int, Flat, Any], Any], value: Any) -> Any:
        for number, drawn in enumerate(self.draws(times)):
            value = change(number, np.array([drawn]), value)
        return value

    def settle(self, change: Callable[[Flat], Flat], value: Flat) -> Flat:
        while (after := change(value)).tolist() != value.tolist():
            value = after
        return value

    def _next(self) -> int:
        self._drawn += 1
        return self._drawn - 1
