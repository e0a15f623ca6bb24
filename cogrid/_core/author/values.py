"""Values: what a game's functions take and return, plain and hashable."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

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


#: What rules return about things and items, which is neither.
ANSWERS = (Outcome, Meeting, Reply)
