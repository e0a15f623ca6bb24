"""The learner that stands for JaxMARL's script: it learns, by settings that are options of ours too."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from tests.support import HAS_JAX

if not HAS_JAX:
    pytest.skip("JAX is not installed", allow_module_level=True)

import jax
import jax.numpy as jnp

from bench.peers.libraries.jaxmarl_ippo import LEARNING, SETTINGS, learner
from cogrid._apps.train.options import Options, check

WANTED = (2, 0)  # by agent


class State(NamedTuple):
    """As LogWrapper has it."""

    returned_episode_returns: Any


class Space(NamedTuple):
    shape: tuple[int, ...] = (1, 1, 2)
    n: int = 3


class Bandit:
    """With JaxMARL's API: 1 for the agent's right action, half of it as shaping; an episode is one step."""

    agents = ("agent_0", "agent_1")
    num_agents = 2

    def observation_space(self, agent: str) -> Space:
        return Space()

    action_space = observation_space

    def reset(self, key: Any) -> tuple[Any, State]:
        seen = {name: jnp.eye(2, dtype=jnp.uint8)[i].reshape(1, 1, 2) for i, name in enumerate(self.agents)}
        return seen, State(jnp.zeros(2))

    def step(self, key: Any, state: State, actions: Any) -> Any:
        right = jnp.array([actions[name] == WANTED[i] for i, name in enumerate(self.agents)], jnp.float32)
        paid = {name: 0.5 * right[i] for i, name in enumerate(self.agents)}
        done = {name: jnp.array(True) for name in (*self.agents, "__all__")}
        return self.reset(key)[0], State(right), paid, done, {"shaped_reward": paid}


def test_it_learns() -> None:
    settings = {**SETTINGS, "num_envs": 8, "num_steps": 16, "steps": 40 * 128, "learning_rate": 1e-2}
    begin, update = learner(Bandit(), settings)
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        run = jax.jit(begin)(jax.random.key(0))
        run, scores = jax.jit(lambda run: jax.lax.scan(update, run, None, 40))(run)
    assert int(run.update) == 40
    assert float(scores[0]) < 0.7
    assert float(scores[-5:].mean()) > 0.95


def test_its_settings_are_those_of_our_side_too() -> None:
    check(Options(id=LEARNING.id, observation=LEARNING.spec.observation, **SETTINGS))
    assert (LEARNING.batch, LEARNING.steps % SETTINGS["num_steps"]) == (SETTINGS["num_envs"], 0)
