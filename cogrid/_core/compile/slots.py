"""Slots: things without a cell, numbered, with the game's rules for them compiled into tables."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from cogrid._core.author.chance import Branch, branches
from cogrid._core.author.slots import Counted, Slot
from cogrid._core.author.values import ANSWERS, Event, Reply, Thing
from cogrid._core.compile.asking import asked, is_finite
from cogrid._core.compile.memory import Waiting
from cogrid._core.compile.odds import Odds, odds
from cogrid._core.compile.spec import Spec
from cogrid._core.compile.symbols import Symbols
from cogrid._io.messages import brief

MAX_SLOT_THINGS = 2**12


@dataclass(frozen=True, eq=False)
class Slots:
    """The slots of a game in their order, and every thing that one of them can be."""

    names: tuple[str, ...]
    things: tuple[Thing, ...]
    starts: tuple[tuple[Branch, ...], ...]  # for every slot, what it is when an episode starts
    counted: tuple[tuple[int, Counted], ...]  # the slots that instead start as a count over the board
    ticks: Odds  # of replies, ordered by slot and thing
    replies: Odds  # of replies or None, ordered by kind of event, slot and thing
    kinds: np.ndarray[Any, Any]  # (rows,) int32 the kind of a row's event; 0 if no slot replies to it
    ranks: np.ndarray[Any, Any] | None  # (slots · things,) int32; None where all have the same
    can_be: frozenset[
        tuple[str, Thing]
    ]  # the pairs of a slot and a thing; the hooks are called with no others

    @functools.cached_property
    def number(self) -> dict[Thing, int]:
        """Thing -> number."""
        return {thing: k for k, thing in enumerate(self.things)}

    @functools.cached_property
    def changes(self) -> bool:
        """Whether any slot ever replies, pays or changes."""
        pairs = zip(self.ticks.values, itertools.cycle(self.things), strict=False)  # in the ticks' order
        return bool(self.kinds.any()) or any(reply != Reply(thing) for reply, thing in pairs)


def slots_of(spec: Spec) -> Slots | None:
    """The closure of the game's rules over its slots; None for a game without any."""
    return _close(spec.symbols)


@functools.lru_cache(maxsize=256)
def _close(symbols: Symbols) -> Slots | None:
    memory, n_agents = symbols.memory, len(symbols.hands)
    owner, wait = type(memory.game).__name__, Waiting(memory)
    named: dict[str, Slot] = {}
    for slot in symbols.answers.parts.every(Slot):
        for name in _names(slot, n_agents):
            if name in named:
                raise ValueError(
                    f"{owner}.parts has two slots named {name!r}, one of which is an agent's own: rename one."
                )
            named[name] = slot
    if not named:
        return None
    begins = [slot.start for slot in named.values()]
    counted = tuple((k, start) for k, start in enumerate(begins) if isinstance(start, Counted))
    starts = tuple(branches(0 if isinstance(start, Counted) else start) for start in begins)
    events = _events(symbols) if any(slot.reply for slot in named.values()) else {}
    firsts = [[thing for thing, _ in start] for start in starts]
    for k, count in counted:
        firsts[k] = list(range(count.most + 1))
    is_empty = None in itertools.chain(*firsts)  # then None is a thing like any other
    ticks: dict[tuple[str, Thing], tuple[Branch, ...]] = {}
    replies: dict[tuple[str, Thing], dict[int, tuple[Branch, ...]]] = {}  # by the row of the event
    for (name, slot), todo in zip(named.items(), firsts, strict=True):  # every slot has things of its own
        heard = _heard(slot, events)
        for thing in todo:  # grows during the loop
            wait()
            if (name, thing) in ticks:
                continue
            ticks[name, thing] = ticks_of(slot, thing)
            if not is_empty and any(reply.thing is None for reply, _ in ticks[name, thing]):
                function: Any = slot.tick or slot.reply
                raise TypeError(
                    f"{function.__qualname__} returned None for slot {name!r} and thing {thing!r}: "
                    "return a thing, the same one if nothing changes."
                )
            replies[name, thing] = {row: _replies_of(slot, thing, event) for row, event in heard.items()}
            found = [ticks[name, thing], *replies[name, thing].values()]
            todo += [reply.thing for some in found for reply, _ in some if reply is not None]
            if len(ticks) > MAX_SLOT_THINGS:
                raise ValueError(
                    f"the slots of {owner} can be more than {MAX_SLOT_THINGS:,} things, and "
                    f"slot {name!r} goes on with {brief(todo[-1])}: bound what it counts, or use a Counted."
                )
    things = dict.fromkeys(thing for _, thing in ticks)
    nothing, pairs = branches(None), [(name, thing) for name in named for thing in things]
    kinds: dict[tuple[Any, ...], int] = {(nothing,) * len(pairs): 0}
    numbers = np.zeros(len(symbols.lines), np.int32)
    for row in events:
        answers = tuple(replies[pair].get(row, nothing) if pair in replies else nothing for pair in pairs)
        numbers[row] = kinds.setdefault(answers, len(kinds))
    tick = odds([ticks.get(pair, branches(Reply(pair[1]))) for pair in pairs])
    answer = odds([case for kind in kinds for case in kind])
    own_ranks = {(name, thing): _rank_of(named[name], thing) for name, thing in ticks}
    usual = next(iter(own_ranks.values()))
    ranks = np.array([own_ranks.get(pair, usual) for pair in pairs], np.int32)
    return Slots(
        tuple(named),
        tuple(things),
        starts,
        counted,
        tick,
        answer,
        numbers,
        ranks if (ranks != ranks[0]).any() else None,
        frozenset(ticks),
    )


