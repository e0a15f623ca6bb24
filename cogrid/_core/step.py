"""The step: one pure function for every game, backend and batch shape."""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from cogrid._core.phases.entering import enter
from cogrid._core.phases.interaction import interact
from cogrid._core.phases.joining import join
from cogrid._core.phases.leaving import leave
from cogrid._core.phases.movement import move
from cogrid._core.phases.replying import reply
from cogrid._core.phases.rewards import score, terms
from cogrid._core.phases.termination import awake, finish
from cogrid._core.phases.ticks import tick
from cogrid._core.rules import Rules
from cogrid._core.see.observation import observe
from cogrid._core.see.report import first_report, report
from cogrid._core.state.pool import checked_board, checked_pool
from cogrid._core.state.reset import reset
from cogrid._core.state.validity import check_own
from cogrid.backend import rng
from cogrid.backend.array import Array, as_array, several
from cogrid.backend.env_state import EnvState, Events

QUIET = Events()  # nothing has happened
StepResult = tuple[EnvState, Array, Array, Array, dict[str, Any]]


def step(rules: Rules, state: EnvState, actions: Array, infos: bool = False) -> StepResult:
    """One step of the world: new state, observations, rewards, whether the episode is over, infos."""
    before, choice = state, chosen(rules, state, awake(rules, state, known(rules, state, actions)))
    events = draw(rules, state) if rules.chance else QUIET  # all random draws of this step
    acts = compress((interact, join), (rules.acts, rules.joins))  # agent by agent; together
    for phase in (move, *acts) if rules.moves_first else (*acts, move):  # all at once
        state, events = phase(rules, state, choice, events)
    state, events = enter(rules, state, events) if rules.enters else (state, events)  # what is walked onto
    state, events = reply(rules, state, events) if rules.replies else (state, events)  # things without a cell
    state = tick(rules, state, events)  # cooking, clocks, growth
    state = leave(rules, state, events) if rules.leaves else state  # off the board, and back
    rewards = score(rules, before, state, choice, events)
    state, done = finish(rules, state, events)
    reported = report(rules, before, state, choice, events) if infos else {}
    return state, observe(rules, state), rewards, done, reported


def known(rules: Rules, state: EnvState, actions: Array) -> Array:
    """The actions as table indices; out-of-range actions do nothing, like the noop."""
    if state.rules is not rules:
        check_own(rules, state)
    actions = as_array("actions", actions)
    if actions.dtype.kind not in "iu":
        raise TypeError(f"actions must be integers, not {actions.dtype}.")
    if actions.shape != state.pos.shape:
        raise ValueError(
            f"actions have shape {actions.shape}, but this state of {several(rules.n_agents, 'agent')} "
            f"takes {state.pos.shape}."
        )
    last = rules.last_actions[actions.dtype.itemsize]
    unsigned = actions.astype(last.dtype)  # a negative action becomes a large one
    xp = np if isinstance(actions, np.ndarray) else rules.xp  # JAX would truncate a 64-bit NumPy array
    return rules.xp.asarray(xp.minimum(unsigned, last), rules.choice_dtype)


def chosen(rules: Rules, state: EnvState, actions: Array) -> Array:
    """(*B, n) action and pose as one number, the index of the tables over choices."""
    return actions * rules.pose_count + rules.xp.asarray(state.pose, rules.choice_dtype)


def draw(rules: Rules, state: EnvState) -> Events:
    """The random draws of this step: a function of the state's key and time alone."""
    return Events(drawn=rng.draws(state.words, state.clock.astype(np.uint32), rules.draws.numbers))


class Functions(NamedTuple):
    """The pure functions of an environment."""

    reset: Callable[..., tuple[EnvState, Array]]
    step: Callable[[EnvState, Array], StepResult]
    observe: Callable[[EnvState], Array]
    report: Callable[[EnvState], dict[str, Array]]


@functools.lru_cache(maxsize=256)
def functions(rules: Rules, infos: bool = False) -> Functions:
    """`reset_fn` and `step_fn`; the same objects for the same rules, so that compiled code is shared."""
    terms(rules)  # errors in `rewards()` are raised now, not in the first step

    def reset_fn(key: Array, board: Array = None, pool: Any = None) -> tuple[EnvState, Array]:
        """The first state and observation of an episode, from a key or a batch of keys.

        `board` is codes of letters, one board for each key or one for all. From a `pool` of boards (k, H, W),
        or a batch of k states, every key draws one.
        """
        state = reset(rules, key, checked_board(rules, key, board), checked_pool(rules, pool))
        return state, observe(rules, state)

    def step_fn(state: EnvState, actions: Array) -> StepResult:
        """State, observations, rewards, done and infos after one step."""
        return step(rules, state, actions, infos)

    def observe_fn(state: EnvState) -> Array:
        """The observations of all agents in a state."""
        return observe(rules, state)

    def report_fn(state: EnvState) -> dict[str, Array]:
        """The infos of a state that is not the result of a step."""
        return first_report(rules, state) if infos else {}

    return Functions(reset_fn, step_fn, observe_fn, report_fn)
