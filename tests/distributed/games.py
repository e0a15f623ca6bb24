"""What processes of any number play, and how it is compared: in files, as bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import cogrid
from cogrid.distributed import gather

ROOM, ARENA = "Overcooked-CrampedRoom-V0", "Arena-V0"
STEPS, CHUNK, EVERY = 20, 10, 5  # every length that a chunk has is compiled
KEY = 2


def room(**overrides: Any) -> cogrid.CoGridEnv:
    """A kitchen with short episodes in which random cooks earn something."""
    options = {"max_steps": 10, "shaping": 1.0, "random_start": True, "layout": "XPSX\nO  O\nXDPX"}
    return cogrid.make(ROOM, backend="jax", **{**options, **overrides})


def arena() -> cogrid.CoGridEnv:
    """Walls that differ between environments."""
    return cogrid.make(ARENA, backend="jax", max_steps=9, map_size=6, num_agents=3)


def script(params: Any, obs: Any, key: Any) -> Any:
    """Deterministic play: what is seen decides."""
    return (jnp.abs(obs).sum(axis=-1) * 7).astype(np.int32) % 7


def network(params: Any, obs: Any, key: Any) -> Any:
    """A linear policy that draws."""
    return jax.random.categorical(key, obs @ params).astype(np.int32)


def weights(env: cogrid.CoGridEnv) -> np.ndarray[Any, Any]:
    """(obs, actions) the same everywhere."""
    shape = (env.observation_space(0).shape[0], len(env.action_names))
    return np.random.default_rng(0).normal(0, 0.1, shape).astype(np.float32)


GAMES: dict[str, tuple[Any, Any, int]] = {
    "random": (room, None, 8),
    "uneven": (room, None, 7),
    "walls": (arena, None, 8),
    "script": (room, script, 8),
    "network": (room, network, 8),
}


def play(game: str, **options: Any) -> dict[str, np.ndarray[Any, Any]]:
    """A rollout of one of the games, whole, in every process."""
    make, policy, num_envs = GAMES[game]
    env = make()
    params = weights(env) if policy is network else None
    return whole(cogrid.rollout(env, policy, KEY, num_envs, STEPS, chunk=CHUNK, params=params, **options))


def whole(result: Any) -> dict[str, np.ndarray[Any, Any]]:
    """All that a rollout told, by names."""
    state = gather(result.state)
    return {**state.plain(), "obs": gather(result.obs), **gather(result.sums)._asdict()}


def gradient(devices: Any = None) -> dict[str, np.ndarray[Any, Any]]:
    """Of the likelihood of what the network played, by environments that stay where they were played."""
    env = room()
    params = weights(env)
    run = cogrid.rollout(env, network, KEY, 8, STEPS, params=params, keep="trajectory", devices=devices)
    sharding = run.obs.sharding
    spread = jax.sharding.NamedSharding(sharding.mesh, jax.sharding.PartitionSpec(None, *sharding.spec))
    everywhere = jax.sharding.NamedSharding(sharding.mesh, jax.sharding.PartitionSpec())

    def loss(params: Any, obs: Any, actions: Any, rewards: Any) -> Any:
        chosen = jax.nn.log_softmax(obs @ params)
        taken = jnp.take_along_axis(chosen, actions[..., None], axis=-1)[..., 0]
        return -(taken * (rewards + np.float32(1))).mean()

    parts = (
        jax.make_array_from_process_local_data(spread, run.trajectory[name])
        for name in ("obs", "actions", "rewards")
    )
    value = jax.jit(jax.grad(loss), out_shardings=everywhere)(jax.device_put(params, everywhere), *parts)
    return {"gradient": np.asarray(value)}


def write(folder: Path, name: str, values: dict[str, Any], everyone: bool = False) -> None:
    """As a file that `read` opens; process 0 writes it, or everyone."""
    if everyone or jax.process_index() == 0:
        folder.mkdir(exist_ok=True)
        np.savez(folder / f"{name}.npz", **values)


def read(folder: Path, name: str) -> dict[str, np.ndarray[Any, Any]]:
    with np.load(folder / f"{name}.npz") as file:
        return dict(file)
