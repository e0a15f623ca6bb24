"""What a game's rules answer with: outcomes, terms of the reward, changes of cells; plain frozen values."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, NamedTuple

import numpy as np

from cogrid.backend.array import brief
from cogrid.core.chance import SCALE, Chance

Thing = Hashable  # what a cell holds, its state included
Item = Hashable  # what a hand holds; None is the empty hand


class Outcome(NamedTuple):
    """What an interaction leaves: the hand, the cell, a verb for what happened, the score it is worth."""

    held: Item
    thing: Thing
    verb: str
    value: float = 0.0


class Meeting(NamedTuple):
    """What an action leaves of two agents: both hands, a verb for what happened, the score it is worth."""

    held: Item
    other: Item
    verb: str
    value: float = 0.0


class Event(NamedTuple):
    """What one agent did, as a reward term hears it: the hand and the thing are those before.

    Where another agent was met, the thing is what that one held.
    """

    verb: str
    held: Item
    thing: Thing
    value: float


class Reply(NamedTuple):
    """What a slot answers: what it becomes, and the points for it."""

    thing: Thing
    value: float = 0.0


@dataclass(frozen=True)
class Reward:
    """Points for events, to the actor or the whole team; shaping terms are weighted by the state.

    With `supply` and `demand` the points are paid only while the supply (counted over things and hands as the
    earlier agents of this step left them, or hands as it began) is below the demand (counted over things as
    the step began, or as they were left).
    """

    name: str
    points: Callable[[Event], float]
    team: bool = False
    shaping: bool = False
    supply: Callable[[Thing, Item], int] | None = None
    demand: Callable[[Thing], int] | None = None
    hands_at_start: bool = False
    demand_at_start: bool = True


@dataclass(frozen=True)
class Price:
    """Points for an agent's action, by its name and the hand before, in every step until the agent's end."""

    name: str
    points: Callable[[str, Item], float]
    team: bool = False
    shaping: bool = False


@dataclass(frozen=True)
class Tally:
    """Points to all for what the board counts, cut off at 0 and `most`, after the step or before it."""

    name: str
    count: Callable[[Thing], int]
    points: Callable[[int], float]
    most: int
    now: bool = True
    shaping: bool = False
    team: ClassVar[bool] = False  # all are paid the same, once

    def __post_init__(self) -> None:
        """Check the number."""
        checked_integer(f"most of the tally {self.name!r}", self.most, 1, 2**16)


@dataclass(frozen=True)
class Replies:
    """The values that slots reply: those to an event to the actor or the team, those of ticks to all."""

    name: str
    team: bool = True
    shaping: bool = False


@dataclass(frozen=True)
class BySlot:
    """Points for events by what a slot was as the step began."""

    name: str
    slot: str
    points: Callable[[Event, Thing], float]
    team: bool = False
    shaping: bool = False


AnyReward = Reward | Price | Tally | Replies | BySlot


@dataclass(frozen=True)
class OneCell:
    """A change of a single cell by chance: it is drawn, each as likely, among those whose thing qualifies.

    Once `since` steps are over it happens with probability `weight / out_of` in a step, if a cell qualifies.
    """

    qualifies: Callable[[Thing], bool]
    becomes: Callable[[Thing], Thing]
    weight: int = 1
    out_of: int = 1
    since: int = 0

    def __post_init__(self) -> None:
        """Check the numbers."""
        checked_integer("OneCell's out_of", self.out_of, 1, SCALE)
        checked_integer("OneCell's weight", self.weight, 1, self.out_of)
        checked_integer("OneCell's since", self.since, 0, 2**31 - 1)


@dataclass(frozen=True)
class Counted:
    """A slot that begins as what the first board of an episode counts, cut off at `most`."""

    count: Callable[[Thing], int]
    most: int

    def __post_init__(self) -> None:
        """Check the number."""
        checked_integer("Counted's most", self.most, 1, 2**11)


@dataclass(frozen=True)
class Placed:
    """Things that reset puts on bare floor, one after the other, each free cell as likely.

    A free cell is `margin` or more away from the edge of the board, without an agent, and `apart` or more
    steps away from what was placed before; without one, fewer are placed. `thing` is asked about the
    strengths of the `weakest` agents, added up.
    """

    count: int
    thing: Callable[[int], Thing | Chance]
    weakest: int = 0
    apart: int = 1
    margin: int = 1

    def __post_init__(self) -> None:
        """Check the numbers."""
        checked_integer("Placed's count", self.count, 0, 2**10)
        checked_integer("Placed's weakest", self.weakest, 0, 127)
        checked_integer("Placed's apart", self.apart, 1, 90)
        checked_integer("Placed's margin", self.margin, 1, 90)


def checked_number(name: str, value: object, low: float, high: float) -> float:
    """The value as a float, or an error that names it; for the options of specs and games."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name}={brief(value)} is not a number.")
    if not low <= value <= high:  # false for NaN
        raise ValueError(f"{name}={brief(value)} is out of range: it must be from {low:g} to {high:g}.")
    return float(value)


