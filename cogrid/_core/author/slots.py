"""Slots: things without a cell, such as recipes, orders and clocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from cogrid._core.author.chance import Chance, branches
from cogrid._core.author.options import checked_integer
from cogrid._core.author.part import Part, check_flags, check_functions, check_hash
from cogrid._core.author.values import ANSWERS, Event, Reply, Thing
from cogrid._io.messages import brief


@dataclass(frozen=True)
class Counted:
    """A slot that starts as a count over the first board of an episode, at most `most`."""

    count: Callable[[Thing], int]
    most: int
    _asks: ClassVar[tuple[str, ...]] = ("count",)

    def __post_init__(self) -> None:
        check_functions(self)
        checked_integer("Counted.most", self.most, 1, 2**11)


@dataclass(frozen=True)
class Slot(Part):
    """A thing without a cell, and what it is when an episode starts: a thing, a `Chance` or a `Counted`.

    `reply(thing, event)` returns a `Reply` to an agent's event, or None to pass it on to the next slot; it
    is asked about events of the verbs in `to` only, if there are any. Of several slots that could reply to
    an event, the one with the lowest `rank(thing)` does, or the first. `tick(thing)` returns what the slot
    becomes by itself, after the replies; a `Reply` pays all agents. With `own`, every agent has one: the
    slots "name 0", "name 1" …
    """

    name: str
    start: Thing | Chance | Counted = None
    reply: Callable[[Thing, Event], Reply | Chance | None] | None = None
    tick: Callable[[Thing], Thing | Reply | Chance] | None = None
    rank: Callable[[Thing], int] | None = None
    own: bool = False
    to: tuple[str, ...] = ()
    several: ClassVar[bool] = True
    _asks: ClassVar[tuple[str, ...]] = ("reply", "tick", "rank")

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise TypeError(f"Slot.name is {brief(self.name)}: name the slot.")
        check_hash("Slot.start", self.start)
        if any(callable(thing) or isinstance(thing, ANSWERS) for thing, _ in branches(self.start)):
            raise TypeError(f"Slot.start is {brief(self.start)}: give a thing, a Chance or a Counted.")
        check_flags(self)
        self._check_functions()
        self._check_needs("rank", "reply")
        if not isinstance(self.to, tuple):
            raise TypeError(f"Slot.to is {brief(self.to)}: give a tuple of verbs, even for one.")
        self._check_needs("to", "reply")
