"""Generated kitchens: a board drawn from the key, in which a soup can always be cooked and served."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cogrid._core.author.layout import DIGITS
from cogrid._core.rules import compile_rules
from cogrid._core.state.reset import boards_of
from cogrid._io.messages import brief, is_choice
from cogrid.author import FLOOR, WALL, Generated, Layout, Part, Sketch, Spec, checked_integer
from cogrid.backend import rng
from cogrid.backend.array import Array
from cogrid.envs.overcooked.game import Kitchen
from cogrid.envs.overcooked.objects import ONION

MAX_COOKS = 6
ROOMS = ("mixed", "open", "divided")
_AROUND = ((-1, -1), (-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1))  # in a ring


@dataclass(frozen=True)
class GeneratedKitchen(Kitchen):
    """A kitchen drawn by reset, with one room, or two with a counter between them to hand things over.

    In each room, one cook can reach everything that is reachable there, even if the others never move.
    """

    min_height: int = 5  # rows of the smallest kitchen, its border included
    max_height: int = 7  # rows of the largest
    min_width: int = 5  # columns of the smallest
    max_width: int = 9  # columns of the largest
    rooms: str = "mixed"  # "open": one room, "divided": two, "mixed": two in half of the kitchens
    pots: int = 2  # at most; every kitchen has at least one
    onion_piles: int = 2  # at most; at least one
    dish_piles: int = 1  # at most; at least one
    servings: int = 1  # at most; at least one
    clutter: int = 4  # inner counters, at most

    def __post_init__(self) -> None:
        super().__post_init__()
        for side in ("height", "width"):
            low = checked_integer(f"min_{side}", getattr(self, f"min_{side}"), 5, 32)
            checked_integer(f"max_{side}", getattr(self, f"max_{side}"), low, 32)
        for name in ("pots", "onion_piles", "dish_piles", "servings"):
            checked_integer(name, getattr(self, name), 1, 9)
        checked_integer("clutter", self.clutter, 0, 64)
        if not is_choice(self.rooms, ROOMS):
            raise ValueError(f"rooms={brief(self.rooms)} is unknown: choose one of {', '.join(ROOMS)}.")
        sizes = (1, 2, 3) if self.cook_start == "interact" else (3,)
        if self.orders and {(ONION,) * n for n in sizes}.isdisjoint(self.orders + self.bonus_orders):
            raise ValueError(
                "none of these orders can be cooked: generated kitchens have only onions, and a soup takes "
                f"{' or '.join(map(str, sizes))} of them."
            )

    @property
    def _most(self) -> dict[str, int]:
        """The most there can be of each letter; there is at least one of each."""
        return {"P": self.pots, "O": self.onion_piles, "D": self.dish_piles, "S": self.servings}

    def default_layouts(self) -> tuple[Layout, ...]:
        """The bounds: the largest size, the most of everything, and floor for all cooks."""
        height, width = self.max_height, self.max_width
        wanted = "".join(letter * number for letter, number in self._most.items())
        inner = [(r, c) for r in range(1, height - 1) for c in range(1, width - 1)]
        sides = [(r, c) for r in range(1, height - 1) for c in (0, width - 1)]
        sides += [(r, c) for r in (0, height - 1) for c in range(1, width - 1)]
        cells = inner[:-MAX_COOKS] + sides
        if len(wanted) > len(cells):
            raise ValueError(
                f"{len(wanted)} pots, piles and servings are too many for kitchens of {height} × {width} "
                f"cells: they have room for {len(cells)}."
            )
        letters = dict.fromkeys(inner, FLOOR) | dict(zip(cells, wanted, strict=False))
        rows = ("".join(letters.get((r, c), "X") for c in range(width)) for r in range(height))
        return (Layout(f"generated-{height}x{width}", "\n".join(rows)),)

    def parts(self) -> tuple[Part | None, ...]:
        """The board."""
        return (*super().parts(), Generated(self._board))

    def _board(self, sketch: Sketch) -> Array:
        """Walls, cooks, clutter, things: in this order, so that no step undoes an earlier one."""
        self._check_bounds(sketch)
        self._check_cooks(sketch.n_agents)
        xp = sketch.xp
        site = self._site(sketch)
        free, starts = _cooks(sketch, site)
        free, solid = self._cluttered(sketch, site, free, functools.reduce(operator.or_, starts))
        board = xp.where(site.kitchen, sketch.code("X"), sketch.full(WALL))
        board = xp.where(site.inside & ~solid, sketch.code(FLOOR), board)
        board = self._furnished(sketch, site, free, solid, board)
        starts[0] = sketch.pick(free & site.rooms[0])
        if sketch.n_agents > 1:
            starts[1] = starts[1] | sketch.pick(free & site.rooms[1])
        for digit, start in zip(DIGITS, starts, strict=False):
            board = xp.where(start, sketch.code(digit), board)
        return board

    def _check_bounds(self, sketch: Sketch) -> None:
        """Raise an error if the layouts do not allow what is generated, which would become walls."""
        if sketch.height < self.max_height or sketch.width < self.max_width:
            raise ValueError(
                f"layout leaves no room for kitchens of up to {self.max_height} × {self.max_width} cells: "
                "leave it out, or give boards to reset."
            )
        for letter, number in self._most.items():
            if max(layout.text.count(letter) for layout in sketch.layouts) < number:
                raise ValueError(f"layout leaves no room for {number} of {letter!r}: leave it out.")

    def _check_cooks(self, n: int) -> None:
        """Raise an error for too many cooks: some counters must have no cook in front of them."""
        if n > MAX_COOKS:
            raise ValueError(
                f"num_agents={n} is too many for a generated kitchen: it has room for {MAX_COOKS} cooks."
            )
        if n == 6 and self.min_height + self.min_width < 11:
            raise ValueError(
                f"6 cooks need more room than {self.min_height} × {self.min_width} cells: "
                "raise min_height or min_width to 6."
            )
        if self.rooms == "divided" and (n < 2 or max(self.min_height, self.min_width) < 7):
            raise ValueError(
                "rooms='divided' needs two cooks and a side of at least 7 cells: raise min_width, or choose "
                "rooms='mixed', which divides the kitchens that can be."
            )

    def _site(self, sketch: Sketch) -> Site:
        """The size, and the line of counters between two rooms, one of which is for handing over."""
        xp, rows, columns = sketch.xp, sketch.rows, sketch.columns
        height = self.min_height + sketch.below(self.max_height - self.min_height + 1)  # (*B, 1)
        width = self.min_width + sketch.below(self.max_width - self.min_width + 1)
        coins = sketch.below(2, 2) == 1
        kitchen = (rows < height) & (columns < width)
        inside = (rows > 0) & (rows < height - 1) & (columns > 0) & (columns < width - 1)
        upright = (width >= 7) & ((height < 7) | coins[..., :1])
        divided = (width >= 7) | (height >= 7)
        if self.rooms == "mixed":
            divided = divided & coins[..., 1:]
        if self.rooms == "open" or sketch.n_agents == 1:
            divided = divided & ~divided
        length, along = xp.where(upright, width, height), xp.where(upright, columns, rows)
        at = 3 + sketch.below(xp.maximum(length - 6, 1))  # at least two rows or columns on either side
        line = inside & divided & (along == at)
        window = sketch.pick(line)
        inner = inside & ~line
        rooms = inner & (~divided | (along < at)), inner & divided & (along > at)
        return Site(kitchen, inside, line, window, sketch.beside(window) & inner, rooms, divided)

    def _cluttered(self, sketch: Sketch, site: Site, free: Array, cooks: Array) -> tuple[Array, Array]:
        """Free floor and counters, after adding inner counters that neither split a room nor trap a cook."""
        solid = (site.kitchen & ~site.inside) | site.line
        wanted = sketch.below(self.clutter + 1)

        def one_more(number: Array, drawn: Array, value: tuple[Array, Array]) -> tuple[Array, Array]:
            free, solid = value
            cell = sketch.pick(free & ~site.kept & _is_simple(sketch, free, _JOINED), drawn)
            left, more = free & ~cell, solid | cell
            places = [_places(sketch, site, left & room, more) for room in site.rooms]
            enough = (places[0] | places[1]).sum(axis=-1, keepdims=True) >= 4
            for place in places:  # the line may serve both rooms, so one place each would not be enough
                enough = enough & ((place.sum(axis=-1, keepdims=True) >= 2) | ~site.divided)
            shut = (cooks & sketch.beside(free) & ~sketch.beside(left)).any(axis=-1, keepdims=True)
            good = enough & ~shut & (number < wanted)
            return sketch.xp.where(good, left, free), sketch.xp.where(good, more, solid)

        found: tuple[Array, Array] = sketch.repeat(self.clutter, one_more, (free, solid))
        return found

    def _furnished(self, sketch: Sketch, site: Site, free: Array, solid: Array, board: Array) -> Array:
        """One of everything, with the pot and the onions in different rooms; then a random number more."""
        xp, counter = sketch.xp, sketch.code("X")
        flip = sketch.below(2) == 1
        either = site.rooms[0] | site.rooms[1]
        here = xp.where(site.divided, xp.where(flip, site.rooms[0], site.rooms[1]), either)
        there = xp.where(site.divided, xp.where(flip, site.rooms[1], site.rooms[0]), either)
        most = self._most
        count = {letter: sketch.below(number) for letter, number in most.items()}  # in addition to the first
        wanted: list[tuple[str, Array, Array]] = [("P", here, True), ("O", there, True)]
        wanted += [("D", either, True), ("S", either, True)]
        wanted += [
            (letter, either, number < count[letter]) for letter in most for number in range(most[letter] - 1)
        ]
        for letter, room, there_is in wanted:
            spots = _places(sketch, site, free & room, solid & (board == counter))
            board = xp.where(sketch.pick(spots) & there_is, sketch.code(letter), board)
        return board


class Site(NamedTuple):
    """Where a kitchen is built; masks (*B, cells)."""

    kitchen: Array
    inside: Array
    line: Array  # counters between two rooms
    window: Array  # the one where things are handed over
    kept: Array  # the floor on both sides of it
    rooms: tuple[Array, Array]  # the second is empty in an open kitchen
    divided: Array  # (*B, 1)


def _cooks(sketch: Sketch, site: Site) -> tuple[Array, list[Array]]:
    """The remaining floor, and the starts of all but each room's first cook: no start splits a room."""
    xp, free = sketch.xp, site.rooms[0] | site.rooms[1]
    nobody = free & ~free
    starts = [nobody]
    for agent in range(1, sketch.n_agents):
        room = site.rooms[0] if agent % 2 == 0 else xp.where(site.divided, site.rooms[1], site.rooms[0])
        spots = free & room & ~site.kept & _is_simple(sketch, free, _SIMPLE)
        if agent == 1:
            spots = spots & ~site.divided
        starts.append(sketch.pick(spots))
        free = free & ~starts[-1]
    return free, starts


