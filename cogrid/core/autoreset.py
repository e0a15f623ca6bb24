"""Automatic reset: finished environments of a batch are reset, the others go on."""

from __future__ import annotations

import dataclasses
from typing import Any

from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState
from cogrid.core.observation import observe
from cogrid.core.reset import is_random, reset
from cogrid.core.rules import Rules


def renew(rules: Rules, state: EnvState, obs: Array, over: Array, pool: Any = None) -> tuple[EnvState, Array]:
    """State and observation with the environments in `over` (*B,) reset from their own keys, and the pool.

    The state is chosen, and then seen once: `obs` must be what is seen of `state`. Compiled with the step
    that made it, it is not even computed, unless somebody else asks for it.
    """
    if rules.backend.is_concrete(over) and not over.any():
        return state, obs
    state = renewed(rules, state, over, pool)
    return state, observe(rules, state)


def renewed(rules: Rules, state: EnvState, over: Array, pool: Any = None) -> EnvState:
    """The state alone; what a reset draws is worked out only when there is one."""

    def chosen() -> EnvState:
        fresh = reset(rules, state.words, pool=pool)
        fresh = fresh.evolve(weight=state.weight)  # an annealed weight outlives the episode
        return choose(rules, over, fresh, state)

    # Episodes end rarely and mostly together. Where a reset draws nothing a GPU need not ask.
    cheap = not is_random(rules) and pool is None
    result: EnvState = rules.backend.when(over.any(), chosen, lambda: state, cheap)
    return result


def choose(rules: Rules, test: Array, then: EnvState, otherwise: EnvState) -> EnvState:
    """Environment by environment, one state or the other."""
    changes = {
        field.name: _pick(rules, test, getattr(then, field.name), getattr(otherwise, field.name))
        for field in dataclasses.fields(otherwise)
        if field.name != "rules" and getattr(otherwise, field.name) is not None
    }
    return otherwise.evolve(**changes)


def _pick(rules: Rules, test: Array, then: Array, otherwise: Array) -> Array:
    return rules.xp.where(test.reshape(test.shape + (1,) * (then.ndim - test.ndim)), then, otherwise)
