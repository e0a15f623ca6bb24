"""Prices and tallies: terms of the reward that listen to no event, but to the action or the whole board."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState
from cogrid.core.game import Price, Tally
from cogrid.core.rules import Rules

#: The state as the step began, the state now, the agents' choices -> points (*B, n), or (*B, 1) for all.
Pay = Callable[[EnvState, EnvState, Array], Array]


class Paid(NamedTuple):
    """A term that is no event's: all points that it can pay, and the function that pays."""

    points: np.ndarray[Any, Any]  # float32
    pay: Pay


def price(rules: Rules, term: Price) -> Paid:
    """A table over actions and poses; agents that have ended pay nothing."""
    items, names = rules.spec.symbols.items, [action.name for action in rules.spec.actions]
    if rules.out_of_range == rules.n_actions:
        names.append(names[rules.noop])
    table = np.array([term.points(name, items[held]) for name in names for held in rules.held], np.float32)

    def pay(before: EnvState, now: EnvState, choice: Array) -> Array:
        points = rules.lookup(table, choice)
        return points if before.ended is None else rules.xp.where(before.ended, np.float32(0), points)

    return Paid(table, pay)


def tally(rules: Rules, term: Tally) -> Paid:
    """A sum over the cells that can count, cut off at `most`, and a table over it: all in whole numbers."""
    counts = rules.symbols(term.count, np.int32)
    where = rules.cells_where(lambda thing: term.count(thing) != 0)
    table = np.array([term.points(total) for total in range(term.most + 1)], np.float32)

    def pay(before: EnvState, now: EnvState, choice: Array) -> Array:
        cells = rules.pick((now if term.now else before).cells, where)  # (*B, k)
        total = rules.lookup(counts, cells).sum(axis=-1, keepdims=True)
        return rules.lookup(table, rules.xp.clip(total, 0, term.most))

    return Paid(table, pay)
