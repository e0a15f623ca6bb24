"""cogrid 0.3.2 of PyPI, the older implementation: other rules, and our import name.

Runs in an environment of its own, where `cogrid` is that one, and the only thing of ours is the clock.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

from bench.rivals.protocol import Job, Prepared, clock_of_ours, serve, speed


def main() -> None:
    """The job is the only argument."""
    serve(prepare, json.loads(sys.argv[1]))


def prepare(job: Job) -> Prepared:
    """What the job asks for."""
    if not version("cogrid").startswith("0.3."):
        raise ImportError(f"{sys.executable} has cogrid {version('cogrid')}, and 0.3.2 is asked for.")
    case = job["case"]
    flat = np.fromfile(job["tape"], np.int8)
    tape = flat.reshape(case["steps"], job["lanes"], -1)
    return _WAYS[job["how"]](case, tape, clock_of_ours())


def _env(case: Mapping[str, Any], backend: str) -> Any:
    import_module("cogrid.envs")  # registers them
    env = import_module("cogrid.envs.registry").make(case["id"], backend=backend)
    env.reset(seed=case["seed"])
    return env


def _name() -> str:
    return f"cogrid {version('cogrid')}"


def _numpy(case: Mapping[str, Any], tape: Any, clock: Any) -> Prepared:
    """One environment through `env.step`, begun anew before every pass."""
    env = _env(case, "numpy")
    agents = sorted(env.possible_agents)
    joint = [dict(zip(agents, both, strict=True)) for both in tape[:, 0].tolist()]

    def run() -> Any:
        for actions in joint:
            obs = env.step(actions)[0]
        return obs

    work = clock.Pass(run, lambda: env.reset(seed=case["seed"]))
    return Prepared(_name(), "steps/s", speed(clock, work, len(joint)))


def _frames(case: Mapping[str, Any], tape: Any, clock: Any) -> Prepared:
    """Pictures of what the tape leads to, the tiles drawn anew in every pass."""
    import_module("cogrid.envs")
    env = import_module("cogrid.envs.registry").make(case["id"], backend="numpy", render_mode="rgb_array")
    env.render = lambda: None  # which every step calls
    grids: list[Any] = []
    for joint in tape[:, 0].tolist():
        if not env.agents or not grids:
            env.reset(seed=case["seed"])
        env.step(dict(enumerate(joint)))
        grids.append(copy.deepcopy(env.grid))

    def run() -> Any:
        for grid in grids:
            image = grid.render(tile_size=32)
        return image

    return Prepared(_name(), "frames/s", speed(clock, clock.Pass(run, grids[0].tile_cache.clear), len(grids)))


def _jax(case: Mapping[str, Any], tape: Any, clock: Any) -> Prepared:
    """One environment, its compiled step called in a Python loop."""
    return _loop(case, clock, tape[:, 0], lambda function: function)


def _vmap(case: Mapping[str, Any], tape: Any, clock: Any) -> Prepared:
    """A batch, its compiled step called in a Python loop."""
    import jax

    return _loop(case, clock, tape[:, np.arange(case["batch"]) % tape.shape[1]], jax.vmap)


def _loop(case: Mapping[str, Any], clock: Any, tape: Any, over: Callable[[Any], Any]) -> Prepared:
    import jax

    env = _env(case, "jax")
    keys = _keys(case, len(tape) + 1, tape.shape[1:-1])
    start = jax.jit(over(env.jax_reset))(keys[-1])[1]
    # Their step takes a key; all are drawn before the clock starts.
    inputs = [(key, _named(actions)) for key, actions in zip(keys, tape, strict=False)]
    compiled = jax.jit(over(env.jax_step)).lower(inputs[0][0], start, inputs[0][1]).compile()

    def run() -> Any:
        state, kept = start, []
        for key, actions in inputs:
            obs, state, rewards, *_ = compiled(key, state, actions)
            kept.append(rewards)
        return state, obs, kept

    return Prepared(_name(), "steps/s", speed(clock, clock.Pass(run), len(inputs) * case["batch"]))


def _compile(case: Mapping[str, Any], tape: Any, clock: Any) -> Prepared:
    """Seconds until the vmapped step is compiled."""
    import jax

    from bench.rivals.compiled import compilation

    env = _env(case, "jax")
    (keys,) = _keys(case, 1, (case["batch"],))
    start = jax.jit(jax.vmap(env.jax_reset))(keys)[1]
    actions = _named(np.zeros((case["batch"], tape.shape[-1]), np.int8))
    return Prepared(_name(), "s", compilation(clock, jax.vmap(env.jax_step), keys, start, actions))


def _keys(case: Mapping[str, Any], steps: int, batch: tuple[int, ...]) -> list[Any]:
    import jax

    return list(jax.random.split(jax.random.key(case["seed"]), (steps, *batch)))


def _named(actions: Any) -> dict[int, Any]:
    """(*B, agents) by agent."""
    import jax

    return {
        agent: jax.device_put(own.astype(np.int32)) for agent, own in enumerate(np.moveaxis(actions, -1, 0))
    }


_WAYS: Mapping[str, Callable[[Mapping[str, Any], Any, Any], Prepared]] = {
    "numpy": _numpy,
    "jax": _jax,
    "vmap": _vmap,
    "compile": _compile,
    "frames": _frames,
}
