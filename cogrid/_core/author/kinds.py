"""Hooks: which methods of `Game` a game writes; errors for misspelt ones and for names that are parts now."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import re
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType, MappingProxyType
from typing import Any

from cogrid._core.author.acting import BUILT_IN, Act, Aim, Joint
from cogrid._core.author.agents import Away, Hands, Moving
from cogrid._core.author.cells import Generated, Near, OneCell, Placed, Scattered
from cogrid._core.author.game import Game
from cogrid._core.author.look import Looks
from cogrid._core.author.part import Part, Parts, check_parts
from cogrid._core.author.planes import Planes, View
from cogrid._core.author.rewards import BySlot, Ends, Price, Replies, Reward, Tally
from cogrid._core.author.slots import Counted, Slot
from cogrid._core.author.values import Meeting, Outcome, Reply
from cogrid._io.messages import brief

#: The kinds of parts. To add one, write its class, add it here, and compile it in a phase.
KINDS: tuple[type[Part], ...] = (
    Act,
    Joint,
    Moving,
    Hands,
    Away,
    Near,
    OneCell,
    Slot,
    Placed,
    Scattered,
    Generated,
    Ends,
)

#: Everything that an author makes with keywords, by its name.
MADE: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        kind.__name__: kind
        for kind in (
            *(*KINDS, Aim, Counted, Planes, View, Looks, Reward, Price, Tally, Replies, BySlot),
            *(Outcome, Meeting, Reply),
        )
    }
)

#: Names that meant a rule before there were parts, and what to write now; under such a name nothing calls it.
FORMER: Mapping[str, str] = MappingProxyType(
    {
        "toggle": 'Act("toggle", thing=…) in parts()',
        "actions": "Act(name, …) in parts(), one for each action",
        "act": "Act(name, thing=…) in parts()",
        "meet": "Act(name, agent=…) in parts()",
        "aim": "Act(name, aim=…) in parts()",
        "joint": "Joint(name, work, …) in parts()",
        "join": "Joint(name, work=…) in parts()",
        "most_strength": "Joint(…, most=…) in parts()",
        "strength": "Joint(…, strength=…) or Placed(…, strength=…) in parts()",
        "moves_first": "Moving(first=True) in parts()",
        "swaps": "Moving(swaps=True) in parts()",
        "can_move": "Moving(when=…) in parts()",
        "tick_hand": "Hands(tick=…) in parts()",
        "can_act": "Hands(can_act=…) in parts()",
        "away": "Away(when=…) in parts()",
        "spawn": "Away(…, back=…) in parts()",
        "near": "Near(mark, tick, most) in parts()",
        "tick_near": "Near(…, tick=…) in parts()",
        "one_cell": "OneCell(…) in parts()",
        "slots": "Slot(name, start) in parts()",
        "own_slots": "Slot(name, start, own=True) in parts()",
        "reply": "Slot(…, reply=…) in parts()",
        "rank": "Slot(…, rank=…) in parts()",
        "tick_slot": "Slot(…, tick=…) in parts()",
        "placed": "Placed(…) in parts()",
        "scattered": "Scattered(thing, density) in parts()",
        "generate": "Generated(draw) in parts()",
        "final_verbs": "Ends(verbs=…) in parts()",
        "finished": "Ends(hand=…) in parts()",
        "remaining": "Ends(remaining=…) in parts()",
        "paint": "Planes(names, thing=…) in planes()",
        "paint_agent": "Planes(names, agent=…) in planes()",
        "paint_away": "Planes(names, away=…) in planes()",
        "paint_slot": "Planes(names, slot=…) in planes()",
        "shows": "Planes(…, shows=…) in planes()",
        "sees": "Planes(names, sees=…) in planes()",
        "countdown": "Planes(names, countdown=…) in planes()",
        "view": "Planes(…, view=…) in planes()",
        "look": "Looks(thing=…) in looks()",
        "look_item": "Looks(item=…) in looks()",
        "look_agent": "Looks(agent=…) in looks()",
        "look_slot": "Looks(slot=…) in looks()",
        "glyph": "Looks(glyph=…) in looks()",
    }
)


def written(game: Game) -> tuple[str, ...]:
    """The names of `Game` that a game writes itself: methods and class variables that differ."""
    return tuple(name for name in _public(Game) if writes(game, name))


def writes(game: Game, name: str) -> bool:
    """Whether a game writes this name of `Game` itself."""
    return getattr(game.__class__, name) is not getattr(Game, name)  # the class that it stands for


def check_hooks(game: Game) -> None:
    """Raise an error for a public name that resembles one of `Game`, and for one that is a part now."""
    name_, own = type(game).__name__, type(game).__mro__[: type(game).__mro__.index(Game)]
    options = {field.name for field in dataclasses.fields(game)}
    for name in dict.fromkeys(name for one in own for name in _public(one)):
        if name in options or hasattr(Game, name):
            continue
        if name in FORMER:
            raise TypeError(f"{name_}.{name} has no effect: return {FORMER[name]}.")
        if meant := difflib.get_close_matches(name, _public(Game), 1, 0.85):
            raise TypeError(
                f"{name_}.{name} is not a name of `Game`: call it {meant[0]!r} if you mean that one, "
                f"or {'_' + name!r} if it is a helper."
            )
    for name in ("planes", "looks", "parts"):
        if not callable(getattr(game, name)):
            raise TypeError(f"{name_}.{name} is {brief(getattr(game, name))}: write a method.")


def wrong_keyword(error: Exception) -> str:
    """The fields of what was made with a wrong keyword, for a note; "" for other errors."""
    found = re.match(r"(\w+)\.__\w+__\(\) got an unexpected keyword argument '(\w+)'", str(error))
    if not isinstance(error, TypeError) or found is None or found[1] not in MADE:
        return ""
    fields = list(inspect.signature(MADE[found[1]]).parameters)
    meant = difflib.get_close_matches(found[2], fields, 1)
    hint = f": did you mean {meant[0]!r}?" if meant else "."
    return f"{found[1]} takes {', '.join(fields)}{hint}"


def parts_of(game: Game) -> Parts:
    """The parts of a game, checked; whether each is right with the others too."""
    owner, given = type(game).__name__, game.parts()
    check_parts(owner, given, KINDS)
    found = Parts(given)
    names = [part.name for part in found.all if isinstance(part, (Act, Joint))]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"{owner}.parts names the action {twice[0]!r} twice: write one Act or Joint for it.")
    slots = [part.name for part in found.every(Slot)]
    if twice := [name for name in slots if slots.count(name) > 1]:
        raise ValueError(f"{owner}.parts has two slots named {twice[0]!r}: rename one.")
    return found


def check_together(game: Game, parts: Parts, planes: Planes, looks: Looks) -> None:
    """Raise an error for a function that nothing would call."""
    owner = type(game).__name__
    if (near := parts.one(Near)) is not None and writes(game, "tick") and not _calls_tick(game, near):
        raise ValueError(f"{owner}.tick has no effect: Near.tick takes its place.")
    slots = parts.every(Slot)
    no_slots = "" if slots else "the game has no slots"
    lacking = {
        "Planes.away": "" if parts.one(Away) else "the game has no Away",
        "Planes.slot": no_slots,
        "Planes.shows": no_slots,
        "Planes.sees": "" if any(slot.own for slot in slots) else "no slot is every agent's own",
        "Looks.slot": no_slots or ("" if planes.shows else "the game has no Planes.shows"),
    }
    for name, reason in lacking.items():
        kind, field = name.split(".")
        if reason and getattr(planes if kind == "Planes" else looks, field) is not None:
            raise ValueError(f"{name} of {owner} has no effect: {reason}.")


def _calls_tick(game: Game, near: Near) -> bool:
    """Whether `Near.tick` is the game's own `tick`, or a function of the game may call that."""
    own, tick = game.__class__, getattr(inspect.unwrap(near.tick), "__code__", None)
    if tick is None or tick is getattr(own.tick, "__code__", None):
        return True
    methods = (pair for one in own.__mro__[: own.__mro__.index(Game)] for pair in vars(one).items())
    codes = [value.__code__ for name, value in methods if name != "tick" and isinstance(value, FunctionType)]
    return any(_mentions(code, "tick") for code in (tick, *codes))


def _mentions(code: CodeType, name: str) -> bool:
    """Whether a function, or one inside it, reads an attribute or a global of this name."""
    inner = (one for one in code.co_consts if isinstance(one, CodeType))
    return name in code.co_names or any(_mentions(one, name) for one in inner)


def own_actions(parts: Parts) -> tuple[str, ...]:
    """The names of the game's own actions, in their order."""
    names = (part.name for part in parts.all if isinstance(part, (Act, Joint)))
    return tuple(name for name in names if name not in BUILT_IN)


def _public(one: type) -> list[str]:
    return [name for name in vars(one) if not name.startswith("_")]
