"""ASCII layouts: text in, a checked grid of letters and starts out."""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Collection, Iterable
from dataclasses import dataclass

FLOOR = " "
WALL = "#"
#: Where agents start, in their order.
DIGITS = "123456789"
#: Cells of one board, and of all boards of a spec together, each padded to the largest.
MAX_CELLS, MAX_ALL_CELLS = 2**15 - 1, 2**20


def start_cells(layout: Layout, width: int, count: int) -> list[int]:
    """The digits' cells on a board of this width; further agents take free floor cells in reading order."""
    marked = [row * width + column for row, column in layout.starts]
    floor = [
        row * width + column
        for row, letters in enumerate(layout.letters)
        for column, letter in enumerate(letters)
        if letter == FLOOR
    ]
    return (marked + [cell for cell in floor if cell not in marked])[:count]


@dataclass(frozen=True)
class Layout:
    """A named board: one letter per cell, digits 1 … where agents start, a closed border."""

    name: str
    text: str

    def __post_init__(self) -> None:
        """Drop the indentation and the empty lines around the board, so that equal boards compare equal."""
        object.__setattr__(self, "text", textwrap.dedent(self.text.strip("\n")).rstrip())

    @functools.cached_property
    def rows(self) -> tuple[str, ...]:
        """The lines of the board, digits included."""
        return tuple(self.text.split("\n"))

    @functools.cached_property
    def height(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @functools.cached_property
    def width(self) -> int:
        """Number of columns."""
        return len(self.rows[0])

    @functools.cached_property
    def letters(self) -> tuple[str, ...]:
        """The board without its digits."""
        return tuple("".join(FLOOR if c in DIGITS else c for c in row) for row in self.rows)

    @functools.cached_property
    def starts(self) -> tuple[tuple[int, int], ...]:
        """(row, column) of the digits 1, 2, … in their order."""
        digits = sorted(
            (digit, row, column)
            for row, letters in enumerate(self.rows)
            for column, digit in enumerate(letters)
            if digit in DIGITS
        )
        return tuple((row, column) for _, row, column in digits)

    def check(self, legend: Collection[str], walkable: Collection[str]) -> None:
        """Raise a ValueError that names the row and column of the first thing wrong with the board."""
        rows = self.rows
        if not rows[0]:
            raise ValueError(f"layout {self.name!r} is empty: draw at least one row.")
        seen: dict[str, tuple[int, int]] = {}
        for row, letters in enumerate(rows):
            if len(letters) != len(rows[0]):
                raise ValueError(
                    f"layout {self.name!r} is ragged: row {row} has {len(letters)} columns, "
                    f"row 0 has {len(rows[0])}."
                )
            for column, letter in enumerate(letters):
                self._check_letter(letter, row, column, legend, walkable)
                if letter in DIGITS and letter in seen:
                    raise ValueError(
                        f"layout {self.name!r} has start {letter} twice, "
                        f"at row {seen[letter][0]}, column {seen[letter][1]} "
                        f"and at row {row}, column {column}."
                    )
                seen[letter] = (row, column)

    def _check_letter(
        self, letter: str, row: int, column: int, legend: Collection[str], walkable: Collection[str]
    ) -> None:
        if letter not in legend and letter not in DIGITS:
            known = " ".join(sorted(letter for letter in legend if letter != FLOOR))
            rest = "digits from 1 for starts and blank for floor"
            if letter == FLOOR:
                rest = 'digits from 1 for starts, and add " " to the legend for floor'
            raise ValueError(
                f"layout {self.name!r} has the unknown character {letter!r} at row {row}, column {column}: "
                f"use {known}, {rest}."
            )
        edge = row in (0, self.height - 1) or column in (0, self.width - 1)
        if edge and (letter in walkable or letter in DIGITS):
            raise ValueError(
                f"layout {self.name!r} has a floor cell on the outer edge at row {row}, column {column}: "
                "close the border with something that no agent can stand on."
            )

    def check_size(self) -> None:
        """Raise a ValueError if the board has too many cells; a cheap check."""
        if self.height * self.width > MAX_CELLS:
            raise ValueError(
                f"layout {self.name!r} has {self.height} × {self.width} cells: "
                f"a board has at most {MAX_CELLS:,} cells."
            )

    def padded(self, height: int, width: int, digits: bool = False) -> tuple[str, ...]:
        """The letters, padded with walls to the right and below; with or without the digits of the starts."""
        filled = tuple(row.ljust(width, WALL) for row in (self.rows if digits else self.letters))
        return filled + (WALL * width,) * (height - self.height)


def check_border(height: int, width: int, opening: Iterable[int]) -> None:
    """Raise an error if a cell of the outer edge can ever open: a step off the map would read another row."""
    for row, column in (divmod(int(cell), width) for cell in opening):
        if row in (0, height - 1) or column in (0, width - 1):
            raise ValueError(
                f"the outer edge can open at row {row}, column {column}: "
                "close the border with something that no agent can ever stand on."
            )
