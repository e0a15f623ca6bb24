"""The arena: a closed border, scattered walls, nothing to do but walk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from cogrid.author import FLOOR, WALL, Game, Item, Layout, Thing, checked_integer, checked_number


@dataclass(frozen=True)
class Arena(Game):
    """A square of `map_size` cells a side, its inner cells walls with probability `density`."""

    map_size: int = 12  # cells a side, border included
    density: float = 0.1  # probability that an inner cell is a wall

    planes: ClassVar[tuple[str, ...]] = ("wall", "own", "others", "facing")

    def __post_init__(self) -> None:
        """Check the options."""
        checked_integer("map_size", self.map_size, 3, 180)
        object.__setattr__(self, "density", checked_number("density", self.density, 0.0, 1.0))

    def default_layouts(self) -> tuple[Layout, ...]:
        """A closed border around floor."""
        inside = self.map_size - 2
        edge, middle = WALL * self.map_size, WALL + FLOOR * inside + WALL
        return (Layout(f"arena-{self.map_size}", "\n".join([edge, *[middle] * inside, edge])),)

    def scattered(self) -> tuple[Thing, float] | None:
        """Inner walls."""
        return "wall", self.density

    def paint(self, thing: Thing) -> Mapping[str, int]:
        """Only walls are painted."""
        return {"wall": int(thing == "wall")}

    def paint_agent(self, own: bool, facing: int, held: Item) -> Mapping[str, int]:
        """Facing is 1 right, 2 down, 3 left, 4 up."""
        return {"own" if own else "others": 1, "facing": facing + 1}
