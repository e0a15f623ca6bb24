"""The state of a field: views of levels, and writable food."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState
from cogrid.envs.foraging.objects import Food, level_of


@dataclass(frozen=True)
class ForagingState(EnvState):
    """Adds views of levels; the field is the board without the wall around it."""

    writers: ClassVar[tuple[str, ...]] = ("field",)

    @property
    def field(self) -> Array:
        """(*B, H − 2, W − 2) the level of the food in each cell, 0 none."""
        levels = self._map(self.rules.backend.lookup(self.rules.symbols(level_of), self.cells))
        return levels[..., 1:-1, 1:-1]

    @property
    def agent_level(self) -> Array:
        """(*B, n) the level of each forager."""
        levels = np.array([level_of(item) for item in self.rules.spec.symbols.items])
        return self.rules.backend.lookup(levels, self.held)

    def write(self, views: dict[str, np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
        """Exactly the food of the given levels."""
        number = self.rules.spec.symbols.number
        floor = number["floor"]
        cells = np.array(self._map(self.cells))
        inside = cells[..., 1:-1, 1:-1]
        inside[np.asarray(self.field) > 0] = floor
        for level in np.unique(views["field"]).tolist():
            if level and Food(level) not in number:
                known = sorted(level_of(thing) for thing in number if level_of(thing))
                raise ValueError(f"there is no food of level {level}: levels are {known}, and 0 for none.")
            if level:
                inside[views["field"] == level] = number[Food(level)]
        return cells.reshape(np.shape(self.cells))
