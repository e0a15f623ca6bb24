"""The state of an OvercookedV2 kitchen: views of its pots and of the recipe."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cogrid.backend.array import Array
from cogrid.envs.overcooked.state import KitchenState
from cogrid.envs.overcooked_v2.objects import Recipe


@dataclass(frozen=True)
class RecipeState(KitchenState):
    """Adds the current recipe."""

    @property
    def recipe(self) -> Array:
        """(*B, 3) type ids of its ingredients."""
        ids = self.rules.type_ids
        recipes = [thing.items if isinstance(thing, Recipe) else () for thing in self.rules.slots.things]
        table = np.array([[ids.get(item, -1) for item in items] or [-1] * 3 for items in recipes])
        return self.rules.backend.lookup(table, self.slots[..., 0])
