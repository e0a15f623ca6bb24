"""Termination: time, the agents' own ends, and when the episode is over."""

from __future__ import annotations

from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState, Events, clock_of
from cogrid.core.rules import Rules


def awake(rules: Rules, state: EnvState, actions: Array) -> Array:
    """The actions, with a noop for every agent that has ended."""
    if state.ended is None:
        return actions
    return rules.xp.where(state.ended, actions.dtype.type(rules.noop), actions)


def finish(rules: Rules, state: EnvState, events: Events) -> tuple[EnvState, Array]:
    """Advance the clock (it stops at the end) and say whether the episode is over."""
    time = state.clock + 1 + (state.clock >> 31)  # a clock that has stopped is below zero, and stays
    over = time >= rules.spec.max_steps
    ended = state.ended
    if ended is not None:
        ended = ended | rules.lookup(rules.final, events.row)
        over = over | (ended.all(axis=-1) & (time >= 0))
    clock = clock_of(time, over)
    return state.evolve(clock=clock, ended=ended), clock < 0
