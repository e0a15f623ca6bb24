"""A forager's observation, as in `lbforaging`: rows and columns are counted from the corner of its sight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cogrid._core.phases.tables.marks import marked, rectangle
from cogrid._core.rules import Rules
from cogrid.author import Feature
from cogrid.backend.array import Array, lift
from cogrid.backend.env_state import EnvState
from cogrid.envs.foraging.objects import level_of

ABSENT = np.array([-1, -1, 0], np.int32)  # row, column and level of what is not seen
MOST_WORDS = 8  # that `Bits` unrolls; more take long to compile


def features(foods: int, sight: int | None, levels: bool) -> tuple[Feature, ...]:
    """The whole vector."""
    return Foods(foods, sight), Foragers(sight, levels)


def _places(rules: Rules) -> np.ndarray[Any, Any]:
    """(cells, 2) row and column in the field, which starts inside the wall."""
    return np.stack(np.divmod(np.arange(rules.n_cells), rules.width), axis=-1).astype(np.int32) - 1


def _packed(triples: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """(rows, 4) row, column and level as bytes, so that a row is read as one word; −1 is 255."""
    return np.pad(triples, ((0, 0), (0, 1))).astype(np.int8).view(np.uint8)


def _triples(rules: Rules, packed: np.ndarray[Any, Any], index: Array) -> Array:
    """(…, 3) int8 rows of a packed table."""
    return rules.backend.lookup_bytes(packed, index)[..., :3].astype(np.int8)


def _corners(rules: Rules, sight: int | None) -> np.ndarray[Any, Any] | None:
    """(cells, 3) the origin of rows, columns and levels for a forager in each cell; None for the field's."""
    if sight is None or sight >= max(rules.height, rules.width) - 3:
        return None
    corner = np.maximum(_places(rules) - sight, 0)
    return np.concatenate((corner, np.zeros_like(corner[:, :1])), axis=-1).astype(np.int8)


def _bounds(rules: Rules) -> tuple[float, float]:
    """The lowest and highest number in the vector."""
    symbols = rules.spec.symbols
    return -1.0, float(max(rules.height - 3, rules.width - 3, *map(level_of, symbols.things + symbols.items)))


@dataclass(frozen=True)
class Foods:
    """Row, column and level of the food in sight, in reading order; padded with −1, −1, 0."""

    count: int
    sight: int | None

    def names(self, rules: Rules) -> list[str]:
        """One block for each food."""
        return [f"food {k} {part}" for k in range(self.count) for part in ("row", "column", "level")]

    def bounds(self, rules: Rules) -> tuple[float, float]:
        """Of the whole vector."""
        return _bounds(rules)

    def compile(self, rules: Rules) -> Callable[[EnvState], Array]:
        """Tables over the cells where food can be and what is there."""
        xp, things, places = rules.xp, rules.n_things, _places(rules)
        where = rules.cells_where(lambda thing: level_of(thing) > 0)  # (k,)
        none = len(where)  # the number of no food
        if not none:
            raise ValueError("no cell of the layout can hold food: give it more floor, away from the walls.")
        cells = np.append(where, where[:1]).astype(rules.pos_dtype)  # (k + 1,)
        triples = np.tile(ABSENT, ((none + 1) * things, 1))  # by number and symbol
        triples[: none * things, :2] = np.repeat(places[where], things, axis=0)
        triples[: none * things, 2] = np.tile(rules.symbols(level_of), none)
        packed, corners = _packed(triples), _corners(rules, self.sight)
        sight = None if corners is None else self.sight
        bits = Bits(rules, where)
        first = (
            bits.first(self.count, sight)
            if bits.n_words <= MOST_WORDS
            else _ranked(rules, where, self.count, sight)
        )

        def foods(state: EnvState) -> Array:
            taken = first(state)  # (*B, 1 or n, count)
            flat = rules.lookup(cells, taken).reshape(*state.pos.shape[:-1], -1)
            symbol = rules.at(state.cells, flat).reshape(taken.shape)
            numbers = _triples(rules, packed, taken * np.int32(things) + symbol.astype(np.int32))
            if corners is not None:
                corner = rules.lookup(corners, state.pos)[..., None, :]
                numbers = numbers - xp.where((taken < none)[..., None], corner, np.int8(0))
            numbers = numbers.reshape(*taken.shape[:-1], -1).astype(np.float32)  # (*B, 1 or n, 3 · count)
            return xp.broadcast_to(numbers, (*state.pos.shape, numbers.shape[-1]))

        return foods


