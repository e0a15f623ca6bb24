"""Asking: the calls of a game's functions when it is compiled, and the checks of what they return."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from cogrid._core.author.cells import OneCell, Placed
from cogrid._core.author.chance import Branch, Chance, branches
from cogrid._core.author.values import ANSWERS, Item, Meeting, Outcome, Thing
from cogrid._core.compile.actions import ENTER, INTERACT
from cogrid._core.compile.answers import Answers
from cogrid._io.messages import brief


def asked(function: Callable[..., Any], **about: Any) -> tuple[Branch, ...]:
    """The branches of an answer."""
    answer = function(*about.values())
    try:
        hash(answer)
    except TypeError:
        raise TypeError(
            f"{function.__qualname__} returned {brief(answer)} for {question(about)}, which cannot be "
            "hashed: use tuples."
        ) from None
    return branches(answer)


def things_asked(function: Callable[..., Any], **about: Any) -> tuple[Branch, ...]:
    """The same for a function that must return things, so not None."""
    cases = asked(function, **about)
    same = ", the same one if nothing changes" if "thing" in about else ""
    for thing, _ in cases:
        if thing is None or isinstance(thing, ANSWERS):
            raise TypeError(
                f"{function.__qualname__} returned {brief(thing)} for {question(about)}: "
                f"return a thing{same}."
            )
    return cases


def items_asked(function: Callable[..., Any], **about: Any) -> tuple[Branch, ...]:
    """The same for a function that must return items, which may be None."""
    cases = asked(function, **about)
    for item, _ in cases:
        if isinstance(item, ANSWERS):
            raise TypeError(
                f"{function.__qualname__} returned {brief(item)} for {question(about)}: return an item, or "
                "None for an empty hand."
            )
    return cases


def question(about: Mapping[str, Any]) -> str:
    """The arguments of a function, for a sentence."""
    return " and ".join(f"{name} {brief(value)}" for name, value in about.items())


def ticks_of(answers: Answers, thing: Thing) -> tuple[tuple[Branch, ...], ...]:
    """What a thing becomes by itself, for each count of what is near it; one entry if nothing is counted."""
    if (near := answers.near) is None:
        return (things_asked(answers.game.tick, thing=thing),)
    return tuple(things_asked(near.tick, thing=thing, count=count) for count in range(near.most + 1))


def hand_ticks_of(answers: Answers, held: Item) -> tuple[Branch, ...]:
    """What a hand becomes by itself."""
    tick = answers.hands.tick
    return branches(held) if tick is None else items_asked(tick, hand=held)


def acts(answers: Answers, held: Item) -> bool:
    """Whether an agent with this hand can act at all."""
    return answers.can_act(held) and not answers.away(held)


def starts_of(answers: Answers, thing: Thing) -> tuple[Branch, ...]:
    """What a letter's thing is when an episode starts."""
    return things_asked(answers.game.start, thing=thing)


class PlacedThings(NamedTuple):
    """What reset places, by the sum of the weakest strengths."""

    least: int  # the smallest sum
    cases: list[tuple[Branch, ...]]  # for it and each sum above


def placed_of(placed: Placed, hands: Sequence[tuple[Branch, ...]]) -> PlacedThings:
    """What reset places, for every sum that the strengths of the first hands can have."""
    strengths = [[_strength(placed, item) for item, _ in hand] for hand in hands]
    least, most = (sum(sorted(map(one, strengths))[: placed.weakest]) for one in (min, max))
    thing: Any = placed.thing
    totals = range(least, most + 1)
    if not callable(thing):
        return PlacedThings(least, [branches(thing) for _ in totals])
    return PlacedThings(least, [things_asked(thing, strength=total) for total in totals])


def _strength(placed: Placed, item: Item) -> int:
    strength = placed.strength_of(item)
    if not isinstance(strength, (int, np.integer)) or strength < 0:
        function: Any = placed.strength
        raise TypeError(
            f"{function.__qualname__} returned {brief(strength)} for hand {brief(item)}: "
            "return a whole number of 0 or more."
        )
    return int(strength)


