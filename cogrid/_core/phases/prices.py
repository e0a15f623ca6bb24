"""Prices, tallies and replies: reward terms that depend on more than an agent's event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cogrid._core.author.answers import BySlot, Event, Price, Replies, Tally
from cogrid._core.compile.checking import paying
from cogrid._core.rules import Rules
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState, Events

#: The state before the step, the state now, choices and events -> points (*B, n), or (*B, 1) for all.
Pay = Callable[[EnvState, EnvState, Array, Events], Array]


class Paid(NamedTuple):
    """A term that is not for events: all points that it can pay, and the function that pays them."""

    points: np.ndarray[Any, Any]  # float32
    pay: Pay


def price(rules: Rules, term: Price) -> Paid:
    """A table over actions and poses; agents that have ended get nothing."""
    items, names = rules.spec.symbols.items, [action.name for action in rules.spec.actions]
    if rules.out_of_range == rules.n_actions:
        names.append(names[rules.noop])
    points = paying(term)
    table = np.array([points(name, items[held]) for name in names for held in rules.held], np.float32)

    def pay(before: EnvState, now: EnvState, choice: Array, events: Events) -> Array:
        points = rules.lookup(table, choice)
        return points if before.ended is None else rules.xp.where(before.ended, np.float32(0), points)

    return Paid(table, pay)


def tally(rules: Rules, term: Tally) -> Paid:
    """A sum over the cells that can count, at most `most`, and a table over it: all in integers."""
    counts = rules.symbols(term.count, np.int32)
    where = rules.cells_where(lambda thing: term.count(thing) != 0)
    table = np.array([*map(paying(term), range(term.most + 1))], np.float32)

    def pay(before: EnvState, now: EnvState, choice: Array, events: Events) -> Array:
        cells = rules.pick((now if term.now else before).cells, where)  # (*B, k)
        total = rules.lookup(counts, cells).sum(axis=-1, keepdims=True)
        return rules.lookup(table, rules.xp.clip(total, 0, term.most))

    return Paid(table, pay)


def replies(rules: Rules, term: Replies) -> Paid:
    """The values of slots' replies; those of ticks are added by `rewards`, once for all agents."""
    if rules.slots is None:
        raise ValueError(
            f"the term {term.name!r} pays replies, but {type(rules.game).__name__} has no slots."
        )
    answers = (*rules.slots.replies.values, *rules.slots.ticks.values)
    values = [reply.value for reply in answers if reply is not None]

    def pay(before: EnvState, now: EnvState, choice: Array, events: Events) -> Array:
        return rules.xp.zeros_like(events.row, np.float32) if events.replies is None else events.replies

    return Paid(np.array([0.0, *values], np.float32), pay)


def by_slot(rules: Rules, term: BySlot) -> Paid:
    """A table over the slot's things and the rows."""
    if rules.slots is None or term.slot not in rules.slots.names:
        raise ValueError(
            f"the term {term.name!r} names the slot {term.slot!r}: {type(rules.game).__name__} has "
            f"{', '.join(rules.game.slots()) or 'none'}."
        )
    symbols, index, can_be = rules.spec.symbols, rules.slots.names.index(term.slot), rules.slots.can_be
    lines = [(held, thing, outcome.verb, outcome.value) for held, thing, outcome in symbols.lines]
    points = paying(term)
    rules.check_table(f"the term {term.name!r}", len(rules.slots.things) * len(lines))
    table = np.array(
        [
            points(Event(verb, held, thing, value), slot) if verb and (term.slot, slot) in can_be else 0
            for slot in rules.slots.things
            for held, thing, verb, value in lines
        ],
        np.float32,
    )

    def pay(before: EnvState, now: EnvState, choice: Array, events: Events) -> Array:
        first = before.slots[..., index : index + 1].astype(np.int32) * np.int32(len(lines))
        return rules.lookup(table, first + events.row.astype(np.int32))

    return Paid(table, pay)
