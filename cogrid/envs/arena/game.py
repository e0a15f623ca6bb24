"""The arena: a closed border, scattered walls, nothing to do but walk."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from cogrid.author import (
    FLOOR,
    WALL,
    AnyReward,
    Game,
    Item,
    Layout,
    Part,
    Planes,
    Reward,
    Scattered,
    Thing,
    checked_integer,
    checked_number,
)


@dataclass(frozen=True)
class Arena(Game):
    """A square of `map_size` cells a side, its inner cells walls with probability `density`."""

    map_size: int = 12  # cells a side, border included
    density: float = 0.1  # probability that an inner cell is a wall

    def __post_init__(self) -> None:
        checked_integer("map_size", self.map_size, 3, 180)
        object.__setattr__(self, "density", checked_number("density", self.density, 0.0, 1.0))

    def default_layouts(self) -> tuple[Layout, ...]:
        """A closed border around floor."""
        inside = self.map_size - 2
        edge, middle = WALL * self.map_size, WALL + FLOOR * inside + WALL
        return (Layout(f"arena-{self.map_size}", "\n".join([edge, *[middle] * inside, edge])),)

    def parts(self) -> tuple[Part, ...]:
        """Inner walls."""
        return (Scattered("wall", self.density),)

    def rewards(self) -> tuple[AnyReward, ...]:
        """Nothing is paid."""
        return (Reward("score", lambda event: 0.0, team=True),)

    def how_to_play(self, things: Collection[Thing], items: Collection[Item]) -> str:
        """There is nothing to win."""
        return "Walk wherever you like: there are no points here, and the walls differ in every episode."

    def planes(self) -> Planes:
        """Walls and agents; facing is 1 right, 2 down, 3 left, 4 up."""
        return Planes(
            ("wall", "own", "others", "facing"),
            thing=lambda thing: {"wall": int(thing == "wall")},
            agent=lambda own, facing, held: {"own" if own else "others": 1, "facing": facing + 1},
        )
