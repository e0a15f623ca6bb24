"""Termination: the clock, the ends of single agents, and the end of the episode."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

import numpy as np

from cogrid._core.author.hooks import writes
from cogrid._core.phases.marks import any_marked
from cogrid._core.rules import Rules
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState, Events, clock_of


def awake(rules: Rules, state: EnvState, actions: Array) -> Array:
    """The actions, with a noop for every agent that has ended or is off the board."""
    idle = [state.ended] if state.ended is not None else []
    for out in [*idle, state.away] if rules.leaves else idle:
        actions = rules.xp.where(out, actions.dtype.type(rules.noop), actions)
    return actions


def finish(rules: Rules, state: EnvState, events: Events) -> tuple[EnvState, Array]:
    """Advance the clock, which stops at the end, and return whether the episode is over."""
    time = state.clock + 1 + (state.clock >> 31)  # a stopped clock is negative and stays as it is
    over = time >= rules.spec.max_steps
    ended = state.ended
    if ended is not None:
        if rules.final.any():
            ended = ended | rules.lookup(rules.final, events.row)
        for condition in conditions(rules) if rules.conditions else ():
            ended = ended | condition(state)
        over = over | (ended.all(axis=-1) & (time >= 0))
    clock = clock_of(time, over)
    return state.evolve(clock=clock, ended=ended), clock < 0


@functools.lru_cache(maxsize=256)
def conditions(rules: Rules) -> tuple[Callable[[EnvState], Array], ...]:
    """What ends agents in addition to verbs: (*B, n) their hands, or (*B, 1) for all, nothing remaining."""
    game = rules.game
    hands = rules.items(game.finished, bool)[rules.held]  # (poses,)
    counts = rules.symbols(game.remaining, np.int32)
    where = rules.cells_where(lambda thing: game.remaining(thing) != 0)
    signed = bool((counts < 0).any())  # some may cancel others, so all must be added up

    def finished(state: EnvState) -> Array:
        return rules.lookup(hands, state.pose)

    def nothing_remains(state: EnvState) -> Array:
        if not signed:
            return ~any_marked(rules, counts != 0, state.cells, where)
        return rules.lookup(counts, rules.pick(state.cells, where)).sum(axis=-1, keepdims=True) == 0

    written = (writes(game, "finished"), writes(game, "remaining"))
    return tuple(itertools.compress((finished, nothing_remains), written))
