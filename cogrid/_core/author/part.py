"""A part: one rule of a game beyond those that `Game` names; the parts of a game, by their kinds."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, ClassVar, TypeVar

from cogrid._core.author.chance import branches
from cogrid._core.author.options import checked_flag
from cogrid._core.author.values import ANSWERS
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
    #: The fields of which at least one must be given, since the part would have no effect without them.
    _one_of: ClassVar[tuple[str, ...]] = ()

    def _check_functions(self) -> None:
        """Raise an error for a field of `_asks` that is not a function."""
        check_functions(self)

    def _check_needs(self, name: str, needed: str) -> None:
        """Raise an error for a field that has no effect without another one."""
        check_needs(self, name, needed)

    def _has_effect(self) -> bool:
        """Whether one of the fields of `_one_of` is given."""
        return not self._one_of or any(getattr(self, name) for name in self._one_of)


class Parts:
    """What `Game.parts` returned, without None, looked up by kind."""

    def __init__(self, parts: Iterable[Part | None] = ()) -> None:
        self.all = tuple(part for part in parts if part is not None)

    def one(self, kind: type[P]) -> P | None:
        """The part of this kind, if there is one."""
        return next((part for part in self.all if type(part) is kind), None)

    def every(self, kind: type[P]) -> tuple[P, ...]:
        """The parts of this kind, in the game's order."""
        return tuple(part for part in self.all if type(part) is kind)


def label(parts: Any, place: int) -> str:
    """How errors call one of several parts or terms: by name or number where others are of its kind."""
    part, kind = parts[place], type(parts[place])
    alike = [k for k, other in enumerate(parts) if type(other) is kind]
    if len(alike) == 1:
        return kind.__name__
    name = getattr(part, "name", None)
    return f'{kind.__name__}("{name}")' if name else f"{kind.__name__}[{alike.index(place)}]"


def check_functions(part: Any) -> None:
    """Raise an error for a field of `_asks` that is not a function; None is one only if it is the default."""
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        left_out = value is None and field.default is None
        if field.name in part._asks and not left_out and not callable(value):
            raise TypeError(f"{type(part).__name__}.{field.name} is {brief(value)}: give a function.")


def check_flags(part: Any) -> None:
    """Raise an error for a field that is True or False by default and now is neither."""
    for field in dataclasses.fields(part):
        if isinstance(field.default, bool):
            checked_flag(f"{type(part).__name__}.{field.name}", getattr(part, field.name))


def check_needs(part: Any, name: str, needed: str) -> None:
    """Raise an error for a field that has no effect without another one."""
    if getattr(part, name) and not getattr(part, needed):
        own = type(part).__name__
        raise ValueError(f"{own}.{name} has no effect without {own}.{needed}: give both or neither.")


def check_hash(name: str, value: Any) -> None:
    """Raise an error for a thing that cannot be hashed, such as a list."""
    try:
        hash(value)
    except TypeError:
        raise TypeError(f"{name} is {brief(value)}, which cannot be hashed: use tuples.") from None


def check_thing(name: str, value: Any, wanted: str) -> None:
    """Raise an error for what no cell can hold; a `Chance` must be one of things."""
    check_hash(name, value)
    if any(thing is None or isinstance(thing, ANSWERS) for thing, _ in branches(value)):
        raise TypeError(f"{name} is {brief(value)}: {wanted}.")


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
    given = [part for part in parts if part is not None]
    for place, part in enumerate(given):
        if not part._has_effect():
            fields = " and ".join((", ".join(part._one_of[:-1]), part._one_of[-1]))
            raise ValueError(
                f"{label(given, place)} of {owner} does nothing: give at least one of {fields}, or None in "
                "place of the part."
            )
    for kind in kinds:
        if sum(type(part) is kind for part in parts) > 1 and not kind.several:
            raise ValueError(f"{owner}.parts has two {kind.__name__} parts: a game has one at most.")
