"""Slots: things without a cell, numbered, with the game's rules for them compiled into tables."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from cogrid._core.author.answers import Counted, Event, Reply, Thing
from cogrid._core.author.chance import Branch, Odds, branches, odds
from cogrid._core.author.game import Game
from cogrid._core.author.hooks import writes
from cogrid._core.compile.asking import asked
from cogrid._core.compile.memory import Waiting
from cogrid._core.compile.spec import Spec
from cogrid._core.compile.symbols import Symbols
from cogrid.backend.array import brief

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
    game, wait = memory.open, Waiting(memory)
    own = {f"{name} {i}": thing for name, thing in game.own_slots().items() for i in range(n_agents)}
    named = {**game.slots(), **own}
    if not named:
        return None
    counted = tuple((k, slot) for k, slot in enumerate(named.values()) if isinstance(slot, Counted))
    starts = tuple(branches(0 if isinstance(slot, Counted) else slot) for slot in named.values())
    events = _events(symbols) if writes(game, "reply") else {}
    firsts = [[thing for thing, _ in start] for start in starts]
    for k, slot in counted:
        firsts[k] = list(range(slot.most + 1))
    is_empty = None in itertools.chain(*firsts)  # then None is a thing like any other
    ticks: dict[tuple[str, Thing], tuple[Branch, ...]] = {}
    replies: dict[tuple[str, Thing], dict[int, tuple[Branch, ...]]] = {}  # by the row of the event
    for name, todo in zip(named, firsts, strict=True):  # every slot has things of its own
        for thing in todo:  # grows during the loop
            wait()
            if (name, thing) in ticks:
                continue
            ticks[name, thing] = ticks_of(game, name, thing)
            if not is_empty and any(reply.thing is None for reply, _ in ticks[name, thing]):
                raise TypeError(
                    f"{type(game).__name__}.tick_slot returned None for slot {name!r} and thing {thing!r}: "
                    "return a thing, the same one if nothing changes."
                )
            replies[name, thing] = {row: _replies_of(game, name, thing, events[row]) for row in events}
            found = [ticks[name, thing], *replies[name, thing].values()]
            todo += [reply.thing for some in found for reply, _ in some if reply is not None]
            if len(ticks) > MAX_SLOT_THINGS:
                raise ValueError(
                    f"the slots of {type(game).__name__} can be more than {MAX_SLOT_THINGS:,} things, and "
                    f"slot {name!r} goes on with {brief(todo[-1])}: bound what it counts, or use a Counted."
                )
    things = dict.fromkeys(thing for _, thing in ticks)
    nothing, pairs = branches(None), [(name, thing) for name in named for thing in things]
    kinds: dict[tuple[Any, ...], int] = {(nothing,) * len(pairs): 0}
    numbers = np.zeros(len(symbols.lines), np.int32)
    for row in events:
        answers = tuple(replies[pair][row] if pair in replies else nothing for pair in pairs)
        numbers[row] = kinds.setdefault(answers, len(kinds))
    tick = odds([ticks.get(pair, branches(Reply(pair[1]))) for pair in pairs])
    answer = odds([case for kind in kinds for case in kind])
    own_ranks = {pair: _rank_of(game, *pair) for pair in ticks}
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


def _rank_of(game: Game, slot: str, thing: Thing) -> int:
    rank = game.rank(slot, thing)
    if not isinstance(rank, int) or abs(rank) >= 2**31:
        raise TypeError(
            f"{type(game).__name__}.rank returned {brief(rank)} for slot {slot!r} and thing {thing!r}: "
            "return a whole number below 2³¹."
        )
    return rank


def _events(symbols: Symbols) -> dict[int, Event]:
    """The events of the rows of the rule tables in which something happens."""
    lines = enumerate(symbols.lines)
    return {row: Event(o.verb, held, thing, o.value) for row, (held, thing, o) in lines if o.verb}


def ticks_of(game: Game, slot: str, thing: Thing) -> tuple[Branch, ...]:
    """What a slot becomes by itself, as replies."""
    found = asked(game, game.tick_slot, slot=slot, thing=thing)
    return tuple((answer if isinstance(answer, Reply) else Reply(answer), below) for answer, below in found)


def _replies_of(game: Game, slot: str, thing: Thing, event: Event) -> tuple[Branch, ...]:
    found = asked(game, game.reply, slot=slot, thing=thing, event=event)
    for answer, _ in found:
        if answer is not None and not (isinstance(answer, Reply) and math.isfinite(answer.value)):
            raise TypeError(
                f"{type(game).__name__}.reply returned {answer!r} for slot {slot!r}, {thing!r} and "
                f"{event!r}: return None or a Reply with a finite value."
            )
    return found
