"""What OvercookedV2 adds to a kitchen: two more ingredients, indicators, buttons, and the recipe."""

from __future__ import annotations

from dataclasses import dataclass

from cogrid.envs.overcooked.objects import CARROT, MUSHROOM, ONION, TOMATO

#: In the order of their numbers.
INGREDIENTS = (ONION, TOMATO, CARROT, MUSHROOM)


@dataclass(frozen=True)
class Indicator:
    """Shows the recipe all the time."""

    kind = "indicator"


@dataclass(frozen=True)
class Button:
    """Shows the recipe for some steps after it was pressed."""

    lit: int  # steps left
    kind = "button"


@dataclass(frozen=True)
class Recipe:
    """The recipe of the moment, and whether a soup of it has just been delivered."""

    items: tuple[str, ...]
    served: int = 0  # 1 in this step, 2 in the step before
