"""The clock: the ends of single agents, and the end of the episode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from cogrid._core.author.hooks import writes
from cogrid._core.phases.marks import any_marked
from cogrid._core.phases.phase import Events, Phase, Table
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState, clock_of

if TYPE_CHECKING:
    from cogrid._core.rules import Rules


@dataclass(frozen=True, eq=False)
class Remaining:
    """All agents end when nothing on the board needs work any more."""

    counts: Table  # (things,) int32
    cells: Table  # (k,) the cells that can count
    name: ClassVar[str] = "remaining"

    def __call__(self, rules: Rules, state: EnvState) -> Array:
        """(*B, 1) whether nothing remains."""
        if not (self.counts < 0).any():
            return ~any_marked(rules, self.counts != 0, state.cells, self.cells)
        # Some may cancel others, so all must be added up.
        return rules.lookup(self.counts, rules.pick(state.cells, self.cells)).sum(axis=-1, keepdims=True) == 0


@dataclass(frozen=True, eq=False)
class Finished:
    """An agent ends by what it holds."""

    poses: Table  # (poses,) bool
    name: ClassVar[str] = "finished"

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
        """Its tables."""
        game = rules.game
        final = np.array([o.verb in game.final_verbs for _, _, o in rules.spec.symbols.lines])
        conditions: list[Finished | Remaining] = []
        if writes(game, "finished"):
            conditions.append(Finished(rules.items(game.finished, bool)[rules.held]))
        if writes(game, "remaining"):
            counts = rules.symbols(game.remaining, np.int32)
            conditions.append(Remaining(counts, rules.cells_where(lambda thing: game.remaining(thing) != 0)))
        return cls(final if final.any() else None, tuple(conditions))

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
