"""Episodes: environments played by named policies, every state kept to be looked at."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from cogrid.backend import rng
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState
from cogrid.cogrid_env import CoGridEnv
from cogrid.core.rules import Rules
from cogrid.envs.overcooked.game import Kitchen
from cogrid.envs.overcooked.policies import ScriptedCooks

#: A single state -> the actions of its agents.
Policy = Callable[[EnvState], Sequence[int]]
POLICIES = ("scripted", "random")


class Episode(NamedTuple):
    """States from the start on, and what the agents had scored by then."""

    states: list[EnvState]
    scores: list[Array]  # (*B, n) each


def policy_of(name: str, rules: Rules, seed: int) -> Policy:
    """A policy that plays all agents."""
    if name == "scripted":
        cooks = ScriptedCooks(rules, seed=seed)
        return lambda state: [action for _, action in sorted(cooks.act(state).items())]
    if name == "random":
        draw = np.random.default_rng(rng.seed(seed) % 2**64)
        return lambda state: draw.integers(0, rules.n_actions, rules.n_agents).tolist()
    raise ValueError(f"unknown policy {name!r}: choose one of {', '.join(POLICIES)}.")


def usual_policy(rules: Rules) -> str:
    """The policy that shows most of a game."""
    return "scripted" if isinstance(rules.spec.game, Kitchen) else "random"


def play(env: CoGridEnv, policy: str, seed: int, steps: int, batch: int = 1) -> Episode:
    """Play a batch, environment i with seed + i, for some steps or until all are over."""
    seeds = range(seed, seed + batch)
    policies = [policy_of(policy, env.rules, one) for one in seeds]
    state, _ = env.reset_fn(env.rules.backend.key(np.stack([rng.key(one) for one in seeds])))
    episode = Episode([state], [np.zeros((batch, env.spec.num_agents))])
    for _ in range(steps):
        actions = np.array([act(one_of(state, k)) for k, act in enumerate(policies)], np.int32)
        state, _, rewards, done, _ = env.step_fn(state, actions)
        episode.states.append(state)
        episode.scores.append(episode.scores[-1] + np.asarray(rewards))
        if np.asarray(done).all():
            break
    return episode


def one_of(state: EnvState, index: int) -> EnvState:
    """One environment of a batch."""
    fields = ((f.name, getattr(state, f.name)) for f in dataclasses.fields(state) if f.name != "rules")
    return state.evolve(**{name: value[index] for name, value in fields if value is not None})
