"""Cells: what things become by themselves, and what reset puts on the board or draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from cogrid._core.author.chance import SCALE, Chance
from cogrid._core.author.options import checked_integer, checked_number
from cogrid._core.author.part import Part, check_thing
from cogrid._core.author.values import Item, Thing
from cogrid._io.messages import brief

if TYPE_CHECKING:
    from cogrid._core.state.sketch import Sketch
    from cogrid.backend.array import Array


@dataclass(frozen=True)
class Near(Part):
    """What things become by themselves, given the count of what is near: `tick(thing, count)`.

    It takes the place of `Game.tick`. The count is the sum of `mark(thing)` around the cell, without the
    cell itself, before any tick; a sum above `most` counts as `most`. `radius` is the largest distance, by
    the `shape`: "circle" (a straight line), "diamond" (steps) or "square" (steps that may be diagonal). With
    a radius of None, the whole board is counted, the cell included.
    """

    mark: Callable[[Thing], int]
    tick: Callable[[Thing, int], Thing | Chance]
    most: int
    radius: float | None = 1
    shape: str = "circle"
    _asks: ClassVar[tuple[str, ...]] = ("mark", "tick")

    def __post_init__(self) -> None:
        self._check_functions()
        checked_integer("Near.most", self.most, 1, 2**15)
        if self.radius is not None:
            checked_number("Near.radius", self.radius, 1, 90)
        if self.shape not in _DISTANCES:
            raise ValueError(
                f"Near.shape is {self.shape!r}, which is unknown: choose one of {', '.join(_DISTANCES)}."
            )

    @property
    def offsets(self) -> tuple[tuple[int, int], ...]:
        """Rows and columns from a cell to those around it."""
        return offsets_within(self.radius or 0, self.shape)


def offsets_within(radius: float, shape: str) -> tuple[tuple[int, int], ...]:
    """Rows and columns from a cell to those that are no further away than this."""
    distance, reach = _DISTANCES[shape], range(-int(radius), int(radius) + 1)
    return tuple((r, c) for r in reach for c in reach if 0 < distance(r, c) <= radius)


_DISTANCES: Mapping[str, Callable[[int, int], float]] = MappingProxyType(
    {
        "circle": math.hypot,
        "diamond": lambda r, c: abs(r) + abs(c),
        "square": lambda r, c: max(abs(r), abs(c)),
    }
)


@dataclass(frozen=True)
class OneCell(Part):
    """A random change of a single cell, drawn uniformly from those whose thing qualifies.

    After `since` steps, it happens with probability `weight / out_of` per step, if any cell qualifies.
    """

    qualifies: Callable[[Thing], bool]
    becomes: Callable[[Thing], Thing]
    weight: int = 1
    out_of: int = 1
    since: int = 0
    several: ClassVar[bool] = True
    _asks: ClassVar[tuple[str, ...]] = ("qualifies", "becomes")

    def __post_init__(self) -> None:
        self._check_functions()
        checked_integer("OneCell.out_of", self.out_of, 1, SCALE)
        checked_integer("OneCell.weight", self.weight, 1, self.out_of)
        checked_integer("OneCell.since", self.since, 0, 2**31 - 1)


@dataclass(frozen=True)
class Placed(Part):
    """Things that reset puts on bare floor, one after the other, uniformly over the free cells.

    A free cell is `margin` or more away from the edge of the board, without an agent, and `apart` or more
    steps away from what was placed before; if none is left, fewer things are placed. `thing` is a thing or a
    `Chance`, or a function that is called with the sum of the `strength(held)` of the `weakest` agents; every
    hand has the strength 1 if that is left out.
    """

    count: int
    thing: Thing | Chance | Callable[[int], Thing | Chance]
    weakest: int = 0
    apart: int = 1
    margin: int = 1
    strength: Callable[[Item], int] | None = None
    several: ClassVar[bool] = True
    _asks: ClassVar[tuple[str, ...]] = ("thing", "strength")

    def __post_init__(self) -> None:
        if self.strength is not None and not callable(self.strength):
            raise TypeError(f"Placed.strength is {brief(self.strength)}: give a function.")
        if not callable(self.thing):
            check_thing("Placed.thing", self.thing, "give a thing, a Chance, or a function that returns one")
        checked_integer("Placed.count", self.count, 0, 2**10)
        checked_integer("Placed.weakest", self.weakest, 0, 127)
        checked_integer("Placed.apart", self.apart, 1, 90)
        checked_integer("Placed.margin", self.margin, 1, 90)

    def strength_of(self, held: Item) -> int:
        """What an agent with this hand counts."""
        return 1 if self.strength is None else self.strength(held)


@dataclass(frozen=True)
class Scattered(Part):
    """A thing that reset scatters over the floor: every bare cell becomes it with this probability.

    No cell with an agent in it does, and `Game.start` is not asked about the thing.
    """

    thing: Thing
    density: float

    def __post_init__(self) -> None:
        check_thing("Scattered.thing", self.thing, "give a thing")
        if isinstance(self.thing, Chance):
            raise TypeError(f"Scattered.thing is {brief(self.thing)}: give a thing without chance.")
        object.__setattr__(self, "density", checked_number("Scattered.density", self.density, 0.0, 1.0))


@dataclass(frozen=True)
class Generated(Part):
    """A board that reset draws: `draw(sketch)` returns (*B, H, W) codes of letters, and is array code.

    The layouts limit it: their size, their letters, and the number of each kind that is counted.
    """

    draw: Callable[[Sketch], Array]

    def __post_init__(self) -> None:
        if not callable(self.draw):
            raise TypeError(f"Generated.draw is {brief(self.draw)}: give a function of a Sketch.")