def _places(sketch: Sketch, site: Site, floor: Array, solid: Array) -> Array:
    """Counters that can be reached from this floor, except the one for handing over."""
    return sketch.beside(floor) & solid & ~site.window


def _is_simple(sketch: Sketch, mask: Array, table: np.ndarray[Any, Any]) -> Array:
    """The cells whose eight neighbours, as a number, are in the table."""
    bits = (sketch.shifted(mask, *offset).astype(np.int32) << k for k, offset in enumerate(_AROUND))
    return sketch.xp.asarray(table)[functools.reduce(operator.or_, bits)]


def _joined(bits: int) -> bool:
    """Whether a cell's four direct neighbours are connected with each other through the eight around it."""
    ring = [bits >> k & 1 for k in range(8)]
    if all(ring):
        return True
    first = ring.index(0)
    runs = [
        list(run) for one, run in itertools.groupby(range(first, first + 8), lambda k: ring[k % 8]) if one
    ]
    return sum(any(k % 2 for k in run) for run in runs) == 1  # the odd ones are the four sides


#: Removing such a cell keeps the rest connected; one of the second kind also leaves no hole.
_JOINED = np.array([_joined(bits) for bits in range(256)])
_SIMPLE = _JOINED & (np.arange(256) < 255)


#: Seeds of the published kitchens of `Overcooked-Generated-V0`: for training, and for evaluation.
TRAINING, HELD_OUT = range(80), range(80, 100)


def boards(spec: Spec, seeds: Iterable[int]) -> np.ndarray[Any, Any]:
    """(k, H, W) codes of the boards that resets with these seeds draw: a pool, or boards for `reset_fn`."""
    if not isinstance(spec.game, GeneratedKitchen):
        raise TypeError(f"{type(spec.game).__name__} draws no boards: give the spec of a generated kitchen.")
    keys = np.stack([rng.key(seed) for seed in seeds])
    codes: np.ndarray[Any, Any] = boards_of(compile_rules(spec, "numpy"), keys).astype(np.int8)
    return codes
