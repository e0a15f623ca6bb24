"""What a field holds: food and foragers, each with a level."""

from __future__ import annotations

from dataclasses import dataclass

from cogrid.author import Item, Thing


@dataclass(frozen=True)
class Food:
    """Food that foragers can load if their levels add up to this one."""

    level: int


@dataclass(frozen=True)
class Skill:
    """What a forager adds to a load; it is held for the whole episode."""

    level: int


def level_of(value: Item | Thing) -> int:
    """The level of food or of a forager, 0 for anything else."""
    return value.level if isinstance(value, (Food, Skill)) else 0
