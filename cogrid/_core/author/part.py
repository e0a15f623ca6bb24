"""A part: one rule of a game beyond those that `Game` names; the parts of a game, by their kinds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, TypeVar

from cogrid._io.messages import brief

P = TypeVar("P", bound="Part")


class Part:
    """Derive a frozen dataclass; `Game.parts` returns such values.

    Whoever compiles a kind of part reads it from the `Parts` of the rules.
    """

    #: Whether a game can have more than one of this kind.
    several: ClassVar[bool] = False
    #: The fields with an author's functions, which are asked each question once.
    _asks: ClassVar[tuple[str, ...]] = ()

    def _check_functions(self) -> None:
        """Raise an error for a field of `_asks` that is not a function; None leaves a rule out."""
        for name in self._asks:
            if (value := getattr(self, name)) is not None and not callable(value):
                raise TypeError(f"{type(self).__name__}.{name} is {brief(value)}: give a function.")

    def _check_needs(self, name: str, needed: str) -> None:
        """Raise an error for a field that has no effect without another one."""
        if getattr(self, name) is not None and not getattr(self, needed):
            own = type(self).__name__
            raise ValueError(f"{own}.{name} has no effect without {own}.{needed}: give both or neither.")


class Parts:
    """The parts of a game."""

    def __init__(self, parts: Iterable[Part | None] = ()) -> None:
        self.all = tuple(part for part in parts if part is not None)

    def one(self, kind: type[P]) -> P | None:
        """The part of this kind, if there is one."""
        return next((part for part in self.all if type(part) is kind), None)

    def every(self, kind: type[P]) -> tuple[P, ...]:
        """The parts of this kind, in the game's order."""
        return tuple(part for part in self.all if type(part) is kind)


def check_parts(owner: str, parts: Any, kinds: tuple[type[Part], ...]) -> None:
    """Raise an error for parts of other kinds, and for two of a kind of which a game has one."""
    if not isinstance(parts, (tuple, list)):
        raise TypeError(f"{owner}.parts returned {brief(parts)}: return a tuple of parts, even for one.")
    for part in parts:
        if part is not None and type(part) not in kinds:
            known = ", ".join(kind.__name__ for kind in kinds)
            raise TypeError(
                f"{owner}.parts returned {brief(part)}, which is not a part: give some of {known}, and no "
                "classes derived from them."
            )
    for kind in kinds:
        if sum(type(part) is kind for part in parts) > 1 and not kind.several:
            raise ValueError(f"{owner}.parts has two {kind.__name__} parts: a game has one at most.")
