"""Rewards and ends: what agents are paid for, and when it is over for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from cogrid._core.author.options import added, checked_integer
from cogrid._core.author.part import Part, check_flags, check_functions, check_needs
from cogrid._core.author.values import Event, Item, Thing
from cogrid._io.messages import brief


@dataclass(frozen=True)
class Reward:
    """Points for events, to the actor or the whole team; shaping terms are weighted by the state.

    With `supply` and `demand`, the points are paid only while the supply is below the demand. The supply is
    the sum of `supply(thing, None)` over the board and of `supply(None, held)` over all hands, as the events
    of agents with lower numbers left them (with `hands_at_start`, hands before the step); the demand is the
    sum of `demand(thing)` over the board before the step (without `demand_at_start`, as those events left
    it). Things that joint work changes count from the next step on.

    With `other`, the points of a meeting go to the agent that was met, and other events pay nothing.
    """

    name: str
    points: Callable[[Event], float]
    team: bool = False
    shaping: bool = False
    supply: Callable[[Thing, Item], int] | None = None
    demand: Callable[[Thing], int] | None = None
    hands_at_start: bool = False
    demand_at_start: bool = True
    other: bool = added(False)
    #: The fields with functions, which are asked each question once; here and below.
    _asks: ClassVar[tuple[str, ...]] = ("points", "supply", "demand")

    def __post_init__(self) -> None:
        _check(self)
        check_needs(self, "supply", "demand")
        check_needs(self, "demand", "supply")
        if self.team and self.other:
            raise ValueError(f"the term {self.name!r} pays the team and the other agent: choose one.")


@dataclass(frozen=True)
class Price:
    """Points for an agent's action, by its name and the hand before, in every step until the agent ends."""

    name: str
    points: Callable[[str, Item], float]
    team: bool = False
    shaping: bool = False
    _asks: ClassVar[tuple[str, ...]] = ("points",)

    def __post_init__(self) -> None:
        _check(self)


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
        _check(self)
        checked_integer(f"most of the tally {self.name!r}", self.most, 1, 2**16)


@dataclass(frozen=True)
class Replies:
    """The values of slots' replies: for an event, to the actor or the team; for ticks, to all agents."""

    name: str
    team: bool = True
    shaping: bool = False
    _asks: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True)
class BySlot:
    """Points for events, by what a slot was before the step."""

    name: str
    slot: str
    points: Callable[[Event, Thing], float]
    team: bool = False
    shaping: bool = False
    _asks: ClassVar[tuple[str, ...]] = ("points",)

    def __post_init__(self) -> None:
        _check(self)


AnyReward = Reward | Price | Tally | Replies | BySlot


def _check(term: AnyReward) -> None:
    if not isinstance(term.name, str) or not term.name:
        raise TypeError(f"{type(term).__name__}.name is {brief(term.name)}: name the term.")
    check_functions(term)
    check_flags(term)


def pays_other(reward: AnyReward) -> bool:
    """Whether a term pays the agent that was met."""
    return isinstance(reward, Reward) and reward.other


@dataclass(frozen=True)
class Ends(Part):
    """When it is over: for an agent, by a verb or by what it holds; for all, when nothing remains.

    An agent ends with an action of one of the `verbs`, and after a step in which `hand(held)` is true. All
    end when the sum of `remaining(thing)` over the board, `in_hands(held)` over the hands and
    `in_slots(name, thing)` over the slots is exactly 0.
    """

    verbs: tuple[str, ...] = ()
    hand: Callable[[Item], bool] | None = None
    remaining: Callable[[Thing], int] | None = None
    in_hands: Callable[[Item], int] | None = None
    in_slots: Callable[[str, Thing], int] | None = None
    _asks: ClassVar[tuple[str, ...]] = ("hand", "remaining", "in_hands", "in_slots")
    _one_of: ClassVar[tuple[str, ...]] = ("verbs", "hand", "remaining", "in_hands", "in_slots")

    def __post_init__(self) -> None:
        if not isinstance(self.verbs, tuple):
            raise TypeError(f"Ends.verbs is {brief(self.verbs)}: give a tuple of verbs, even for one.")
        self._check_functions()
