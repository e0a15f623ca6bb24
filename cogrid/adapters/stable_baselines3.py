"""A Stable-Baselines3 VecEnv in which each agent is a sub-environment, and a callback to anneal shaping."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv

from cogrid.adapters.gymnasium import AgentVectorEnv
from cogrid.vector import VectorEnv

__all__ = ("AgentVecEnv", "AnnealShaping")


class AgentVecEnv(VecEnv):
    """`AgentVecEnv(make_vec(...))`: agent a of environment e is sub-environment e · n + a.

    All agents learn one policy. Episodes are reported in `infos[i]["episode"]` as SB3's Monitor does, so no
    monitor is needed. An agent that ends early waits for the others, with no effect and no reward.
    """

    def __init__(self, vec: VectorEnv) -> None:
        if vec.autoreset != "same-step":
            raise ValueError(
                f"Stable-Baselines3 resets in the same step and this vector environment uses "
                f"autoreset={vec.autoreset!r}: leave make_vec's autoreset= out."
            )
        self.agents = AgentVectorEnv(vec)
        self._actions: Any = None
        self._begun = time.time()
        space = self.agents.single_observation_space
        super().__init__(self.agents.num_envs, space, self.agents.single_action_space)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Set the seeds of the next reset: environment e, with all its agents, gets seed + e."""
        if seed is None:
            seed = int(np.random.SeedSequence().generate_state(1)[0])
        self._seeds = [seed + i // self.agents.n_agents for i in range(self.num_envs)]
        return self._seeds

    def reset(self) -> Any:
        """Start all episodes; what `set_options` was given is for all of them."""
        seeds = self._seeds[:: self.agents.n_agents]
        chosen = [options for options in self._options if options]
        options = chosen[0] if chosen else None
        if chosen and (len(chosen) < self.num_envs or any(other is not options for other in chosen)):
            raise ValueError("set_options takes one dict for all sub-environments: they are one batch.")
        obs, infos = self.agents.reset(seed=None if None in seeds else seeds, options=options)
        self.reset_infos = self._listed(infos)
        self._reset_seeds()
        self._reset_options()
        return obs

    def step_async(self, actions: Any) -> None:
        """Store the actions, (num_envs,), for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, Any, Any, list[dict[str, Any]]]:
        """Take the step; finished environments are already reset in `obs`."""
        obs, rewards, terminated, truncated, infos = self.agents.step(self._actions)
        done = terminated | truncated
        listed = self._listed(infos)
        for i in np.flatnonzero(done):
            totals = infos["totals"]
            passed = round(time.time() - self._begun, 6)
            listed[i]["episode"] = {"r": float(totals["r"][i]), "l": int(totals["l"][i]), "t": passed}
            listed[i]["terminal_observation"] = infos["final_obs"][i]
            listed[i]["TimeLimit.truncated"] = bool(truncated[i] and not terminated[i])
        return obs, rewards, done, listed

    def _listed(self, infos: dict[str, Any]) -> list[dict[str, Any]]:
        """The infos of every step, without those at the end of an episode, by sub-environment."""
        ends = ("totals", "final_obs", "final_info")
        step_infos = {k: v for k, v in infos.items() if k not in ends}
        return [_of(step_infos, i) for i in range(self.num_envs)]

    def close(self) -> None:
        """Nothing to close."""
        self.agents.close()

    def get_images(self) -> Sequence[Any]:
        """A picture of every sub-environment, with `make_vec(..., render_mode="rgb_array")`."""
        return self.agents.render() or [None] * self.num_envs

    # SB3's access to single environments: there are none, so the vector environment stands in for each.

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The vector environment's attribute, once for each index."""
        return [getattr(self.agents, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Raise an AttributeError: there are no single environments to set it on."""
        raise AttributeError(
            f"{attr_name!r} cannot be set: sub-environments are agents of one batch; give it to make_vec."
        )

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method of the vector environment once."""
        result = getattr(self.agents, method_name)(*method_args, **method_kwargs)
        return [result for _ in self._get_indices(indices)]

    def env_is_wrapped(
        self, wrapper_class: type[gymnasium.Wrapper[Any, Any, Any, Any]], indices: Iterable[int] | None = None
    ) -> list[bool]:
        """True for Monitor, whose reports are built in; False for any other wrapper."""
        return [wrapper_class.__name__ == "Monitor" for _ in self._get_indices(indices)]


def _of(infos: Mapping[str, Any], i: int) -> dict[str, Any]:
    """The infos of one sub-environment, without Gymnasium's masks."""
    values = {name: value for name, value in infos.items() if not name.startswith("_")}
    return {name: _of(v, i) if isinstance(v, Mapping) else v[i] for name, v in values.items()}


class AnnealShaping(BaseCallback):
    """Anneals the weight of the shaping terms linearly from `start` to 0 over `timesteps`.

    The environment must be made with shaping: `make_vec(..., shaping=1.0)`.
    """

    def __init__(self, timesteps: int, start: float = 1.0, verbose: int = 0) -> None:
        super().__init__(verbose)
        self.timesteps, self.start = timesteps, start

    def _on_rollout_start(self) -> None:
        weight = self.start * max(0.0, 1.0 - self.num_timesteps / self.timesteps)
        self.training_env.env_method("set_shaping_weight", weight)
        self.logger.record("rollout/shaping_weight", weight)

    def _on_step(self) -> bool:
        return True
