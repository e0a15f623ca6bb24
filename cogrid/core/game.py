"""The game: what an environment author writes, as plain Python on small hashable values."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from cogrid.backend.array import brief
from cogrid.backend.env_state import EnvState
from cogrid.core.layout import FLOOR, WALL, Layout
from cogrid.core.look import Look, bare_floor, closed_wall, figure, plate, token

if TYPE_CHECKING:
    from cogrid.core.features import Feature

Thing = Hashable  # what a cell holds, its state included
Item = Hashable  # what a hand holds; None is the empty hand


class Outcome(NamedTuple):
    """What an interaction leaves: the hand, the cell, a verb for what happened, the score it is worth."""

    held: Item
    thing: Thing
    verb: str
    value: float = 0.0


class Event(NamedTuple):
    """What one agent did, as a reward term hears it: the hand and the thing are those before."""

    verb: str
    held: Item
    thing: Thing
    value: float


@dataclass(frozen=True)
class Reward:
    """Points for events, to the actor or the whole team; shaping terms are weighted by the state.

    With `supply` and `demand` the points are paid only while the supply (counted over things and hands as the
    earlier agents of this step left them) is below the demand (counted over things as the step began).
    """

    name: str
    points: Callable[[Event], float]
    team: bool = False
    shaping: bool = False
    supply: Callable[[Thing, Item], int] | None = None
    demand: Callable[[Thing], int] | None = None


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
class Game:
    """Rules of a world; its options are the fields of a frozen dataclass that derives from it."""

    #: Letters of the ASCII layouts.
    legend: ClassVar[Mapping[str, Thing]] = MappingProxyType({FLOOR: "floor", WALL: "wall"})
    #: Layouts that can be chosen by name.
    layouts: ClassVar[Mapping[str, Layout]] = MappingProxyType({})
    #: Actions of these verbs end the episode for the acting agent.
    final_verbs: ClassVar[frozenset[str]] = frozenset()
    #: Names of the planes of grid observations, and the one that is all ones near the end, with its steps.
    planes: ClassVar[tuple[str, ...]] = ()
    countdown: ClassVar[tuple[str, int] | None] = None
    #: Adds the family's own views to the state.
    state_type: ClassVar[type[EnvState]] = EnvState

    def interact(self, held: Item, thing: Thing) -> Outcome | None:
        """What the interact action does; None for nothing."""
        return None

    def toggle(self, held: Item, thing: Thing) -> Outcome | None:
        """What the toggle action does; None for nothing."""
        return None

    def tick(self, thing: Thing) -> Thing:
        """What a thing becomes by itself in one step."""
        return thing

    def walkable(self, thing: Thing) -> bool:
        """Whether an agent can stand there."""
        return thing == "floor"

    def kind(self, thing: Thing) -> str:
        """The name of the thing's type; "floor" is none."""
        return str(thing)

    def lying(self, thing: Thing) -> Item:
        """The item that lies there for all to see, or None."""
        return None

    def item_name(self, item: Item) -> str:
        """The name of an item's type."""
        return str(item)

    def glyph(self, thing: Thing) -> str:
        """Two characters for text pictures: a letter of the legend and what lies there."""
        kind, item = self.kind(thing), self.lying(thing)
        letter = next((c for c, t in self.legend.items() if self.kind(t) == kind), "?")
        return letter + (" " if item is None else self.item_name(item)[0])

    def look(self, thing: Thing) -> Look:
        """What a thing is drawn of; what lies there is drawn over it."""
        kind = self.kind(thing)
        if kind in ("floor", "wall"):
            return bare_floor() if kind == "floor" else closed_wall()
        return plate(kind, self.glyph(thing)[0])

    def look_item(self, item: Item) -> Look:
        """What an item is drawn of, as large as a cell; hands and things hold it smaller."""
        return token(self.item_name(item))

    def look_agent(self, agent: int) -> Look:
        """What an agent is drawn of when it faces right; other facings are turned."""
        return figure(agent)

    def rewards(self) -> tuple[Reward, ...]:
        """The terms whose sum is the reward."""
        return (Reward("score", points=lambda event: event.value, team=True),)

    def features(self) -> tuple[Feature, ...]:
        """The parts of the flat observation."""
        return ()

    def paint(self, thing: Thing) -> Mapping[str, int]:
        """Values of the planes in a cell with this thing; where an agent stands only the agent is painted."""
        return {}

    def paint_agent(self, own: bool, facing: int, held: Item) -> Mapping[str, int]:
        """Values of the planes in a cell with an agent."""
        return {}

    def default_layouts(self) -> tuple[Layout, ...]:
        """The boards to use when the spec names none."""
        return ()

    def scattered(self) -> tuple[Thing, float] | None:
        """A thing that reset scatters over the floor, and its density."""
        return None
