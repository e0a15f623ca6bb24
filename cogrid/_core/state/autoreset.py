"""Automatic reset: finished environments of a batch are reset, the others go on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from cogrid._core.rules import Rules
from cogrid._core.state.reset import is_random, reset
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState


def renew(rules: Rules, state: EnvState, obs: Array, over: Array, pool: Any = None) -> tuple[EnvState, Array]:
    """State and observation with the environments in `over` (*B,) reset from their own keys and the pool.

    `obs` must be the observation of `state`. The new state is observed once: if the step is compiled together
    with this function, `obs` is not even computed unless it is used elsewhere.
    """
    if rules.backend.is_concrete(over) and not over.any():
        return state, obs
    state = renewed(rules, state, over, pool)
    return state, rules.parts.observe(rules, state)


def renewed(rules: Rules, state: EnvState, over: Array, pool: Any = None) -> EnvState:
    """The state after an automatic reset, not observed yet."""

    def begin(state: EnvState) -> EnvState:
        # an annealed weight persists across resets
        again: EnvState = rules.backend.part("reset", reset)(rules, state.words, None, pool)
        return again.evolve(weight=state.weight)

    if pool is None:
        return restarted(rules, state, over, begin)
    return _chosen(rules, over, state, begin)  # a pool has no axis of environments


def restarted(
    rules: Rules, state: EnvState, over: Array, begin: Callable[..., EnvState], *inputs: Array
) -> EnvState:
    """The state with the environments in `over` (*B,) replaced by `begin(state, *inputs)`; all are (*B, …).

    Even under `jax.vmap`, `begin` is called for the whole batch, so nothing is drawn unless an episode has
    ended somewhere: episodes end rarely, and mostly together.
    """

    def chosen(over: Array, state: EnvState, *inputs: Array) -> EnvState:
        return _chosen(rules, over, state, begin, *inputs, cheap=not is_random(rules))

    result: EnvState = rules.backend.at_once(chosen, over, state, *inputs)
    return result


def _chosen(
    rules: Rules,
    over: Array,
    state: EnvState,
    begin: Callable[..., EnvState],
    *inputs: Array,
    cheap: bool = False,
) -> EnvState:
    """If resets are cheap, because they draw nothing, a GPU need not check whether there are any."""

    def then() -> EnvState:
        return choose(rules, over, begin(state, *inputs), state)

    result: EnvState = rules.backend.when(over.any(), then, lambda: state, cheap)
    return result


def choose(rules: Rules, test: Array, then: EnvState, otherwise: EnvState) -> EnvState:
    """One state or the other, for each environment."""
    changes = {
        field.name: _pick(rules, test, getattr(then, field.name), getattr(otherwise, field.name))
        for field in dataclasses.fields(otherwise)
        if field.name != "rules" and getattr(otherwise, field.name) is not None
    }
    return otherwise.evolve(**changes)


def _pick(rules: Rules, test: Array, then: Array, otherwise: Array) -> Array:
    return rules.xp.where(test.reshape(test.shape + (1,) * (then.ndim - test.ndim)), then, otherwise)