def checked_flag(name: str, value: object) -> bool:
    """The value as a bool, or an error that names it."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}={brief(value)} is neither True nor False.")
    return bool(value)


def checked_integer(name: str, value: object, low: int, high: int) -> int:
    """The value, or an error that names it; for the options of specs and games."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name}={brief(value)} is not an integer.")
    if not low <= value <= high:
        raise ValueError(f"{name}={brief(value)} is out of range: it must be from {low} to {high}.")
    return value


@dataclass(frozen=True)
class Aim:
    """Where an action looks for something that answers: `reach` cells ahead, `width` more to either side.

    With `adjacent`, the cells above, below, left and right, whatever the agent faces.
    """

    reach: int = 1
    width: int = 0
    adjacent: bool = False

    def __post_init__(self) -> None:
        """Check the numbers."""
        checked_integer("Aim's reach", self.reach, 1, 90)
        checked_integer("Aim's width", self.width, 0, 90)
        if self.adjacent and (self.reach, self.width) != (1, 0):
            raise ValueError(f"{self!r} is of adjacent cells: it takes neither reach nor width.")

    @property
    def lanes(self) -> int:
        """How many cells are beside each other."""
        return 4 if self.adjacent else 1 + 2 * self.width


@dataclass(frozen=True)
class View:
    """A window that turns with the agent, who looks upwards in it: cells ahead, behind and to the sides."""

    ahead: int
    behind: int
    side: int

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in ("ahead", "behind", "side"):
            checked_integer(f"View's {name}", getattr(self, name), 0, 63)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.ahead + 1 + self.behind, 2 * self.side + 1


@dataclass(frozen=True)
class Near:
    """What a tick counts around its cell: the marks of the things there, its own left out, up to `most`.

    `radius` is the largest distance, by the `shape`: "circle" (a straight line), "diamond" (steps) or
    "square" (steps that may be diagonal). None counts the whole board, with the cell itself.
    """

    mark: Callable[[Thing], int]
    most: int
    radius: float | None = 1
    shape: str = "circle"

    def __post_init__(self) -> None:
        """Check the function and the numbers."""
        if not callable(self.mark):
            raise TypeError(f"Near's mark={self.mark!r} is no function of a thing.")
        checked_integer("Near's most", self.most, 1, 2**15)
        if self.radius is not None:
            checked_number("Near's radius", self.radius, 1, 90)
        if self.shape not in _DISTANCES:
            raise ValueError(
                f"Near's shape={self.shape!r} is unknown: choose one of {', '.join(_DISTANCES)}."
            )

    @property
    def offsets(self) -> tuple[tuple[int, int], ...]:
        """Rows and columns from a cell to those around it."""
        radius, distance = self.radius or 0, _DISTANCES[self.shape]
        reach = range(-int(radius), int(radius) + 1)
        return tuple((r, c) for r in reach for c in reach if 0 < distance(r, c) <= radius)


_DISTANCES: Mapping[str, Callable[[int, int], float]] = MappingProxyType(
    {
        "circle": math.hypot,
        "diamond": lambda r, c: abs(r) + abs(c),
        "square": lambda r, c: max(abs(r), abs(c)),
    }
)