#: State -> (*B, 1 or n, count) int32 which of the cells where food can be have it, in reading order.
First = Callable[[EnvState], Array]


def _ranked(rules: Rules, where: np.ndarray[Any, Any], count: int, sight: int | None) -> First:
    """For large fields: food k is in the first cell with more than k foods up to it, counted by a cumsum."""
    xp, is_food, places = rules.xp, rules.symbols(lambda thing: level_of(thing) > 0, bool), _places(rules)

    def first(state: EnvState) -> Array:
        food = marked(rules, is_food, rules.pick(state.cells, where))[..., None, :]  # (*B, 1, k)
        if sight is not None:
            for axis in range(2):
                own = rules.lookup(places[:, axis], state.pos)[..., None]  # (*B, n, 1)
                food = food & (abs(own - lift(places[where, axis], own.ndim)) <= np.int32(sight))
        rank = xp.cumsum(food, axis=-1, dtype=np.int32)
        return xp.stack([(rank <= k).sum(axis=-1, dtype=np.int32) for k in range(count)], axis=-1)

    return first


class Bits:
    """Sets of cells as 32-bit words, in reading order: for small fields, which need only a few words."""

    def __init__(self, rules: Rules, where: np.ndarray[Any, Any]) -> None:
        self.rules, self.where = rules, where
        self.is_food = rules.symbols(lambda thing: level_of(thing) > 0, bool)
        part = rectangle(rules, where)
        width = 33 if part is None else part[1].stop - part[1].start
        self.part = part if width <= 32 else None
        #: How many rows a word has, if it has whole ones, and how many cells.
        self.rows = 32 // width
        self.size = self.rows * width or 32
        self.n_words = -(-len(where) // self.size)

    def first(self, count: int, sight: int | None) -> First:
        """Takes the lowest bit repeatedly."""
        rules, places = self.rules, _places(self.rules)
        in_sight = None
        if sight is not None:  # every forager has a list of its own
            in_sight = self.words(abs(places[:, None] - places[self.where]).max(axis=-1) <= sight)

        def first(state: EnvState) -> Array:
            left = self.of(state.cells)  # (*B, 1) each
            if in_sight is not None:
                seen = rules.lookup(in_sight, state.pos)  # (*B, n, words)
                left = [word & seen[..., k] for k, word in enumerate(left)]
            found = []
            for _ in range(count):
                number, left = self.lowest(left)
                found.append(number)
            return rules.xp.stack(found, axis=-1)

        return first

    def words(self, marks: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """(…, words) uint32 of marks (…, k)."""
        padded = np.zeros((*marks.shape[:-1], self.n_words * self.size), np.uint32)
        padded[..., : marks.shape[-1]] = marks
        values = padded.reshape(*marks.shape[:-1], self.n_words, self.size) << np.arange(
            self.size, dtype=np.uint32
        )
        return np.asarray(values.sum(axis=-1, dtype=np.uint32))

    def of(self, cells: Array) -> list[Array]:
        """(*B, 1) uint32 each: where there is food."""
        return [self._word(cells, k) for k in range(self.n_words)]

    def _word(self, cells: Array, k: int) -> Array:
        rules = self.rules
        values = np.uint32(1) << np.arange(self.size, dtype=np.uint32)
        if self.part is None:
            axes: Any = -1
            seen = rules.pick(cells, self.where[k * 32 : k * 32 + 32])
            values = values[: seen.shape[-1]]
        else:
            rows, columns = self.part
            first = rows.start + k * self.rows
            board = cells.reshape(*cells.shape[:-1], rules.height, rules.width)
            seen = board[..., first : min(first + self.rows, rows.stop), columns]
            values = values[: seen.shape[-2] * seen.shape[-1]].reshape(seen.shape[-2:])
            axes = (-2, -1)
        food = marked(rules, self.is_food, seen)
        bits = rules.xp.where(food, lift(values, seen.ndim), np.uint32(0))
        return bits.sum(axis=axes, dtype=np.uint32)[..., None]

    def lowest(self, left: list[Array]) -> tuple[Array, list[Array]]:
        """The number of the first cell of a set, or the number for none, and the set without it."""
        xp, after, one = self.rules.xp, list(left), np.uint32(1)
        number: Array = np.int32(len(self.where))
        for k in reversed(range(self.n_words)):
            bit = left[k] & (~left[k] + one)
            place = xp.bitwise_count(bit - one).astype(np.int32) + np.int32(k * self.size)
            number = xp.where(left[k] != 0, place, number)
        for k in range(self.n_words):
            here = left[k] != 0
            for other in left[:k]:
                here = here & (other == 0)
            bit = left[k] & (~left[k] + one)
            after[k] = xp.where(here, left[k] ^ bit, left[k])
        return number, after


@dataclass(frozen=True)
class Foragers:
    """Row, column and level of the forager, then of the others in sight, by number; padded with −1, −1, 0."""

    sight: int | None
    levels: bool

    def names(self, rules: Rules) -> list[str]:
        """Own first."""
        parts = ("row", "column", "level") if self.levels else ("row", "column")
        others = (f"other {k}" for k in range(1, rules.n_agents))
        return [f"{who} {part}" for who in ("own", *others) for part in parts]

    def bounds(self, rules: Rules) -> tuple[float, float]:
        """Of the whole vector."""
        return _bounds(rules)

    def compile(self, rules: Rules) -> Callable[[EnvState], Array]:
        """Tables over places and poses. Foragers out of sight leave no gap: the others move up."""
        n, corners = rules.n_agents, _corners(rules, self.sight)
        levels = rules.items(level_of, np.int32)[rules.held]  # (poses,)
        poses = np.tile(levels, rules.n_cells)[:, None]
        packed = _packed(np.concatenate((np.repeat(_places(rules), rules.n_poses, axis=0), poses), axis=-1))
        who = np.array([[i, *(j for j in range(n) if j != i)] for i in range(n)])
        parts = 3 if self.levels else 2

        def foragers(state: EnvState) -> Array:
            index = state.pos.astype(np.int32) * np.int32(rules.n_poses) + state.pose.astype(np.int32)
            own = _triples(rules, packed, index)  # (*B, n, 3)
            numbers = rules.pick(own, who, axis=-2)  # (*B, n, n, 3)
            if corners is not None:
                numbers = numbers - rules.lookup(corners, state.pos)[..., None, :]
                numbers = self._gathered(rules, numbers.astype(np.int32))
            return numbers[..., :parts].reshape(*state.pos.shape, -1).astype(np.float32)

        return foragers

    def _gathered(self, rules: Rules, numbers: Array) -> Array:
        """(*B, n, n, 3) those in sight first, in their order."""
        xp, absent = rules.xp, lift(ABSENT, numbers.ndim - 1)
        place = numbers[..., :2]
        seen = ((place >= 0) & (place <= 2 * (self.sight or 0))).all(axis=-1)  # (*B, n, n)
        rank = xp.cumsum(seen, axis=-1, dtype=np.int32)  # from 1 on
        found = []
        for k in range(rules.n_agents):
            hit = seen & (rank == k + 1)
            one = xp.where(hit[..., None], numbers, np.int32(0)).sum(axis=-2, dtype=np.int32)
            found.append(xp.where(hit.any(axis=-1)[..., None], one, absent))
        return xp.stack(found, axis=-2)
