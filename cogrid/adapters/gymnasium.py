"""A Gymnasium VectorEnv in which each agent is a sub-environment, for parameter sharing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from cogrid.backend.array import Array, as_array
from cogrid.vector import VectorEnv


class AgentVectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """`AgentVectorEnv(make_vec(...))`: agent a of environment e is sub-environment e · n + a.

    Arrays are NumPy's, whatever the backend. The agents of an environment begin and end together, so an agent
    that ends early waits, without effect and reward, for the others. What `make_vec` reports at the end of
    an episode as "episode" is called "totals" here: Gymnasium's RecordEpisodeStatistics uses the other name.
    Gymnasium's observation wrappers refuse the same-step mode: use `make_vec(..., autoreset="next-step")`.
    """

    def __init__(self, vec: VectorEnv) -> None:
        self.vec = vec
        self.n_agents = vec.spec.num_agents
        self.num_envs = vec.num_envs * self.n_agents
        self.metadata = dict(vec.metadata)
        self.autoreset_mode = vec.autoreset_mode
        self.render_mode = vec.render_mode
        self.single_observation_space = _of_one_agent(vec.single_observation_space)
        self.single_action_space = gymnasium.spaces.Discrete(vec.rules.n_actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin all episodes: environment e has seed + e, or its own seed of a list, for all its agents."""
        if options and "reset_mask" in options:
            raise ValueError(
                "options['reset_mask'] is not possible: environments reset themselves when they end."
            )
        obs, infos = self.vec.reset(seed=seed)
        return self._flat(obs), self._flat_infos(infos)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step all agents; automatic reset is as `metadata["autoreset_mode"]` says."""
        actions = as_array("actions", actions)
        if actions.shape != (self.num_envs,):
            raise ValueError(
                f"actions have shape {actions.shape}, but {self.vec.num_envs} environments of "
                f"{self.n_agents} agents take {(self.num_envs,)}."
            )
        obs, rewards, terminations, truncations, infos = self.vec.step(actions.reshape(-1, self.n_agents))
        return (
            self._flat(obs),
            self._flat(rewards),
            self._each(terminations),
            self._each(truncations),
            self._flat_infos(infos),
        )

    def render(self) -> tuple[Any, ...] | None:
        """The picture of its environment for every agent, with `make_vec(..., render_mode="rgb_array")`."""
        pictures = self.vec.render()
        return pictures and tuple(one for one in pictures for _ in range(self.n_agents))

    def set_shaping_weight(self, weight: float) -> None:
        """Anneal the shaping terms of all environments; it outlives their episodes."""
        self.vec.set_state(self.vec.replace(self.vec.env_state, shaping_weight=weight))

    def _flat(self, value: Array) -> np.ndarray[Any, Any]:
        """(B, n, …) -> (B · n, …), the caller's own to write into."""
        host = np.asarray(value).reshape(self.num_envs, *value.shape[2:])
        return host if host.flags.writeable else host.copy()

    def _each(self, value: Array) -> np.ndarray[Any, Any]:
        """(B,) -> (B · n,), the same for all agents of an environment."""
        return np.repeat(np.asarray(value), self.n_agents)

    def _flat_infos(self, infos: Mapping[str, Any]) -> dict[str, Any]:
        """By sub-environment, each with its mask; at an end also what Gymnasium's own environments tell."""
        told = dict(infos)
        episode, over, final = (told.pop(name, None) for name in ("episode", "_episode", "final_obs"))
        told.pop("_final_obs", None)
        flat = self._masked(told, np.ones(self.num_envs, bool))
        if episode is None:
            return flat
        mask = self._each(over)
        flat |= {"totals": self._masked(episode, mask), "_totals": mask}
        if self.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP:
            told.pop("action_mask", None)  # it belongs to the episode that has begun
            flat |= {"final_obs": self._final(final, mask), "_final_obs": mask}
            flat |= {"final_info": self._masked(told, mask), "_final_info": mask}
        return flat

    def _masked(self, infos: Mapping[str, Any], mask: np.ndarray[Any, Any]) -> dict[str, Any]:
        """Every array by sub-environment, and the mask of those that have it."""
        masked: dict[str, Any] = {}
        for name, value in infos.items():
            if isinstance(value, Mapping):
                masked[name] = self._masked(value, mask)
            else:
                masked[name] = self._flat(value) if value.ndim > 1 else self._each(value)
            masked[f"_{name}"] = mask
        return masked

    def _final(self, obs: Array, mask: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Gymnasium's own form: an observation where an episode has ended, None elsewhere."""
        seen, final = self._flat(obs), np.full(self.num_envs, None, object)
        for i in np.flatnonzero(mask):
            final[i] = seen[i]
        return final


def _of_one_agent(joint: gymnasium.spaces.Box) -> gymnasium.spaces.Box:
    """(n, …) -> (…)"""
    return gymnasium.spaces.Box(joint.low[0], joint.high[0], dtype=joint.dtype.type)
