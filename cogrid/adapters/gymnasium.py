"""A Gymnasium VectorEnv in which each agent is a sub-environment, for parameter sharing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from cogrid._io.messages import brief, several
from cogrid.backend.array import Array, as_array
from cogrid.vector import VectorEnv

__all__ = ("AgentVectorEnv",)


class AgentVectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """`AgentVectorEnv(make_vec(...))`: agent a of environment e is sub-environment e · n + a.

    Arrays are NumPy's on every backend. The agents of an environment start and end together: an agent that
    ends early waits for the others, with no effect and no reward. The info that `make_vec` calls "episode"
    is called "totals" here, because Gymnasium's RecordEpisodeStatistics uses "episode". Gymnasium's
    observation wrappers do not support same-step autoreset: use `make_vec(..., autoreset="next-step")`.
    """

    def __init__(self, vec: VectorEnv) -> None:
        if not isinstance(vec, VectorEnv):
            raise TypeError(f"AgentVectorEnv takes what make_vec returns, not {brief(vec)}.")
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
        """Start all episodes; environment e, with all its agents, gets seed + e, or entry e of a list.

        `options` are those of `make_vec`'s reset: "board" and "pool".
        """
        if isinstance(options, Mapping) and "reset_mask" in options:
            raise ValueError(
                "options['reset_mask'] is not supported: environments reset automatically when they end."
            )
        obs, infos = self.vec.reset(seed=seed, options=options)
        return self._flat(obs), self._flat_infos(infos)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step all agents; finished environments are reset according to `metadata["autoreset_mode"]`."""
        actions = as_array("actions", actions)
        if actions.shape != (self.num_envs,):
            raise ValueError(
                f"actions have shape {actions.shape}, but {several(self.vec.num_envs, 'environment')} of "
                f"{several(self.n_agents, 'agent')} take {(self.num_envs,)}."
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
        """For every agent, a picture of its environment; needs `make_vec(..., render_mode="rgb_array")`."""
        pictures = self.vec.render()
        return pictures and tuple(one for one in pictures for _ in range(self.n_agents))

    def set_shaping_weight(self, weight: float) -> None:
        """Set the weight of the shaping terms in all environments; it persists across resets."""
        self.vec.set_state(self.vec.replace(self.vec.env_state, shaping_weight=weight))

    def _flat(self, value: Array) -> np.ndarray[Any, Any]:
        """(B, n, …) -> (B · n, …), a copy that the caller may write to."""
        host = np.asarray(value).reshape(self.num_envs, *value.shape[2:])
        return host if host.flags.writeable else host.copy()

    def _each(self, value: Array) -> np.ndarray[Any, Any]:
        """(B,) -> (B · n,), the same for all agents of an environment."""
        return np.repeat(np.asarray(value), self.n_agents)

    def _flat_infos(self, infos: Mapping[str, Any]) -> dict[str, Any]:
        """Infos by sub-environment, each with its mask; after an end also Gymnasium's `final_*` entries."""
        step_infos = dict(infos)
        episode, over, final = (step_infos.pop(name, None) for name in ("episode", "_episode", "final_obs"))
        step_infos.pop("_final_obs", None)
        flat = self._masked(step_infos, np.ones(self.num_envs, bool))
        if episode is None:
            return flat
        mask = self._each(over)
        flat |= {"totals": self._masked(episode, mask), "_totals": mask}
        if self.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP:
            step_infos.pop("action_mask", None)  # it belongs to the new episode
            flat |= {"final_obs": self._final(final, mask), "_final_obs": mask}
            flat |= {"final_info": self._masked(step_infos, mask), "_final_info": mask}
        return flat

    def _masked(self, infos: Mapping[str, Any], mask: np.ndarray[Any, Any]) -> dict[str, Any]:
        """Every array by sub-environment, and under `_name` the mask of the valid entries."""
        masked: dict[str, Any] = {}
        for name, value in infos.items():
            if isinstance(value, Mapping):
                masked[name] = self._masked(value, mask)
            else:
                masked[name] = self._flat(value) if value.ndim > 1 else self._each(value)
            masked[f"_{name}"] = mask
        return masked

    def _final(self, obs: Array, mask: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """In Gymnasium's format: an observation where an episode has ended, None elsewhere."""
        seen, final = self._flat(obs), np.full(self.num_envs, None, object)
        for i in np.flatnonzero(mask):
            final[i] = seen[i]
        return final


def _of_one_agent(joint: gymnasium.spaces.Box) -> gymnasium.spaces.Box:
    """(n, …) -> (…)"""
    return gymnasium.spaces.Box(joint.low[0], joint.high[0], dtype=joint.dtype.type)
