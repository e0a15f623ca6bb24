"""The step: one pure function for every game, backend and batch shape."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cogrid._core.phases.clock import awake
from cogrid._core.phases.phase import NOTHING, Events
from cogrid._core.rules import Parts, Rules
from cogrid._core.see.report import first_report, report
from cogrid._core.state.autoreset import renew
from cogrid._core.state.pool import checked_board, checked_pool
from cogrid._core.state.reset import reset
from cogrid._core.state.validity import check_own
from cogrid._io.messages import several
from cogrid.backend import rng
from cogrid.backend.array import Array, as_array
from cogrid.backend.env_state import EnvState

StepResult = tuple[EnvState, Array, Array, Array, dict[str, Any]]


def step(
    rules: Rules, state: EnvState, actions: Array, infos: bool = False, watched: Parts | None = None
) -> StepResult:
    """One step of the world: new state, observations, rewards, whether the episode is over, infos."""
    phases, see = rules.parts if watched is None else watched
    events = begin(rules, state, actions)
    for phase in phases:  # in the order of phases/phases.py
        state, events = phase(rules, state, events)
    reported = report(rules, state, events) if infos else {}
    return state, see(rules, state), events.rewards, events.done, reported


def begin(rules: Rules, state: EnvState, actions: Array) -> Events:
    """The agents' choices, and all random draws of this step: functions of the state's key and time alone."""
    actions = awake(rules, state, as_indices(rules, state, actions))
    choice = actions * rules.pose_count + rules.xp.asarray(state.pose, rules.choice_dtype)  # (*B, n)
    if not rules.chance:
        return NOTHING.evolve(before=state, choice=choice)
    drawn = rng.draws(state.words, state.clock.astype(np.uint32), rules.draws.numbers)
    return NOTHING.evolve(before=state, choice=choice, drawn=drawn)


def as_indices(rules: Rules, state: EnvState, actions: Array) -> Array:
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


class Functions(NamedTuple):
    """The pure functions of an environment."""

    reset: Callable[..., tuple[EnvState, Array]]
    step: Callable[[EnvState, Array], StepResult]
    observe: Callable[[EnvState], Array]
    report: Callable[[EnvState], dict[str, Array]]


@functools.lru_cache(maxsize=256)
def functions(rules: Rules, infos: bool = False) -> Functions:
    """`reset_fn` and `step_fn`; the same objects for the same rules, so that compiled code is shared."""
    begin = _first(rules)

    def reset_fn(key: Array, board: Array = None, pool: Any = None) -> tuple[EnvState, Array]:
        """The first state and observation of an episode, from a key or a batch of keys.

        `board` is codes of letters, one board for each key or one for all. From a `pool` of boards (k, H, W),
        or a batch of k states, every key draws one.
        """
        return begin(key, checked_board(rules, key, board), checked_pool(rules, pool))

    def step_fn(state: EnvState, actions: Array) -> StepResult:
        """State, observations, rewards, done and infos after one step."""
        return step(rules, state, actions, infos)

    def observe_fn(state: EnvState) -> Array:
        """The observations of all agents in a state."""
        return rules.parts.observe(rules, state)

    def report_fn(state: EnvState) -> dict[str, Array]:
        """The infos of a state that is not the result of a step."""
        return first_report(rules, state) if infos else {}

    offered = rules.backend.offered
    return Functions(reset_fn, offered(step_fn), offered(observe_fn), offered(report_fn))


@functools.lru_cache(maxsize=256)
def _first(rules: Rules) -> Callable[..., tuple[EnvState, Array]]:
    """The first state and observation, of a board or a pool that has been checked."""

    def reset_fn(key: Array, board: Array, pool: Any) -> tuple[EnvState, Array]:
        state = rules.backend.part("reset", reset)(rules, key, board, pool)
        return state, rules.parts.observe(rules, state)

    return rules.backend.offered(reset_fn)


@functools.lru_cache(maxsize=256)
def renewing(rules: Rules) -> Callable[..., tuple[EnvState, Array]]:
    """`renew_fn`, without its checks."""

    def renew_fn(state: EnvState, obs: Array, done: Array, pool: Any) -> tuple[EnvState, Array]:
        return renew(rules, state, obs, done, pool)

    return rules.backend.offered(renew_fn)
