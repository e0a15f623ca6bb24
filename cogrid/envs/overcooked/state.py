"""The state of a kitchen: views of its pots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cogrid.author import Thing
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState
from cogrid.envs.overcooked.objects import Pot


@dataclass(frozen=True)
class KitchenState(EnvState):
    """Adds views of the pots, in reading order; −1 where this layout has fewer."""

    kinds: ClassVar[tuple[str, ...]] = ("pot",)
    writers: ClassVar[tuple[str, ...]] = ("pot_contents", "pot_timer")

    @property
    def pot_positions(self) -> Array:
        """(*B, n_pots, 2) row and column."""
        return self.positions_of("pot")

    @property
    def pot_timer(self) -> Array:
        """(*B, n_pots) steps left; −1 idle, 0 ready."""
        return self.read("pot", _timer, absent=-1)

    @property
    def pot_contents(self) -> Array:
        """(*B, n_pots, 3) type ids of the ingredients, −1 for a free place."""
        ids = self.rules.type_ids

        def contents(thing: Thing) -> tuple[int, ...]:
            items = thing.items if isinstance(thing, Pot) else ()
            return tuple(ids[item] for item in items) + (-1,) * (3 - len(items))

        return self.read("pot", contents, absent=-1)

    def write(self, views: dict[str, np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
        """Pots from contents and timers; the view that is not given stays as it is."""
        contents = np.asarray(views.get("pot_contents", self.pot_contents))  # (*B, n_pots, 3)
        timer = np.asarray(views.get("pot_timer", self.pot_timer))  # (*B, n_pots)
        positions = np.asarray(self.pot_positions)
        contents, timer = (
            np.broadcast_to(contents, (*positions.shape[:-1], 3)),
            np.broadcast_to(timer, positions.shape[:-1]),
        )
        cells = np.array(self.cells)
        for place in np.ndindex(timer.shape):
            row, column = positions[place]
            if row >= 0:
                pot = self._symbol(contents[place].tolist(), int(timer[place]), int(row), int(column))
                cells[(*place[:-1], row * self.width + column)] = pot
        return cells

    def _symbol(self, contents: list[int], timer: int, row: int, column: int) -> int:
        names = {number: name for name, number in self.rules.type_ids.items()}
        pot = Pot(tuple(sorted(names.get(i, str(i)) for i in contents if i != -1)), timer)
        number: int | None = self.rules.spec.symbols.number.get(pot)
        if number is None:
            raise ValueError(f"the pot at row {row}, column {column} can never be {pot}.")
        return number


def _timer(thing: Thing) -> int:
    return thing.timer if isinstance(thing, Pot) else -1
