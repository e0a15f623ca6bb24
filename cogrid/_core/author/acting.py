"""Acting: what an action does to a thing or an agent, alone or together, and how far it reaches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from cogrid._core.author.chance import Chance
from cogrid._core.author.options import checked_integer
from cogrid._core.author.part import Part
from cogrid._core.author.values import Item, Meeting, Outcome, Thing
from cogrid._io.messages import brief

#: The actions that every action set but "moves" has, which an `Act` extends.
BUILT_IN = ("interact", "toggle")


@dataclass(frozen=True)
class Aim:
    """Where an action looks for a target: `reach` cells ahead, `width` more to either side.

    With `adjacent`, the cells above, below, left and right, whichever way the agent faces. The nearest
    target is taken. Agents, and things that no agent can stand on, hide what is behind them.
    """

    reach: int = 1
    width: int = 0
    adjacent: bool = False

    def __post_init__(self) -> None:
        checked_integer("Aim's reach", self.reach, 1, 90)
        checked_integer("Aim's width", self.width, 0, 90)
        if self.adjacent and (self.reach, self.width) != (1, 0):
            raise ValueError(f"{self!r} aims at adjacent cells: leave reach and width out.")

    @property
    def lanes(self) -> int:
        """The number of cells side by side."""
        return 4 if self.adjacent else 1 + 2 * self.width


@dataclass(frozen=True)
class Act(Part):
    """What an action does: "interact", "toggle", or an action of the game's own, numbered after the noop.

    `thing(held, thing)` returns an `Outcome`, `agent(held, other)` a `Meeting` with an agent that holds
    `other`; either may return a `Chance` of these, or None for nothing. What "interact" does with a thing
    is `Game.interact`. The action works on the first thing or agent in its `aim` for which a function does
    not return None.
    """

    name: str
    thing: Callable[[Item, Thing], Outcome | Chance | None] | None = None
    agent: Callable[[Item, Item], Meeting | Chance | None] | None = None
    aim: Aim = Aim()
    several: ClassVar[bool] = True
    _asks: ClassVar[tuple[str, ...]] = ("thing", "agent")
    _one_of: ClassVar[tuple[str, ...]] = ("thing", "agent")

    def __post_init__(self) -> None:
        _check_name(self, self.name)
        self._check_functions()
        _check_aim(self, self.aim)
        if self.name == "interact" and self.thing is not None:
            raise ValueError('Act("interact") has a thing: write Game.interact for that.')

    def _has_effect(self) -> bool:
        """An aim is enough for "interact", whose thing is that of the game."""
        return super()._has_effect() or (self.name == "interact" and self.aim != Aim())


@dataclass(frozen=True)
class Joint(Part):
    """An action that several agents do together: those that take it on the same cell in the same step.

    `work(held, total, thing)` returns an `Outcome` for each of them, or None; the thing in it must be the
    same for all. `total` is the sum of their `strength(held)`, cut off at `most`; an agent of strength 0
    takes no part. `agent` is that of an `Act`: who meets another agent does not work in that step.
    """

    name: str
    work: Callable[[Item, int, Thing], Outcome | None]
    most: int = 1
    strength: Callable[[Item], int] | None = None  # 1 for every hand if left out
    aim: Aim = Aim()
    agent: Callable[[Item, Item], Meeting | Chance | None] | None = None
    _asks: ClassVar[tuple[str, ...]] = ("work", "strength", "agent")

    def __post_init__(self) -> None:
        _check_name(self, self.name)
        if self.name in BUILT_IN:
            raise ValueError(f"Joint has the name {self.name!r}: name an action of the game's own.")
        self._check_functions()
        _check_aim(self, self.aim)
        checked_integer("Joint.most", self.most, 1, 2**10)

    def strength_of(self, held: Item) -> int:
        """What an agent with this hand adds."""
        return 1 if self.strength is None else self.strength(held)


def _check_name(part: Part, name: object) -> None:
    if not isinstance(name, str) or not name:
        raise TypeError(f"{type(part).__name__}.name is {brief(name)}: name the action.")


def _check_aim(part: Part, aim: object) -> None:
    if not isinstance(aim, Aim):
        raise TypeError(f"{type(part).__name__}.aim is {brief(aim)}: give an Aim.")
