"""Slots: things without a cell, numbered, with the game's rules for them compiled into tables."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cogrid.backend.array import Array, brief
from cogrid.backend.env_state import EnvState
from cogrid.core.answers import Counted, Event, Reply, Thing
from cogrid.core.asking import asked
from cogrid.core.chance import Branch, Odds, branches, odds
from cogrid.core.game import Game
from cogrid.core.spec import Spec

if TYPE_CHECKING:
    from cogrid.core.rules import Rules

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


@functools.lru_cache(maxsize=256)
def slots_of(spec: Spec) -> Slots | None:
    """The closure of the game's rules over its slots; None for a game without any."""
    game = spec.game
    own = {f"{name} {i}": thing for name, thing in game.own_slots().items() for i in range(spec.num_agents)}
    named = {**game.slots(), **own}
    if not named:
        return None
    counted = tuple((k, slot) for k, slot in enumerate(named.values()) if isinstance(slot, Counted))
    starts = tuple(branches(0 if isinstance(slot, Counted) else slot) for slot in named.values())
    events = _events(spec) if type(game).reply is not Game.reply else []
    firsts = [[thing for thing, _ in start] for start in starts]
    for k, slot in counted:
        firsts[k] = list(range(slot.most + 1))
    is_empty = None in itertools.chain(*firsts)  # then None is a thing like any other
    ticks: dict[tuple[str, Thing], tuple[Branch, ...]] = {}
    replies: dict[tuple[str, Thing], dict[int, tuple[Branch, ...]]] = {}  # by the row of the event
    for name, todo in zip(named, firsts, strict=True):  # every slot has things of its own
        for thing in todo:  # grows during the loop
            if (name, thing) in ticks:
                continue
            ticks[name, thing] = ticks_of(game, name, thing)
            if not is_empty and any(reply.thing is None for reply, _ in ticks[name, thing]):
                raise TypeError(
                    f"{type(game).__name__}.tick_slot returned None for slot {name!r} and thing {thing!r}: "
                    "return a thing, the same one if nothing changes."
                )
            asked_rows = ((row, event) for row, event in enumerate(events) if event is not None)
            replies[name, thing] = {row: _replies_of(game, name, thing, event) for row, event in asked_rows}
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
    numbers = [
        kinds.setdefault(tuple(replies.get(pair, {}).get(row, nothing) for pair in pairs), len(kinds))
        for row in range(len(spec.symbols.lines))
    ]
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
        np.array(numbers, np.int32),
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


def _events(spec: Spec) -> list[Event | None]:
    """The event of every row of the rule tables, None where nothing happens."""
    lines = spec.symbols.lines
    return [Event(o.verb, held, thing, o.value) if o.verb else None for held, thing, o in lines]


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


@dataclass(frozen=True)
class SlotFeature:
    """Numbers of what a slot is, for the flat observation; all agents see the same."""

    slot: str
    labels: tuple[str, ...]
    of_thing: Callable[[Thing], tuple[float, ...]]

    def names(self, rules: Rules) -> list[str]:
        """As labelled."""
        return [f"{self.slot} {label}" for label in self.labels]

    def compile(self, rules: Rules) -> Callable[[EnvState], Array]:
        """One table over the slots' things."""
        if rules.slots is None or self.slot not in rules.slots.names:
            names = () if rules.slots is None else rules.slots.names
            raise ValueError(f"SlotFeature names the slot {self.slot!r}, but the game has {names}.")
        can_be, none = rules.slots.can_be, (0.0,) * len(self.labels)
        numbers = [self.of_thing(t) if (self.slot, t) in can_be else none for t in rules.slots.things]
        table, index = np.array(numbers, np.float32), rules.slots.names.index(self.slot)

        def feature(state: EnvState) -> Array:
            numbers = rules.lookup(table, state.slots[..., index : index + 1])  # (*B, 1, labels)
            return rules.xp.broadcast_to(numbers, (*state.pos.shape, len(self.labels)))

        return feature
