"""Observation: the kind that a spec asks for, with its names, shape and function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cogrid._core.see.features import Bounded
from cogrid._core.see.onehot import planes_of
from cogrid._core.see.planes import EVERYBODY, compile_planes
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState

if TYPE_CHECKING:
    from cogrid._core.rules import Rules


class Observer(NamedTuple):
    """A compiled observation: the names of the last axis, the shape for one agent, and the function."""

    names: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    low: float
    high: float
    see: Callable[..., Array]  # of a state and, for some of the agents, the slice `who`


def observer_of(rules: Rules) -> Observer:
    """The observation that the spec asks for."""
    kind = rules.spec.observation
    if kind == "features":
        return _features(rules)
    if kind == "none":
        return _nothing(rules)
    shape, see = compile_planes(rules)
    names = planes_of(rules.answers, rules.spec.symbols).names
    return Observer(names, shape, np.dtype(np.uint8), 0, 255, see)


def observe(rules: Rules, state: EnvState) -> Array:
    """(*B, n, …) the observations of all agents."""
    return rules.observer.see(state)


def observe_each(rules: Rules, state: EnvState) -> list[Array]:
    """The observation of each agent, (*B, …): on a CPU much faster than slicing that of all agents."""
    see = rules.observer.see
    axis = state.pos.ndim - 1
    return [see(state, slice(k, k + 1)).squeeze(axis) for k in range(rules.n_agents)]


def _features(rules: Rules) -> Observer:
    parts = rules.game.features()
    if not parts:
        raise ValueError(
            f"{type(rules.game).__name__} has no features: write features(), or use "
            "observation='lossless', 'window' or 'none'."
        )
    names = tuple(name for part in parts for name in part.names(rules))
    bounds = [part.bounds(rules) if isinstance(part, Bounded) else (-1.0, 1.0) for part in parts]
    low, high = min(low for low, _ in bounds), max(high for _, high in bounds)
    functions = [part.compile(rules) for part in parts]

    def see(state: EnvState, who: slice = EVERYBODY) -> Array:
        seen = rules.xp.concatenate([function(state) for function in functions], axis=-1)
        return seen if who is EVERYBODY else seen[..., who, :]

    return Observer(names, (len(names),), np.dtype(np.float32), low, high, see)


def _nothing(rules: Rules) -> Observer:
    def see(state: EnvState, who: slice = EVERYBODY) -> Array:
        return rules.xp.zeros((*state.pos[..., who].shape, 0), np.float32)

    return Observer((), (0,), np.dtype(np.float32), 0.0, 0.0, see)
