"""Rollouts: many environments for many steps, compiled, with automatic reset and bounded memory."""

from __future__ import annotations

import functools
from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from cogrid.backend import rng
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState
from cogrid.cogrid_env import CoGridEnv
from cogrid.core.autoreset import renew
from cogrid.core.rules import Rules
from cogrid.core.step import functions, step

Policy = Callable[[Any, Array, Array], Array]
KEEP = ("sums", "trajectory")


class Sums(NamedTuple):
    """What was added up, per environment."""

    rewards: Array  # (B, n) float32
    episodes: Array  # (B,) int32 episodes that ended


class Rollout(NamedTuple):
    """The last states and observations, the sums, and the steps one by one if they were asked for."""

    state: EnvState
    obs: Array  # (B, n, …)
    sums: Sums
    trajectory: dict[str, Any] | None  # NumPy: obs, actions, rewards, done, each (steps, B, …)


def rollout(
    env: CoGridEnv,
    policy: Policy | None = None,
    key: Array = 0,
    num_envs: int = 1024,
    num_steps: int = 400,
    *,
    chunk: int = 128,
    params: Any = None,
    keep: str = "sums",
) -> Rollout:
    """Play `num_steps` in `num_envs` environments with `policy(params, obs, key) -> actions`, or at random.

    The policy sees one environment: `obs` (n, …) and a key of its own; it returns n actions. Environment i
    and its policy draw from child i of the key. A scan runs `chunk` steps at a time, which bounds the memory
    that `keep="trajectory"` takes on the device. An environment with a shadow has every chunk replayed.
    """
    if env.backend != "jax":
        raise ValueError(
            f"rollout runs JAX environments and this one runs on {env.backend}: make(..., backend='jax')."
        )
    for name, number in (("num_envs", num_envs), ("num_steps", num_steps), ("chunk", chunk)):
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise ValueError(f"{name}={number!r} must be a whole number of at least 1.")
    if keep not in KEEP:
        raise ValueError(f"keep={keep!r} is unknown: choose one of {', '.join(map(repr, KEEP))}.")
    if policy is not None and not callable(policy):
        raise TypeError(f"policy={policy!r} is no function of parameters, observation and key.")
    words = env.rules.backend.words(rng.key(int(key)) if isinstance(key, (int, np.integer)) else key)
    if words.shape != (2,):
        raise ValueError(f"rollout takes one key and splits it, not keys of shape {words.shape}.")
    shadow = env._shadow
    begin, run = _compiled(env.rules, policy, num_envs, "trajectory" if shadow else keep)
    carry = begin(env.rules.backend.key(words))
    parts: list[dict[str, Any]] = []
    for first in range(0, num_steps, chunk):
        before = carry[0].host() if shadow else None  # the carry itself is donated
        began = perf_counter()
        carry, part = run(carry, params, min(chunk, num_steps - first))
        part = {name: np.asarray(value) for name, value in part.items()}
        if shadow and before:
            shadow.chunk(before, **part, last=carry[0], seconds=perf_counter() - began)
        if keep == "trajectory":
            parts.append(part)
    state, obs, _, sums = carry
    whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} if parts else None
    return Rollout(state, obs, sums, whole)


@functools.lru_cache(maxsize=64)
def _compiled(
    rules: Rules, policy: Policy | None, num_envs: int, keep: str
) -> tuple[Callable[..., Any], ...]:
    import jax

    act = random_policy(rules) if policy is None else policy
    xp = rules.xp

    def begin(key: Array) -> tuple[Any, ...]:
        children = rng.split(rng.split(key, num_envs), 2)  # (B, 2) for the environment, for its policy
        state, obs = functions(rules).reset(children[:, 0])
        zeros = Sums(xp.zeros((num_envs, rules.n_agents), np.float32), xp.zeros(num_envs, np.int32))
        return state, obs, children[:, 1], zeros

    def one(params: Any, carry: Any, _: Any) -> tuple[Any, Any]:
        state, obs, keys, sums = carry
        keys = rng.split(keys, 2)  # (B, 2) for the next step, for this one
        actions = jax.vmap(act, in_axes=(None, 0, 0))(params, obs, keys[:, 1])
        state, seen, rewards, done, _ = step(rules, state, actions)
        sums = Sums(sums.rewards + rewards, sums.episodes + done.astype(np.int32))
        played = {"obs": obs, "actions": actions, "rewards": rewards, "done": done}
        kept = played if keep == "trajectory" else {}
        return (*renew(rules, state, seen, done), keys[:, 0], sums), kept

    @functools.partial(jax.jit, static_argnums=2, donate_argnums=0)
    def run(carry: Any, params: Any, length: int) -> Any:
        return jax.lax.scan(functools.partial(one, params), carry, None, length=length)

    return jax.jit(begin), run


def random_policy(rules: Rules) -> Policy:
    """Every action equally likely."""

    def act(params: Any, obs: Array, key: Array) -> Array:
        draws = rng.bits(rules.backend.words(key), rules.n_agents)
        return (draws % np.uint32(rules.n_actions)).astype(np.int32)

    return act
