"""Other work, for orientation: CartPole of Gymnasium and of gymnax."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import version
from typing import Any

from bench.rivals.protocol import Job, Prepared, speed
from cogrid.benchmarks import clock

ID = "CartPole-v1"


def prepare(job: Job) -> Prepared:
    """What the job asks for."""
    return _WAYS[job["how"]](job["case"]["steps"], job["case"]["batch"])


def _gymnasium(steps: int, batch: int) -> Prepared:
    """One environment, reset when its episode ends."""
    import gymnasium

    env = gymnasium.make(ID)
    env.reset(seed=42)
    turns = list(itertools.islice(itertools.cycle((0, 1)), steps))

    def run() -> Any:
        for action in turns:
            obs, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
        return obs

    return Prepared(f"gymnasium {version('gymnasium')}", "steps/s", speed(clock, clock.Pass(run), steps))


def _gymnax(steps: int, batch: int) -> Prepared:
    """A scan of a batch that resets by itself, with random actions drawn inside."""
    import jax

    from bench.rivals import compiled

    env, params = import_module("gymnax").make(ID)
    keys = jax.random.split(jax.random.key(0), batch)
    _, start = jax.vmap(env.reset, in_axes=(0, None))(keys, params)

    def one(carry: Any, _: Any) -> Any:
        state, key = carry
        key, for_step, joint = compiled.drawn(key, batch, 1)
        keys = jax.random.split(for_step, batch)
        found = jax.vmap(env.step, in_axes=(0, 0, 0, None))(keys, state, joint[:, 0] % 2, params)
        return (found[1], key), found[0], found[2]

    ticks = jax.numpy.arange(steps)
    run = compiled.scan(one, (start, jax.random.key(42)), ticks, ticks[0])
    return Prepared(f"gymnax {version('gymnax')}", "steps/s", speed(clock, clock.Pass(run), steps * batch))


_WAYS: Mapping[str, Callable[[int, int], Prepared]] = {"gymnasium": _gymnasium, "gymnax": _gymnax}
