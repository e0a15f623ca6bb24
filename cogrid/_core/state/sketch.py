"""Sketch: the tools with which `Generated.draw` draws a board, the same bits on both backends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cogrid._core.author.chance import SCALE
from cogrid._core.author.layout import DIGITS
from cogrid._core.compile.odds import PURPOSES, one_of
from cogrid._core.rules import Rules
from cogrid.backend import rng
from cogrid.backend.array import Array, lift


class Sketch:
    """Draws, letters and masks for one board or a batch of them: *B leads every shape.

    Boards are flat, (*B, cells) in reading order. Draws are numbered in the order of the calls, so equal keys
    give equal boards on both backends, in a batch and alone.
    """

    def __init__(self, rules: Rules, words: Array) -> None:
        self.xp = rules.xp
        self.height, self.width, self.n_agents = rules.height, rules.width, rules.n_agents
        self.layouts = rules.spec.layout  # the bounds of what can be drawn
        self.batch: tuple[int, ...] = words.shape[:-1]
        rows, columns = np.divmod(np.arange(rules.n_cells, dtype=np.int32), rules.width)
        self.rows, self.columns = (lift(each, words.ndim) for each in (rows, columns))  # (1…, cells)
        self._rules, self._words, self._drawn = rules, words, 0
        self._codes = {letter: code for code, letter in enumerate((*rules.game.legend, *DIGITS))}

    def code(self, letter: str) -> np.int32:
        """The code of a letter of the legend, or of a digit."""
        return np.int32(self._codes[letter])

    def layout(self) -> Array:
        """(*B, cells) the first layout of the spec, its starts included."""
        rows = self._rules.spec.layout[0].padded(self.height, self.width, digits=True)
        codes = np.array([self._codes[letter] for row in rows for letter in row], np.int32)
        return self.xp.broadcast_to(self.xp.asarray(codes), (*self.batch, codes.size))

    def full(self, letter: str) -> Array:
        """(*B, cells) a board of one letter."""
        return self.xp.full((*self.batch, self.height * self.width), self.code(letter), np.int32)

    def draws(self, count: int) -> Array:
        """(*B, count) uint32 below 2²⁴."""
        first = PURPOSES.index("board") * SCALE + self._drawn
        self._drawn += count
        numbers = np.arange(first, first + count, dtype=np.uint32)
        return rng.draws(self._words, self.xp.zeros(self.batch, np.uint32), numbers)

    def below(self, limit: int | Array, count: int = 1) -> Array:
        """(*B, count) int32, uniform below a limit of at most 2¹⁵, which is a number or (*B, 1)."""
        limit = self.xp.asarray(limit, np.uint32)
        return one_of(self.draws(count), limit).astype(np.int32)

    def pick(self, mask: Array, drawn: Array = None) -> Array:
        """(*B, cells) bool: a random cell of the mask; none where the mask is empty.

        `drawn` is (*B, 1) from `draws`; by default a new draw is made.
        """
        ranks = mask.cumsum(axis=-1, dtype=np.int32)  # from 1 on
        drawn = self.draws(1) if drawn is None else drawn
        return mask & (ranks == one_of(drawn, ranks[..., -1:].astype(np.uint32)).astype(np.int32) + 1)

    def repeat(self, times: int, change: Callable[[Array, Array, Any], Any], value: Any) -> Any:
        """Apply `change(number, drawn, value)` repeatedly, each time with a draw (*B, 1); compiled once."""
        drawn = self.draws(times)
        if not times:
            return value

        def one(number: Array, value: Any) -> Any:
            return change(number, drawn[..., number][..., None], value)

        return self._rules.backend.repeat(times, one, value)

    def settle(self, change: Callable[[Array], Array], value: Array) -> Array:
        """Apply `change` until a fixed point, at most as many times as there are cells."""
        return self._rules.backend.settle(change, value, self.height * self.width)

    def beside(self, mask: Array) -> Array:
        """(*B, cells) bool: the cells with a cell of the mask above, below, left or right of them."""
        return self._around(mask, ((-1, 0), (1, 0), (0, -1), (0, 1)))

    def shifted(self, mask: Array, rows: int, columns: int) -> Array:
        """(*B, cells) bool: the cells with a mask cell this many rows down and columns to the right."""
        return self._around(mask, ((rows, columns),))

    def _around(self, mask: Array, offsets: tuple[tuple[int, int], ...]) -> Array:
        board = mask.reshape(*mask.shape[:-1], self.height, self.width).astype(np.int8)
        return self._rules.backend.around(board, offsets).reshape(mask.shape) > 0
