"""What a forager sees: the numbers of `lbforaging`, rows and columns counted from the corner of its sight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cogrid.backend.array import Array, lift
from cogrid.backend.env_state import EnvState
from cogrid.core.features import Feature
from cogrid.core.marks import marked
from cogrid.core.rules import Rules
from cogrid.envs.foraging.objects import level_of

ABSENT = np.array([-1, -1, 0], np.int32)  # row, column and level of what is not seen


def features(foods: int, sight: int | None, levels: bool) -> tuple[Feature, ...]:
    """The whole vector."""
    return Foods(foods, sight), Foragers(sight, levels)


def _places(rules: Rules) -> np.ndarray[Any, Any]:
    """(cells, 2) row and column in the field, which begins behind the wall."""
    return np.stack(np.divmod(np.arange(rules.n_cells), rules.width), axis=-1).astype(np.int32) - 1


def _corners(rules: Rules, sight: int | None) -> np.ndarray[Any, Any] | None:
    """(cells, 3) where a forager in each cell counts rows, columns and levels from; None for the field's."""
    if sight is None or sight >= max(rules.height, rules.width) - 3:
        return None
    corner = np.maximum(_places(rules) - sight, 0)
    return np.concatenate((corner, np.zeros_like(corner[:, :1])), axis=-1)


def _bounds(rules: Rules) -> tuple[float, float]:
    """The lowest and highest number in the vector."""
    symbols = rules.spec.symbols
    return -1.0, float(max(rules.height - 3, rules.width - 3, *map(level_of, symbols.things + symbols.items)))


@dataclass(frozen=True)
class Foods:
    """Row, column and level of the food in sight, in reading order; −1, −1, 0 for less food."""

    count: int
    sight: int | None

    def names(self, rules: Rules) -> list[str]:
        """One block for each food."""
        return [f"food {k} {part}" for k in range(self.count) for part in ("row", "column", "level")]

    def bounds(self, rules: Rules) -> tuple[float, float]:
        """Of the whole vector."""
        return _bounds(rules)

    def compile(self, rules: Rules) -> Callable[[EnvState], Array]:
        """A cell with food has a code, place · things + symbol: the smallest are taken one by one."""
        xp, things, places = rules.xp, rules.n_things, _places(rules)
        where = rules.cells_where(lambda thing: level_of(thing) > 0)  # (k,)
        none = len(where) * things  # the code of no food
        table = np.tile(ABSENT, (none + 1, 1))  # (codes, 3)
        table[:none, :2] = np.repeat(places[where], things, axis=0)
        table[:none, 2] = np.tile(rules.symbols(level_of), len(where))
        dtype = rules.backend.index_dtype(len(table))
        first = (np.arange(len(where)) * things).astype(dtype)
        is_food, corners = rules.symbols(lambda thing: level_of(thing) > 0, bool), _corners(rules, self.sight)
        steps = abs(places[:, None] - places[where]).max(axis=-1)  # (cells, k)
        in_sight = steps <= (self.sight or steps.max())

        def foods(state: EnvState) -> Array:
            seen = rules.pick(state.cells, where)  # (*B, k)
            code = xp.where(marked(rules, is_food, seen), seen.astype(dtype) + lift(first, seen.ndim), none)
            if corners is not None:  # every forager has a list of its own
                code = xp.where(rules.lookup(in_sight, state.pos), code[..., None, :], dtype.type(none))
            found = []
            for _ in range(self.count):
                found.append(rules.backend.least(code, none))  # (*B) or (*B, n)
                code = xp.where(code == found[-1][..., None], dtype.type(none), code)
            taken = xp.stack(found, axis=-1)  # (…, count)
            numbers = rules.lookup(table, taken)
            if corners is None:
                numbers = xp.broadcast_to(numbers[..., None, :, :], (*state.pos.shape, self.count, 3))
            else:
                corner = rules.lookup(corners, state.pos)[..., None, :]
                numbers = numbers - xp.where((taken < none)[..., None], corner, np.int32(0))
            return numbers.reshape(*state.pos.shape, -1).astype(np.float32)

        return foods


@dataclass(frozen=True)
class Foragers:
    """Row, column and level of oneself, then of the others in sight, by number; −1, −1, 0 for fewer."""

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
        """Tables over places and poses. Who is not in sight leaves no gap: the next one takes its place."""
        xp, n, places, corners = rules.xp, rules.n_agents, _places(rules), _corners(rules, self.sight)
        levels = rules.items(level_of, np.int32)[rules.held][:, None]  # (poses, 1)
        who = np.array([[i, *(j for j in range(n) if j != i)] for i in range(n)])
        parts = 3 if self.levels else 2

        def foragers(state: EnvState) -> Array:
            own = xp.concatenate((rules.lookup(places, state.pos), rules.lookup(levels, state.pose)), axis=-1)
            numbers = rules.pick(own, who, axis=-2)  # (*B, n, n, 3)
            if corners is not None:
                numbers = numbers - rules.lookup(corners, state.pos)[..., None, :]
                numbers = self._gathered(rules, numbers)
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
