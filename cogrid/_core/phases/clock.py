"""The clock: the ends of single agents, and the end of the episode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from cogrid._core.phases.phase import Events, Phase, Table
from cogrid._core.phases.tables.marks import any_marked
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState, clock_of

if TYPE_CHECKING:
    from cogrid._core.rules import Rules


@dataclass(frozen=True, eq=False)
class Remaining:
    """All agents end when nothing on the board, in the hands and in the slots needs work any more."""

    counts: Table  # (things,) int32
    cells: Table  # (k,) the cells that can count
    hands: Table | None  # (poses,) int32
    slots: Table | None  # (slots, things of slots) int32
    name: ClassVar[str] = "Ends.remaining"

    @classmethod
    def compile(cls, rules: Rules) -> Self | None:
        """None if the game does not say what remains."""
        ends = rules.answers.ends
        if not (ends.remaining or ends.in_hands or ends.in_slots):
            return None
        remaining = ends.remaining or (lambda thing: 0)
        cells = rules.cells_where(lambda thing: remaining(thing) != 0)
        hands = None if ends.in_hands is None else rules.items(ends.in_hands, np.int32)[rules.held]
        return cls(rules.symbols(remaining, np.int32), cells, hands, _in_slots(rules))

    @property
    def facts(self) -> tuple[Any, ...]:
        """The counts that digests do not read elsewhere."""
        return tuple(table.tolist() for table in (self.hands, self.slots) if table is not None)

    def __call__(self, rules: Rules, state: EnvState) -> Array:
        """(*B, 1) whether nothing remains."""
        if self.hands is self.slots is None and not (self.counts < 0).any():
            return ~any_marked(rules, self.counts != 0, state.cells, self.cells)
        # Some may cancel others, so all must be added up.
        total: Any = {"axis": -1, "keepdims": True, "dtype": np.int32}
        left = rules.lookup(self.counts, rules.pick(state.cells, self.cells)).sum(**total)
        if self.hands is not None:
            left = left + rules.lookup(self.hands, state.pose).sum(**total)
        for k, table in enumerate(() if self.slots is None else self.slots):
            left = left + rules.lookup(table, state.slots[..., k : k + 1])
        return left == 0


def _in_slots(rules: Rules) -> Table | None:
    count, slots = rules.answers.ends.in_slots, rules.slots
    if count is None:
        return None
    if slots is None:
        raise ValueError(
            f"Ends.in_slots of {type(rules.game).__name__} has no effect: the game has no slots."
        )
    rows = [[count(n, t) if (n, t) in slots.can_be else 0 for t in slots.things] for n in slots.names]
    return np.array(rows, np.int32)


@dataclass(frozen=True, eq=False)
class Finished:
    """An agent ends by what it holds."""

    poses: Table  # (poses,) bool
    name: ClassVar[str] = "Ends.hand"

    def __call__(self, rules: Rules, state: EnvState) -> Array:
        """(*B, n) whether it has ended."""
        return rules.lookup(self.poses, state.pose)


@dataclass(frozen=True, eq=False)
class Clock(Phase):
    """Advance the clock, which stops at the end; agents end by verbs and by conditions."""

    final: Table | None  # (rows,) bool the verb ends the agent; None if no verb does
    conditions: tuple[Finished | Remaining, ...]
    name: ClassVar[str] = "finish"

    @classmethod
    def compile(cls, rules: Rules) -> Self:
        """The rows whose verb ends an agent, and the conditions that end one."""
        ends, remaining = rules.answers.ends, Remaining.compile(rules)
        final = np.array([o.verb in ends.verbs for _, _, o in rules.spec.symbols.lines])
        conditions: list[Finished | Remaining] = []
        if ends.hand is not None:
            conditions.append(Finished(rules.items(ends.hand, bool)[rules.held]))
        if remaining is not None:
            conditions.append(remaining)
        return cls(final if final.any() else None, tuple(conditions))

    @property
    def facts(self) -> tuple[Any, ...]:
        """What remains in hands and slots."""
        return tuple(fact for one in self.conditions if isinstance(one, Remaining) for fact in one.facts)

    def __call__(self, rules: Rules, state: EnvState, events: Events) -> tuple[EnvState, Events]:
        time = state.clock + 1 + (state.clock >> 31)  # a stopped clock is negative and stays as it is
        over = time >= rules.spec.max_steps
        ended = state.ended
        if ended is not None:
            if self.final is not None:
                ended = ended | rules.lookup(self.final, events.row)
            for condition in self.conditions:
                ended = ended | condition(rules, state)
            over = over | (ended.all(axis=-1) & (time >= 0))
        clock = clock_of(time, over)
        return state.evolve(clock=clock, ended=ended), events.evolve(done=clock < 0)


def awake(rules: Rules, state: EnvState, actions: Array) -> Array:
    """The actions, with a noop for every agent that has ended or is off the board."""
    idle = [state.ended] if state.ended is not None else []
    for out in [*idle, state.away] if rules.leaves else idle:
        actions = rules.xp.where(out, actions.dtype.type(rules.noop), actions)
    return actions
