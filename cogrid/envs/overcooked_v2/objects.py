"""What OvercookedV2 adds to a kitchen: two more ingredients, indicators, buttons, and the recipe."""

from __future__ import annotations

from dataclasses import dataclass

from cogrid.envs.overcooked.objects import CARROT, MUSHROOM, ONION, TOMATO

#: In the order of their numbers.
INGREDIENTS = (ONION, TOMATO, CARROT, MUSHROOM)


@dataclass(frozen=True)
class Indicator:
    """Always shows the recipe."""

    kind = "indicator"


@dataclass(frozen=True)
class Button:
    """Shows the recipe for some steps after being pressed."""

    lit: int  # steps left
    kind = "button"


@dataclass(frozen=True)
class Recipe:
    """The current recipe, and whether a soup of it has just been delivered."""

    items: tuple[str, ...]
    served: int = 0  # 1 in this step, 2 in the step before
