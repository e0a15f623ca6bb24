"""Replying: slots reply to the events of a step, in the agents' order, and then tick."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from cogrid._core.compile.odds import Odds, realised
from cogrid._core.phases.phase import Events, Phase, Table
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState

if TYPE_CHECKING:
    from cogrid._core.rules import Rules


@dataclass(frozen=True, eq=False)
class Answering:
    """What slots reply to events, or become by themselves, over branches and cases."""

    purpose: str  # of its draws
    odds: Odds
    after: Table  # the number of the thing; −1 where a slot does not reply
    value: Table  # float32

    @classmethod
    def compile(cls, rules: Rules, purpose: str, odds: Odds) -> Self:
        """What each case makes of the slot, −1 for no reply, and the points that it pays."""
        assert rules.slots is not None
        after = [-1 if reply is None else rules.slots.number[reply.thing] for reply in odds.values]
        value = [0.0 if reply is None else reply.value for reply in odds.values]
        return cls(purpose, odds, np.array(after, rules.slot_dtype), np.array(value, np.float32))

    def case(self, rules: Rules, case: Array, events: Events, number: int) -> Array:
        """The case and branch of one answer; `number` is that of its draw."""
        if self.odds.n_branches == 1:
            return case
        drawn = rules.draws.of(self.purpose, events.drawn)[..., number : number + 1]
        return realised(rules.lookup, self.odds, case, drawn)


@dataclass(frozen=True, eq=False)
class Replying(Phase):
    """Every event goes to the first slot, by rank, that replies to it. Then all slots tick."""

    kinds: Table  # (rows,) the kind of the row's event, by which slots tell events apart
    ranks: Table | None  # (slots · things,) int32; None if all are equal
    n_slots: int
    n_things: int
    n_agents: int
    replies: Answering
    ticks: Answering
    name: ClassVar[str] = "reply"

    @classmethod
    def compile(cls, rules: Rules) -> Self | None:
        """None if slots neither reply nor change: they keep their first value."""
        slots = rules.slots
        if slots is None or not slots.changes:
            return None
        replies = Answering.compile(rules, "reply", slots.replies)
        ticks = Answering.compile(rules, "tick slot", slots.ticks)
        n_slots, n_things = len(slots.names), len(slots.things)
        return cls(slots.kinds, slots.ranks, n_slots, n_things, rules.n_agents, replies, ticks)

    @property
    def draws(self) -> Mapping[str, Table]:
        """One for each agent and slot, and one for each slot's tick."""
        replies = self.n_agents * self.n_slots if self.replies.odds.n_branches > 1 else 0
        ticks = self.n_slots if self.ticks.odds.n_branches > 1 else 0
        return {"reply": np.arange(replies), "tick slot": np.arange(ticks)}

    def __call__(self, rules: Rules, state: EnvState, events: Events) -> tuple[EnvState, Events]:
        xp, n_slots = rules.xp, self.n_slots
        slots = [state.slots[..., k : k + 1] for k in range(n_slots)]  # (*B, 1) each
        kind = rules.lookup(self.kinds, events.row)  # (*B, n)
        paid = []
        for agent in range(rules.n_agents):
            value: Array = np.float32(0)
            cases, afters = [], []
            for k in range(n_slots):
                first = (kind[..., agent : agent + 1] * n_slots + k) * self.n_things
                case = first + slots[k].astype(np.int32)
                cases.append(self.replies.case(rules, case, events, agent * n_slots + k))
                afters.append(rules.lookup(self.replies.after, cases[k]))
            for k, answers in enumerate(self._first(rules, slots, [after >= 0 for after in afters])):
                slots[k] = xp.where(answers, afters[k], slots[k])
                value = xp.where(answers, rules.lookup(self.replies.value, cases[k]), value)
            paid.append(value)
        expired: Array = None
        for k in range(n_slots):  # one by one: a sum over an axis may add in any order
            case = np.int32(k * self.n_things) + slots[k].astype(np.int32)
            case = self.ticks.case(rules, case, events, k)
            slots[k], points = rules.lookup(self.ticks.after, case), rules.lookup(self.ticks.value, case)
            expired = points if expired is None else expired + points
        state = state.evolve(slots=xp.concatenate(slots, axis=-1))
        return state, events.evolve(replies=xp.concatenate(paid, axis=-1), expired=expired)

    def _first(self, rules: Rules, slots: list[Array], answers: list[Array]) -> list[Array]:
        """Of the slots that reply, (*B, 1) each, the one with the lowest rank, the first of equal ones."""
        chosen = []
        if self.ranks is None:
            waits = ~answers[0]
            chosen.append(answers[0])
            for answer in answers[1:]:
                chosen.append(waits & answer)
                waits = waits & ~answer
            return chosen
        ranks = [
            rules.lookup(self.ranks, np.int32(k * self.n_things) + slot.astype(np.int32))
            for k, slot in enumerate(slots)
        ]
        for k, answer in enumerate(answers):
            first = answer
            for j in range(len(answers)):
                if j != k:
                    ahead = ranks[k] < ranks[j] if j < k else ranks[k] <= ranks[j]
                    first = first & (ahead | ~answers[j])
            chosen.append(first)
        return chosen
