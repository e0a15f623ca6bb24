"""The process of cogrid 0.3.2, which has our import name: only our clock is imported, by its path."""

from __future__ import annotations

import copy
import importlib.util
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bench.peers.peer_worker import Job, Prepared, serve_peer, speed

SHIPPED_CLOCK = Path(__file__).parents[3] / "cogrid" / "benchmarks" / "clock.py"


def main() -> None:
    serve_peer(prepare)


def prepare(job: Job) -> Prepared:
    _require_0_3()
    import numpy as np

    case = job["case"]
    tape = np.fromfile(job["tape"], np.int8).reshape(case["steps"], job["lanes"], -1)
    return _WAYS[job["way"]](case, tape, todays_clock())


def _require_0_3() -> None:
    try:
        installed = version("cogrid")
    except PackageNotFoundError:
        installed = ""
    if not installed.startswith("0.3."):
        has = f"cogrid {installed}" if installed else "no cogrid"
        raise ImportError(f"{sys.executable} has {has}: name a Python that has cogrid 0.3.2 by --older.")


def todays_clock() -> Any:
    """Bench's clock, which builds on the one that cogrid ships: meanwhile that one has its own name."""
    name = "cogrid.benchmarks.clock"
    spec = importlib.util.spec_from_file_location(name, SHIPPED_CLOCK)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(sys.modules[name])
        return import_module("bench.measure.clock")
    finally:
        del sys.modules[name]


def _env(case: Mapping[str, Any], backend: str) -> Any:
    import_module("cogrid.envs")  # registers them
    env = import_module("cogrid.envs.registry").make(case["id"], backend=backend)
    env.reset(seed=case["seed"])
    return env


def _name() -> str:
    return f"cogrid {version('cogrid')}"


def _numpy(case: Mapping[str, Any], tape: Any, clock: Any) -> Prepared:
    """One environment through `env.step`, reset before every pass."""
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
    """Pictures of the states of a tape; the tiles are drawn again in every pass."""
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

    lanes = [number % tape.shape[1] for number in range(case["batch"])]
    return _loop(case, clock, tape[:, lanes], jax.vmap)


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
    import jax

    from bench.peers.compiled import compilation

    env = _env(case, "jax")
    (keys,) = _keys(case, 1, (case["batch"],))
    start = jax.jit(jax.vmap(env.jax_reset))(keys)[1]
    actions = _named(tape[0, [0] * case["batch"]])
    return Prepared(_name(), "s", compilation(clock, jax.vmap(env.jax_step), keys, start, actions))


def _keys(case: Mapping[str, Any], steps: int, batch: tuple[int, ...]) -> list[Any]:
    import jax

    return list(jax.random.split(jax.random.key(case["seed"]), (steps, *batch)))


def _named(actions: Any) -> dict[int, Any]:
    """(*B, agents) by agent."""
    import jax

    return {agent: jax.device_put(actions[..., agent].astype("int32")) for agent in range(actions.shape[-1])}


_WAYS: Mapping[str, Callable[[Mapping[str, Any], Any, Any], Prepared]] = {
    "numpy": _numpy,
    "jax": _jax,
    "vmap": _vmap,
    "compile": _compile,
    "frames": _frames,
}
