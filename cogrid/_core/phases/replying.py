"""Replying: slots reply to the events of a step, in the agents' order, and then tick."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from cogrid._core.author.chance import Odds, realised
from cogrid._core.rules import Rules
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState, Events


class Tables(NamedTuple):
    """The replies of slots, over branches and cases."""

    odds: Odds
    after: np.ndarray[Any, Any]  # the number of the thing; −1 where a slot does not reply
    value: np.ndarray[Any, Any]  # float32


@functools.lru_cache(maxsize=256)
def _tables(rules: Rules) -> tuple[Tables, Tables]:
    """The tables of replies to events, and of ticks."""
    assert rules.slots is not None
    found = []
    for odds in (rules.slots.replies, rules.slots.ticks):
        after = [-1 if reply is None else rules.slots.number[reply.thing] for reply in odds.values]
        value = [0.0 if reply is None else reply.value for reply in odds.values]
        found.append(Tables(odds, np.array(after, rules.slot_dtype), np.array(value, np.float32)))
    return found[0], found[1]


def reply(rules: Rules, state: EnvState, events: Events) -> tuple[EnvState, Events]:
    """Every event goes to the first slot, by rank, that replies to it. Then all slots tick."""
    assert rules.slots is not None
    xp, n_slots = rules.xp, len(rules.slots.names)
    replies, ticks = _tables(rules)
    slots = [state.slots[..., k : k + 1] for k in range(n_slots)]  # (*B, 1) each
    kind = rules.lookup(rules.slots.kinds, events.row)  # (*B, n)
    paid = []
    for agent in range(rules.n_agents):
        value: Array = np.float32(0)
        cases, afters = [], []
        for k in range(n_slots):
            first = (kind[..., agent : agent + 1] * n_slots + k) * len(rules.slots.things)
            case = _drawn(
                rules, replies, first + slots[k].astype(np.int32), events, "reply", agent * n_slots + k
            )
            cases.append(case)
            afters.append(rules.lookup(replies.after, case))
        for k, answers in enumerate(_first(rules, slots, [after >= 0 for after in afters])):
            slots[k] = xp.where(answers, afters[k], slots[k])
            value = xp.where(answers, rules.lookup(replies.value, cases[k]), value)
        paid.append(value)
    expired: Array = None
    for k in range(n_slots):  # one by one: a sum over an axis may add in any order
        case = np.int32(k * len(rules.slots.things)) + slots[k].astype(np.int32)
        case = _drawn(rules, ticks, case, events, "tick slot", k)
        slots[k], points = rules.lookup(ticks.after, case), rules.lookup(ticks.value, case)
        expired = points if expired is None else expired + points
    state = state.evolve(slots=xp.concatenate(slots, axis=-1))
    return state, events._replace(replies=xp.concatenate(paid, axis=-1), expired=expired)


def _first(rules: Rules, slots: list[Array], answers: list[Array]) -> list[Array]:
    """Of the slots that reply, (*B, 1) each, the one with the lowest rank, the first of equal ones."""
    assert rules.slots is not None
    ranks, size, found = rules.slots.ranks, len(rules.slots.things), []
    if ranks is None:
        waits = ~answers[0]
        found.append(answers[0])
        for answer in answers[1:]:
            found.append(waits & answer)
            waits = waits & ~answer
        return found
    own = [rules.lookup(ranks, np.int32(k * size) + slot.astype(np.int32)) for k, slot in enumerate(slots)]
    for k, answer in enumerate(answers):
        first = answer
        for j in range(len(answers)):
            if j != k:
                ahead = own[k] < own[j] if j < k else own[k] <= own[j]
                first = first & (ahead | ~answers[j])
        found.append(first)
    return found


def _drawn(rules: Rules, tables: Tables, case: Array, events: Events, purpose: str, number: int) -> Array:
    """The case and branch of one answer."""
    if tables.odds.n_branches == 1:
        return case
    drawn = rules.draws.of(purpose, events.drawn)[..., number : number + 1]
    return realised(rules.lookup, tables.odds, case, drawn)
