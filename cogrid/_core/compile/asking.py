"""Asking: the calls of a game's hooks when it is compiled, and the checks of what they return."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from cogrid._core.author.actions import ENTER, FURTHER, INTERACT, NOTHING, TOGGLE
from cogrid._core.author.answers import Item, Meeting, OneCell, Outcome, Placed, Thing
from cogrid._core.author.chance import Branch, branches
from cogrid._core.author.game import Game
from cogrid._core.author.hooks import writes
from cogrid.backend.array import brief

_HOOKS: Mapping[int, str] = MappingProxyType({INTERACT: "interact", TOGGLE: "toggle", ENTER: "enter"})


def asked(game: Game, hook: Callable[..., Any], **about: Any) -> tuple[Branch, ...]:
    """The branches of a hook's answer; errors in the author's code get a note with the arguments."""
    try:
        answer = hook(*about.values())
        hash(answer)
    except Exception as error:  # an author's function may raise anything
        error.add_note(f"{type(game).__name__}.{hook.__name__} was called with {question(about)}")
        raise
    return branches(answer)


def things_asked(game: Game, hook: Callable[..., Any], **about: Any) -> tuple[Branch, ...]:
    """The same for a hook that must return things, so not None."""
    found = asked(game, hook, **about)
    for thing, _ in found:
        if thing is None or isinstance(thing, (Outcome, Meeting)):
            raise TypeError(
                f"{type(game).__name__}.{hook.__name__} returned {brief(thing)} for {question(about)}: "
                "return a thing, the same one if nothing changes."
            )
    return found


def question(about: Mapping[str, Any]) -> str:
    """The arguments of a hook, for a sentence."""
    return " and ".join(f"{name} {brief(value)}" for name, value in about.items())


def ticks_of(game: Game, thing: Thing) -> tuple[tuple[Branch, ...], ...]:
    """What a thing becomes by itself, for each count of what is near it; one entry if nothing is counted."""
    if (near := game.near()) is None:
        return (things_asked(game, game.tick, thing=thing),)
    return tuple(
        things_asked(game, game.tick_near, thing=thing, count=count) for count in range(near.most + 1)
    )


def hand_ticks_of(game: Game, held: Item) -> tuple[Branch, ...]:
    """What a hand becomes by itself."""
    return asked(game, game.tick_hand, hand=held)


def acts(game: Game, held: Item) -> bool:
    """Whether an agent with this hand can act at all."""
    return bool(game.can_act(held)) and not game.away(held)


def starts_of(game: Game, thing: Thing) -> tuple[Branch, ...]:
    """What a letter's thing is when an episode starts."""
    return things_asked(game, game.start, thing=thing)


def placed_of(
    game: Game, placed: Placed, hands: Sequence[tuple[Branch, ...]]
) -> tuple[int, list[tuple[Branch, ...]]]:
    """What reset places: the smallest sum of the weakest strengths, and the things for each sum above."""
    strengths = [[game.strength(item) for item, _ in hand] for hand in hands]
    least, most = (sum(sorted(map(one, strengths))[: placed.weakest]) for one in (min, max))
    return least, [asked(game, placed.thing, strength=total) for total in range(least, most + 1)]


def outcomes_of(game: Game, intent: int, held: Item, thing: Thing) -> tuple[Branch, ...]:
    """The game's outcomes, with "nothing happens" made explicit."""
    if intent in (NOTHING, joint_intent(game)) or (intent == ENTER and not game.walkable(thing)):
        return branches(Outcome(held, thing, ""))
    hook: Callable[..., Any] = game.act
    about = {"hand": held, "thing": thing}
    if intent < FURTHER:
        hook = getattr(game, hook_of(intent))
    else:
        about = {"action": game.actions[intent - FURTHER]} | about
    answers = asked(game, hook, **about)
    return tuple((_checked(game, hook, held, thing, answer), below) for answer, below in answers)


def hook_of(intent: int) -> str:
    """The hook that says what an intent does with a thing."""
    return _HOOKS.get(intent, "act")


def becomes_of(game: Game, one: OneCell, thing: Thing) -> Thing:
    """What a change of one cell makes of a thing that qualifies."""
    if (after := one.becomes(thing)) is None:
        raise TypeError(
            f"{type(game).__name__}.one_cell turns {thing!r} into None: return a thing from `becomes`."
        )
    return after


def joint_intent(game: Game) -> int | None:
    """The intent of the joint action, if the game has one."""
    return FURTHER + game.actions.index(game.joint) if game.joint else None


def joint_of(game: Game, held: Item, total: int, thing: Thing) -> Outcome:
    """What joint work does for one agent, with "nothing happens" made explicit."""
    if not total or not game.strength(held):
        return Outcome(held, thing, "")
    ((answer, _), *more) = asked(game, game.join, hand=held, total=total, thing=thing)
    if more:
        raise TypeError(f"{type(game).__name__}.join returned a Chance: joint work cannot be random.")
    return _checked(game, game.join, held, thing, answer)


def meetings_of(game: Game, intent: int, held: Item, other: Item) -> tuple[Branch, ...]:
    """The game's meetings, with "nothing happens" made explicit."""
    nothing = Meeting(held, other, "")
    if intent in (NOTHING, ENTER):
        return branches(nothing)
    name = {INTERACT: "interact", TOGGLE: "toggle"}.get(intent) or game.actions[intent - FURTHER]
    answers = asked(game, game.meet, action=name, hand=held, other=other)
    for answer, _ in answers:
        valid = isinstance(answer, Meeting) and _tells(answer)
        if answer is not None and not valid:
            raise TypeError(
                f"{type(game).__name__}.meet returned {answer!r} for {name!r}, hand {held!r} and other "
                f"{other!r}: return None or a Meeting with a verb and a finite value."
            )
    return tuple((nothing if answer is None else answer, below) for answer, below in answers)


def _tells(answer: Outcome | Meeting) -> bool:
    """Whether it has a verb and a finite value."""
    value: Any = answer.value
    is_number = isinstance(value, (int, float, np.number)) and math.isfinite(value)
    return isinstance(answer.verb, str) and bool(answer.verb) and is_number


def _checked(game: Game, hook: Callable[..., Any], held: Item, thing: Thing, answer: Any) -> Outcome:
    if answer is None:
        return Outcome(held, thing, "")
    is_outcome = isinstance(answer, Outcome) and answer.thing is not None
    if not is_outcome or not _tells(answer):
        raise TypeError(
            f"{type(game).__name__}.{hook.__name__} returned {answer!r} for hand {held!r} and thing "
            f"{thing!r}: return None or an Outcome with a verb, a thing and a finite value."
        )
    if hook == game.enter and not game.walkable(answer.thing):
        raise ValueError(
            f"{type(game).__name__}.enter leaves {answer.thing!r} under hand {held!r} on {thing!r}: "
            "leave something that an agent can stand on."
        )
    outcome: Outcome = answer
    return outcome


def intents_of(game: Game) -> tuple[int, ...]:
    """The intents of this game."""
    toggles = writes(game, "toggle") or writes(game, "meet")
    written = [(TOGGLE, toggles), (ENTER, writes(game, "enter"))]
    further = (FURTHER + k for k in range(len(game.actions)))
    return (NOTHING, INTERACT, *(intent for intent, is_written in written if is_written), *further)
