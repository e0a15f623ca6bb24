"""The values that a game's rules return: outcomes, reward terms, changes of cells; plain and frozen."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, NamedTuple

import numpy as np

from cogrid._core.author.chance import SCALE, Chance
from cogrid.backend.array import brief

Thing = Hashable  # what a cell holds, its state included
Item = Hashable  # what a hand holds; None is the empty hand


class Outcome(NamedTuple):
    """The result of an interaction: the hand and the cell after it, a verb for what happened, its score."""

    held: Item
    thing: Thing
    verb: str
    value: float = 0.0


class Meeting(NamedTuple):
    """The result of an action on another agent: both hands, a verb for what happened, its score."""

    held: Item
    other: Item
    verb: str
    value: float = 0.0


class Event(NamedTuple):
    """What one agent did, as passed to reward terms: the hand and the thing are those before the action.

    If the action was on another agent, the thing is what that agent held.
    """

    verb: str
    held: Item
    thing: Thing
    value: float


class Reply(NamedTuple):
    """A slot's reply to an event: what the slot becomes, and the points for it."""

    thing: Thing
    value: float = 0.0


@dataclass(frozen=True)
class Reward:
    """Points for events, to the actor or the whole team; shaping terms are weighted by the state.

    With `supply` and `demand`, the points are paid only while the supply is below the demand. The supply is
    the sum of `supply(thing, None)` over the board and of `supply(None, held)` over all hands, as the events
    of agents with lower numbers left them (with `hands_at_start`, hands before the step); the demand is the
    sum of `demand(thing)` over the board before the step (without `demand_at_start`, as those events left
    it). Things that joint work changes count from the next step on.
    """

    name: str
    points: Callable[[Event], float]
    team: bool = False
    shaping: bool = False
    supply: Callable[[Thing, Item], int] | None = None
    demand: Callable[[Thing], int] | None = None
    hands_at_start: bool = False
    demand_at_start: bool = True
    #: The fields with functions, which are asked once for each question, like hooks; here and below.
    _asks: ClassVar[tuple[str, ...]] = ("points", "supply", "demand")


@dataclass(frozen=True)
class Price:
    """Points for an agent's action, by its name and the hand before, in every step until the agent ends."""

    name: str
    points: Callable[[str, Item], float]
    team: bool = False
    shaping: bool = False
    _asks: ClassVar[tuple[str, ...]] = ("points",)


@dataclass(frozen=True)
class Tally:
    """Points to all agents for a count over the board, clipped to 0 … `most`, after the step or before it.

    Like terms for the team, it pays nothing to agents that have ended.
    """

    name: str
    count: Callable[[Thing], int]
    points: Callable[[int], float]
    most: int
    now: bool = True
    shaping: bool = False
    team: ClassVar[bool] = False  # all are paid the same, once
    _asks: ClassVar[tuple[str, ...]] = ("count", "points")

    def __post_init__(self) -> None:
        """Check the number."""
        checked_integer(f"most of the tally {self.name!r}", self.most, 1, 2**16)


@dataclass(frozen=True)
class Replies:
    """The values of slots' replies: for an event, to the actor or the team; for ticks, to all agents."""

    name: str
    team: bool = True
    shaping: bool = False


@dataclass(frozen=True)
class BySlot:
    """Points for events, by what a slot was before the step."""

    name: str
    slot: str
    points: Callable[[Event, Thing], float]
    team: bool = False
    shaping: bool = False
    _asks: ClassVar[tuple[str, ...]] = ("points",)


AnyReward = Reward | Price | Tally | Replies | BySlot


@dataclass(frozen=True)
class OneCell:
    """A random change of a single cell, drawn uniformly from those whose thing qualifies.

    After `since` steps, it happens with probability `weight / out_of` per step, if any cell qualifies.
    """

    qualifies: Callable[[Thing], bool]
    becomes: Callable[[Thing], Thing]
    weight: int = 1
    out_of: int = 1
    since: int = 0
    _asks: ClassVar[tuple[str, ...]] = ("qualifies", "becomes")

    def __post_init__(self) -> None:
        """Check the numbers."""
        checked_integer("OneCell's out_of", self.out_of, 1, SCALE)
        checked_integer("OneCell's weight", self.weight, 1, self.out_of)
        checked_integer("OneCell's since", self.since, 0, 2**31 - 1)


@dataclass(frozen=True)
class Counted:
    """A slot that starts as a count over the first board of an episode, at most `most`."""

    count: Callable[[Thing], int]
    most: int
    _asks: ClassVar[tuple[str, ...]] = ("count",)

    def __post_init__(self) -> None:
        """Check the number."""
        checked_integer("Counted's most", self.most, 1, 2**11)


@dataclass(frozen=True)
class Placed:
    """Things that reset puts on bare floor, one after the other, uniformly over the free cells.

    A free cell is `margin` or more away from the edge of the board, without an agent, and `apart` or more
    steps away from what was placed before; if none is left, fewer things are placed. `thing` is called with
    the sum of the strengths of the `weakest` agents.
    """

    count: int
    thing: Callable[[int], Thing | Chance]
    weakest: int = 0
    apart: int = 1
    margin: int = 1
    _asks: ClassVar[tuple[str, ...]] = ("thing",)

    def __post_init__(self) -> None:
        """Check the fields."""
        if not callable(self.thing):
            raise TypeError(
                f"Placed's thing is {brief(self.thing)}: give a function of the strength that returns it."
            )
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
    """Where an action looks for a target: `reach` cells ahead, `width` more to either side.

    With `adjacent`, the cells above, below, left and right, whichever way the agent faces.
    """

    reach: int = 1
    width: int = 0
    adjacent: bool = False

    def __post_init__(self) -> None:
        """Check the numbers."""
        checked_integer("Aim's reach", self.reach, 1, 90)
        checked_integer("Aim's width", self.width, 0, 90)
        if self.adjacent and (self.reach, self.width) != (1, 0):
            raise ValueError(f"{self!r} aims at adjacent cells: leave reach and width out.")

    @property
    def lanes(self) -> int:
        """The number of cells side by side."""
        return 4 if self.adjacent else 1 + 2 * self.width


@dataclass(frozen=True)
class View:
    """A window that turns with the agent, which faces up in it: cells ahead, behind and to the sides."""

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
    """What a tick counts around its cell: the marks of the things there, excluding its own, up to `most`.

    `radius` is the largest distance, by the `shape`: "circle" (a straight line), "diamond" (steps) or
    "square" (steps that may be diagonal). None counts the whole board, with the cell itself.
    """

    mark: Callable[[Thing], int]
    most: int
    radius: float | None = 1
    shape: str = "circle"
    _asks: ClassVar[tuple[str, ...]] = ("mark",)

    def __post_init__(self) -> None:
        """Check the function and the numbers."""
        if not callable(self.mark):
            raise TypeError(f"Near's mark={self.mark!r} is not a function of a thing.")
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