def _names(slot: Slot, n_agents: int) -> tuple[str, ...]:
    return tuple(f"{slot.name} {agent}" for agent in range(n_agents)) if slot.own else (slot.name,)


def _heard(slot: Slot, events: dict[int, Event]) -> dict[int, Event]:
    """The events that a slot is asked about."""
    if slot.reply is None:
        return {}
    return {row: event for row, event in events.items() if not slot.to or event.verb in slot.to}


def _rank_of(slot: Slot, thing: Thing) -> int:
    if slot.rank is None:
        return 0
    rank = slot.rank(thing)
    if not isinstance(rank, int) or abs(rank) >= 2**31:
        raise TypeError(
            f"{slot.rank.__qualname__} returned {brief(rank)} for slot {slot.name!r} and thing {thing!r}: "
            "return a whole number below 2³¹."
        )
    return rank


def _events(symbols: Symbols) -> dict[int, Event]:
    """The events that can happen, by their rows of the rule tables."""
    return {
        row: Event(made.verb, held, thing, made.value)
        for row, (held, thing, made) in enumerate(symbols.lines)
        if made.verb and (symbols.has_empty or held is not None)
    }


def ticks_of(slot: Slot, thing: Thing) -> tuple[Branch, ...]:
    """What a slot becomes by itself, as replies."""
    if slot.tick is None:
        return branches(Reply(thing))
    cases = asked(slot.tick, thing=thing)
    for answer, _ in cases:
        thing, value = answer if isinstance(answer, Reply) else (answer, 0.0)
        if isinstance(thing, ANSWERS) or not is_finite(value):
            raise TypeError(
                f"{slot.tick.__qualname__} returned {answer!r} for slot {slot.name!r} and thing {thing!r}: "
                "return a thing or a Reply with a finite value."
            )
    return tuple((answer if isinstance(answer, Reply) else Reply(answer), below) for answer, below in cases)


def _replies_of(slot: Slot, thing: Thing, event: Event) -> tuple[Branch, ...]:
    assert slot.reply is not None
    cases = asked(slot.reply, thing=thing, event=event)
    for answer, _ in cases:
        is_reply = isinstance(answer, Reply) and not isinstance(answer.thing, ANSWERS)
        if answer is not None and not (is_reply and is_finite(answer.value)):
            raise TypeError(
                f"{slot.reply.__qualname__} returned {answer!r} for slot {slot.name!r}, {thing!r} and "
                f"{event!r}: return None or a Reply with a thing and a finite value."
            )
    return cases
