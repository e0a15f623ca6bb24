"""Slots in pictures: what they add to the look of the cells that show them."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from cogrid._core.author.look import Look
from cogrid._core.author.values import Thing
from cogrid._core.rules import Rules
from cogrid.render.raster import Pixels

MOST_CODES = 2**40  # so that a page, which counts in floating point, can still distinguish all views


class Shown(NamedTuple):
    """The looks that slots add to things: numbered for every thing and slot, 0 for none.

    The *code* of a cell is one number for the looks of all slots in it, the first slot as the last digit.
    """

    things: Pixels  # (things,) the row of a thing that shows slots; 0 for all others
    codes: Pixels  # (rows, slots, things of slots) int64 what each slot adds to the code
    looks: tuple[tuple[tuple[Look, ...], ...], ...]  # by row, slot and look number
    sizes: tuple[int, ...]  # the number of looks of each slot

    def code(self, cells: Pixels, slots: Pixels) -> Pixels:
        """(B, cells) int64, of cells (B, cells) and slots (B, slots)."""
        rows, code = self.things[cells], np.zeros(cells.shape, np.int64)
        for slot in range(len(self.sizes)):
            code += self.codes[rows, slot, slots[:, slot, None]]
        return code

    def look(self, thing: int, code: int) -> Look:
        """What the slots add to a thing, by the code of its cell."""
        look: Look = ()
        for size, known in zip(self.sizes, self.looks[int(self.things[thing])], strict=True):
            code, number = divmod(code, size)
            look += known[number]
        return look


@functools.lru_cache(maxsize=32)
def shown_of(rules: Rules) -> Shown | None:
    """What the slots of a game add to pictures; None if they are not drawn."""
    draw, shows = rules.answers.looks.slot, rules.answers.planes.shows
    slots, symbols = rules.slots, rules.spec.symbols
    if slots is None or draw is None or shows is None:
        return None
    showing = [thing for thing in symbols.things if shows(thing)]
    things = np.zeros(len(symbols.things), np.int64)
    things[[symbols.number[thing] for thing in showing]] = np.arange(len(showing)) + 1

    def look(thing: Thing, name: str, inside: Thing) -> Look:
        return (draw(thing, name, inside) or ()) if (name, inside) in slots.can_be else ()

    asked = [
        [[look(thing, name, inside) for inside in slots.things] for name in slots.names] for thing in showing
    ]
    nothing: list[tuple[Look, ...]] = [((),)] * len(slots.names)
    looks = [nothing, *([_distinct(some) for some in row] for row in asked)]
    sizes = [max(len(row[slot]) for row in looks) for slot in range(len(slots.names))]
    before = [math.prod(sizes[:slot]) for slot in range(len(sizes) + 1)]
    if before[-1] > MOST_CODES:
        raise ValueError(
            f"the slots of {type(rules.game).__name__} have {before[-1]:,} looks together, more than can be "
            "drawn: return fewer different ones from Looks.slot, for example by rounding clocks."
        )
    codes = np.zeros((len(looks), len(sizes), len(slots.things)), np.int64)
    for row, some in enumerate(asked, 1):
        for slot, drawn in enumerate(some):
            codes[row, slot] = [looks[row][slot].index(look) * before[slot] for look in drawn]
    return Shown(things, codes, tuple(map(tuple, looks)), tuple(sizes))


def _distinct(looks: Iterable[Look]) -> tuple[Look, ...]:
    return tuple(dict.fromkeys(((), *looks)))
