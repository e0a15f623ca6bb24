"""The values that a kitchen is made of: items that hands hold, things that cells hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

ONION, TOMATO, DISH = "onion", "tomato", "dish"
INGREDIENTS = (ONION, TOMATO)
CARROT, MUSHROOM = "carrot", "mushroom"  # of OvercookedV2


@dataclass(frozen=True)
class Soup:
    """A soup on a dish; ingredients sorted."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Counter:
    """A place to put one item."""

    item: str | Soup | None
    kind = "counter"


@dataclass(frozen=True)
class Pile:
    """An endless supply of one item."""

    item: str

    @property
    def kind(self) -> str:
        """onion_pile, tomato_pile or dish_pile."""
        return f"{self.item}_pile"


@dataclass(frozen=True)
class Pot:
    """Up to three ingredients; timer −1 idle, n > 0 steps left, 0 ready."""

    items: tuple[str, ...]
    timer: int
    kind = "pot"


@dataclass(frozen=True)
class Serving:
    """Where soups are delivered."""

    kind = "serving"


def kind_of(thing: Any) -> str:
    """floor, wall, counter, pot, serving, onion_pile …"""
    return thing if isinstance(thing, str) else str(thing.kind)
