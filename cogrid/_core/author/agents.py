"""Agents: how they move, what their hands become, and how they leave the board and come back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from cogrid._core.author.chance import Chance
from cogrid._core.author.part import Part, check_flags
from cogrid._core.author.values import Item, Thing


@dataclass(frozen=True)
class Moving(Part):
    """How agents move: before they act or after, and whether two neighbours can change places.

    `when(held)` says whether an agent with this hand can turn and walk; all can if it is left out.
    """

    first: bool = False
    swaps: bool = False
    when: Callable[[Item], bool] | None = None
    _asks: ClassVar[tuple[str, ...]] = ("when",)
    _one_of: ClassVar[tuple[str, ...]] = ("first", "swaps", "when")

    def __post_init__(self) -> None:
        check_flags(self)
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
    _one_of: ClassVar[tuple[str, ...]] = ("tick", "can_act")

    def __post_init__(self) -> None:
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
        self._check_functions()
