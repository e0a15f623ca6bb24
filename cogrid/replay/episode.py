"""Episodes: environments played by policies, or replays, with all states kept."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cogrid._core.rules import Rules, compile_rules
from cogrid._core.state.pool import environment
from cogrid.backend import rng
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState
from cogrid.cogrid_env import CoGridEnv
from cogrid.policies.named import policy_of
from cogrid.replay.recording import Replay


class Episode(NamedTuple):
    """All states from the start, and the agents' scores at each."""

    states: list[EnvState]
    scores: list[Array]  # (*B, n) each

    @property
    def rules(self) -> Rules:
        """The rules that it was played by."""
        return compile_rules(self.states[0].rules.spec, "numpy")


def play(env: CoGridEnv, policy: str, seed: int, steps: int, batch: int = 1) -> Episode:
    """Play a batch on NumPy, environment i with seed + i, for some steps or until all are over."""
    seeds = range(seed, seed + batch)
    policies = [policy_of(policy, env.rules, seed=one) for one in seeds]
    state, _ = env.reset_fn(np.stack([rng.key(one) for one in seeds]))
    episode = Episode([state], [np.zeros((batch, env.spec.num_agents))])
    for _ in range(steps):
        chosen = [sorted(act(environment(state, k)).items()) for k, act in enumerate(policies)]
        joint = np.array([[action for _, action in one] for one in chosen], np.int32)  # (B, n)
        state, _, rewards, done, _ = env.step_fn(state, joint)
        episode.states.append(state)
        episode.scores.append(episode.scores[-1] + rewards)
        if done.all():
            break
    return episode


def replayed(replay: Replay, steps: int | None = None) -> Episode:
    """A replay, or its first steps, played again on NumPy."""
    episode = Episode([], [])
    for number, frame in enumerate(replay.play("numpy")):
        episode.states.append(frame.state)
        episode.scores.append(frame.rewards + (episode.scores[-1] if number else 0.0))
        if number == steps:
            break
    return episode
