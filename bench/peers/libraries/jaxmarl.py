"""JaxMARL's Overcooked, its first version, which plays by our rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import version
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bench.rivals import compiled
from bench.rivals.ours import actions, case_of, counter, witness
from bench.rivals.protocol import Job, Prepared, speed
from cogrid.benchmarks import clock
from cogrid.benchmarks.case import Case
from cogrid.core.layout import Layout

PADDING = 4  # cells of wall on each side of their map
THEIR_ACTION = np.array([0, 1, 3, 2, 5, 4, 4], np.int8)  # theirs: up, down, right, left, stay, interact
OUR_FACING = np.array([3, 1, 0, 2])  # theirs: north, south, east, west
AGENTS = ("agent_0", "agent_1")


def prepare(job: Job) -> Prepared:
    """What the job asks for."""
    return _WAYS[job["how"]](case_of(job["case"]))


def _name() -> str:
    return f"jaxmarl {version('jaxmarl')}"


def _game(case: Case) -> Any:
    module = import_module("jaxmarl.environments.overcooked.overcooked")
    return module.Overcooked(layout=_layout(case.spec.layout[0]), max_steps=case.spec.max_steps)


def _layout(layout: Layout) -> Mapping[str, Any]:
    """Their layout from our text, so that starts and agent numbers are ours."""
    letters = "".join(layout.letters)
    kinds = {"wall": "XPODS", "goal": "S", "plate_pile": "D", "onion_pile": "O", "pot": "P"}
    cells = {
        f"{name}_idx": jnp.array([cell for cell, letter in enumerate(letters) if letter in kind])
        for name, kind in kinds.items()
    }
    starts = jnp.array([row * layout.width + column for row, column in layout.starts])
    frozen = import_module("flax.core.frozen_dict").FrozenDict
    made: Mapping[str, Any] = frozen(
        {"height": layout.height, "width": layout.width, "agent_idx": starts, **cells}
    )
    return made


def _start(game: Any, case: Case) -> Any:
    """(batch,) states as our reset makes them: theirs draws the facings, ours is up, in all three places."""
    keys = jax.random.split(jax.random.key(case.seed), case.batch)
    state = jax.jit(jax.vmap(game.reset))(keys)[1]
    vectors = import_module("jaxmarl.environments.overcooked.common").DIR_TO_VEC
    north = jnp.zeros_like(state.agent_dir_idx)
    x, y = (state.agent_pos[..., axis].astype(np.int32) + PADDING for axis in (0, 1))  # (batch, 2)
    every = jnp.arange(case.batch)[:, None]
    maps = state.maze_map.at[every, y, x, 2].set(0)
    return state.replace(agent_dir_idx=north, agent_dir=vectors[north], maze_map=maps)


def _named(joint: Any) -> dict[str, Any]:
    return {name: joint[:, number] for number, name in enumerate(AGENTS)}


def _stepper(game: Any) -> Callable[[Any, Any], Any]:
    """`step_env` over a batch: no reset, and the key is not used."""
    keyless = jax.vmap(lambda state, named: game.step_env(jax.random.key(0), state, named))

    def one(state: Any, joint: Any) -> Any:
        obs, state, rewards, _, _ = keyless(state, _named(joint))
        return state, obs, rewards[AGENTS[0]]

    return one


def _play(case: Case) -> Prepared:
    """A scan of `step_env` over the tape."""
    game = _game(case)
    joint = jax.device_put(THEIR_ACTION[actions(case)].astype(np.int32))
    run = compiled.scan(_stepper(game), _start(game, case), joint, joint[0])
    sample = speed(clock, clock.Pass(run), case.steps * case.batch)
    return Prepared(_name(), "steps/s", sample, _witness(game, case, run()))


def _witness(game: Any, case: Case, end: Any) -> dict[str, Any]:
    state, obs, rewards = jax.tree.map(lambda leaf: np.asarray(leaf[: case.lanes]), end)
    cells = state.agent_pos[..., 1] * game.width + state.agent_pos[..., 0]
    planes = np.stack([obs[name] for name in AGENTS], axis=1)
    return witness(cells, OUR_FACING[state.agent_dir_idx], rewards, planes)


def _drawn(case: Case, staggered: bool = False) -> Prepared:
    """A scan of `step`, which resets by itself, with random actions drawn inside."""
    game = _game(case)
    start = _start(game, case)
    if staggered:
        start = start.replace(step=jnp.arange(case.batch, dtype=start.step.dtype) % case.spec.max_steps)

    def one(carry: Any, _: Any) -> Any:
        state, key = carry
        key, for_step, joint = compiled.drawn(key, case.batch, len(AGENTS))
        keys = jax.random.split(for_step, case.batch)
        obs, state, rewards, _, _ = jax.vmap(game.step)(keys, state, _named(joint))
        return (state, key), obs, rewards[AGENTS[0]]

    ticks = jnp.arange(case.steps)
    run = compiled.scan(one, (start, jax.random.key(case.seed)), ticks, ticks[0])
    return Prepared(_name(), "steps/s", speed(clock, clock.Pass(run), case.steps * case.batch))


def _staggered(case: Case) -> Prepared:
    """The same with episodes that end at all times, and not together."""
    return _drawn(case, staggered=True)


def _compile(case: Case) -> Prepared:
    """Seconds until the vmapped `step_env` is compiled."""
    return Prepared(_name(), "s", compiled.compilation(clock, *_vmapped(case)))


def _bytes(case: Case) -> Prepared:
    """Bytes that the compiled vmapped `step_env` reads and writes."""
    return Prepared(_name(), "B", counter("bytes_accessed", *_vmapped(case)))


def _fusions(case: Case) -> Prepared:
    """Fusions of the compiled vmapped `step_env`."""
    return Prepared(_name(), "fusions", counter("fusions", *_vmapped(case)))


def _vmapped(case: Case) -> tuple[Any, Any, Any]:
    """The vmapped `step_env` and arguments for it."""
    game = _game(case)
    return _stepper(game), _start(game, case), jnp.zeros((case.batch, len(AGENTS)), np.int32)


def _state_bytes(case: Case) -> Prepared:
    """Bytes of a state."""
    state = _start(_game(case), case)
    size = sum(leaf.nbytes for leaf in jax.tree.leaves(state)) // case.batch
    return Prepared(_name(), "B", lambda: {"value": size})


_WAYS: Mapping[str, Callable[[Case], Prepared]] = {
    "play": _play,
    "drawn": _drawn,
    "staggered": _staggered,
    "compile": _compile,
    "bytes": _bytes,
    "fusions": _fusions,
    "state bytes": _state_bytes,
}
