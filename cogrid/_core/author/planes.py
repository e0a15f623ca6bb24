"""Planes: what grid observations show."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import ClassVar

from cogrid._core.author.options import checked_integer
from cogrid._core.author.values import Item, Thing
from cogrid._io.messages import brief

Paint = Mapping[str, int]


@dataclass(frozen=True)
class View:
    """A window that turns with the agent, which faces up in it: cells ahead, behind and to the sides."""

    ahead: int
    behind: int
    side: int

    def __post_init__(self) -> None:
        for name in ("ahead", "behind", "side"):
            checked_integer(f"View.{name}", getattr(self, name), 0, 63)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.ahead + 1 + self.behind, 2 * self.side + 1


@dataclass(frozen=True)
class Planes:
    """The planes of grid observations; a game that names none gets one for each kind, item and facing.

    The functions return `{plane: value}`, values from 0 to 255; planes that they leave out are 0. Where an
    agent stands, only the agent is painted.
    """

    names: tuple[str, ...] = ()
    #: What is painted in a cell with this thing.
    thing: Callable[[Thing], Paint] | None = None
    #: `agent(own, facing, held)`: in a cell with an agent, which may be the observer's own.
    agent: Callable[[bool, int, Item], Paint] | None = None
    #: `away(own, held)`: what an agent off the board adds in every cell.
    away: Callable[[bool, Item], Paint] | None = None
    #: `slot(name, thing)`: what a slot adds in the cells that show it.
    slot: Callable[[str, Thing], Paint] | None = None
    #: Whether slots are shown in a cell with this thing, or in which of the planes.
    shows: Callable[[Thing], bool | Collection[str]] | None = None
    #: Planes that an agent with this in its own slot sees instead of others: {plane: plane seen}.
    sees: Callable[[Thing], Mapping[str, str]] | None = None
    #: The plane that is all ones near the end of an episode, and for how many steps.
    countdown: tuple[str, int] | None = None
    #: The window of observation="window" if it turns with the agent; None for the square of the spec.
    view: View | None = None
    _asks: ClassVar[tuple[str, ...]] = ("thing", "agent", "away", "slot", "shows", "sees")

    def __post_init__(self) -> None:
        names = self.names
        if not isinstance(names, tuple) or not all(isinstance(name, str) and name for name in names):
            raise TypeError(f"Planes.names is {brief(names)}: give a tuple of names, even for one.")
        if len(set(names)) < len(names):
            raise ValueError(f"Planes.names is {brief(names)}: no name can be there twice.")
        for field in self._asks:
            if (value := getattr(self, field)) is None:
                continue
            if not callable(value):
                raise TypeError(f"Planes.{field} is {brief(value)}: give a function.")
            if not names and field != "shows":
                raise ValueError(f"Planes.{field} has no effect without Planes.names: give both or neither.")
        if self.countdown is not None:
            if not isinstance(self.countdown, tuple) or len(self.countdown) != 2:
                raise TypeError(
                    f"Planes.countdown is {brief(self.countdown)}: give a plane and a number of steps."
                )
            plane, steps = self.countdown
            if plane not in names:
                raise ValueError(
                    f"Planes.countdown names {brief(plane)}, which is not one of {brief(names)}."
                )
            checked_integer("Planes.countdown's steps", steps, 1, 2**31 - 1)
        if self.view is not None and not isinstance(self.view, View):
            raise TypeError(f"Planes.view is {brief(self.view)}: give a View.")