def outcomes_of(answers: Answers, intent: int, held: Item, thing: Thing) -> tuple[Branch, ...]:
    """The game's outcomes, with "nothing happens" made explicit."""
    function = _rule_of(answers, intent)
    if function is None or (intent == ENTER and not answers.game.walkable(thing)):
        return branches(Outcome(held, thing, ""))
    cases = asked(function, hand=held, thing=thing)
    return tuple((_checked(answers, function, held, thing, answer), below) for answer, below in cases)


def _rule_of(answers: Answers, intent: int) -> Callable[..., Any] | None:
    """What an intent does with a thing; None for nothing, or for joint work."""
    if intent == INTERACT:
        return answers.game.interact
    if intent == ENTER:
        return answers.game.enter
    return getattr(answers.acting(intent), "thing", None)


def becomes_of(one: OneCell, thing: Thing) -> Thing:
    """What a change of one cell makes of a thing that qualifies."""
    things_asked(one.becomes, thing=thing)
    if isinstance(after := one.becomes(thing), Chance):
        raise TypeError(
            f"{one.becomes.__qualname__} returned {brief(after)} for thing {brief(thing)}: return a thing, "
            "and write a OneCell for each if there are several."
        )
    return after


def joint_of(answers: Answers, held: Item, total: int, thing: Thing) -> Outcome:
    """What joint work does for one agent, with "nothing happens" made explicit."""
    joint = answers.joint
    if joint is None or not total or not joint.strength_of(held):
        return Outcome(held, thing, "")
    ((answer, _), *more) = asked(joint.work, hand=held, total=total, thing=thing)
    if more:
        raise TypeError(f"{joint.work.__qualname__} returned a Chance: joint work cannot be random.")
    return _checked(answers, joint.work, held, thing, answer)


def meetings_of(answers: Answers, intent: int, held: Item, other: Item) -> tuple[Branch, ...]:
    """The game's meetings, with "nothing happens" made explicit."""
    nothing, act = Meeting(held, other, ""), answers.acting(intent)
    if act is None or act.agent is None:
        return branches(nothing)
    cases = asked(act.agent, hand=held, other=other)
    for answer, _ in cases:
        valid = isinstance(answer, Meeting) and _tells(answer)
        if answer is not None and not valid:
            raise TypeError(
                f"{act.agent.__qualname__} returned {answer!r} for {act.name!r}, hand {held!r} and other "
                f"{other!r}: return None or a Meeting with a verb and a finite value."
            )
    return tuple((nothing if answer is None else answer, below) for answer, below in cases)


def _tells(answer: Outcome | Meeting) -> bool:
    """Whether it has a verb and a finite value, and what it leaves is no other answer."""
    if any(isinstance(left, ANSWERS) for left in answer[:2]):
        return False
    return isinstance(answer.verb, str) and bool(answer.verb) and is_finite(answer.value)


def is_finite(value: Any) -> bool:
    """Whether it is a number that can be paid."""
    return isinstance(value, (int, float, np.number)) and math.isfinite(value)


def _checked(
    answers: Answers, function: Callable[..., Any], held: Item, thing: Thing, answer: Any
) -> Outcome:
    if answer is None:
        return Outcome(held, thing, "")
    valid = isinstance(answer, Outcome) and answer.thing is not None and _tells(answer)
    if not valid:
        raise TypeError(
            f"{function.__qualname__} returned {answer!r} for hand {held!r} and thing "
            f"{thing!r}: return None or an Outcome with a verb, a thing and a finite value."
        )
    if function == answers.game.enter and not answers.game.walkable(answer.thing):
        raise ValueError(
            f"{function.__qualname__} leaves {answer.thing!r} under hand {held!r} on {thing!r}: "
            "leave something that an agent can stand on."
        )
    outcome: Outcome = answer
    return outcome
