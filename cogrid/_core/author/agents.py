"""Agents: how they move, what their hands become, and how they leave the board and come back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from cogrid._core.author.chance import Chance
from cogrid._core.author.options import checked_flag
from cogrid._core.author.part import Part
from cogrid._core.author.values import Item, Thing
from cogrid._io.messages import brief


@dataclass(frozen=True)
class Moving(Part):
    """How agents move: before they act or after, and whether two neighbours can change places.

    `when(held)` says whether an agent with this hand can turn and walk; all can if it is left out.
    """

    first: bool = False
    swaps: bool = False
    when: Callable[[Item], bool] | None = None
    _asks: ClassVar[tuple[str, ...]] = ("when",)

    def __post_init__(self) -> None:
        """Check the fields."""
        for name in ("first", "swaps"):
            checked_flag(f"Moving.{name}", getattr(self, name))
        self._check_functions()


@dataclass(frozen=True)
class Hands(Part):
    """What a hand becomes by itself in one step, and whether an agent with it can act.

    `tick(held)` returns the next item, the same one if nothing changes, or a `Chance`. `can_act(held)` says
    whether an agent can do anything other than turn and walk.
    """

    tick: Callable[[Item], Item | Chance] | None = None
    can_act: Callable[[Item], bool] | None = None
    _asks: ClassVar[tuple[str, ...]] = ("tick", "can_act")

    def __post_init__(self) -> None:
        """Check the fields."""
        self._check_functions()


@dataclass(frozen=True)
class Away(Part):
    """Agents for whose hand `when(held)` is true are off the board, where they neither move nor act.

    When that changes, they come back to a free cell whose thing passes `back(thing)`, drawn at random; to
    any cell where an agent can stand if `back` is left out.
    """

    when: Callable[[Item], bool]
    back: Callable[[Thing], bool] | None = None
    _asks: ClassVar[tuple[str, ...]] = ("when", "back")

    def __post_init__(self) -> None:
        """Check the fields."""
        if self.when is None:
            raise TypeError(f"Away.when is {brief(self.when)}: give a function.")
        self._check_functions()
