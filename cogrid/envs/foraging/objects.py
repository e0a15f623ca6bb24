"""What a field holds: food and foragers, each of a level."""

from __future__ import annotations

from dataclasses import dataclass

from cogrid.core.game import Item, Thing


@dataclass(frozen=True)
class Food:
    """Food that foragers of this level, added up, can load."""

    level: int


@dataclass(frozen=True)
class Skill:
    """What a forager adds to a load; it is held for the whole episode."""

    level: int


def level_of(one: Item | Thing) -> int:
    """The level of food or of a forager, 0 of anything else."""
    return one.level if isinstance(one, (Food, Skill)) else 0
