"""cogrid at this checkout: what the other peers are compared with."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from bench.measure import clock
from bench.measure.gpu.compiled import UNIT as MODELLED
from bench.peers.cases import actions, draws, end_of, lanes, own_tapes
from bench.peers.peer_worker import Prepared, speed
from bench.peers.target import COGRID
from cogrid.backend.array import Array
from cogrid.benchmarks import modes
from cogrid.benchmarks.case import Case
from cogrid.cogrid_env import CoGridEnv
from cogrid.envs.overcooked.floor_plan import Cuisine
from cogrid.render.picture import TILE, picture
from cogrid.render.tiles import tiles_of

_prepared = functools.partial(Prepared, COGRID.name)


def prepare(way: str, case: Case) -> Prepared:
    return _WAYS[way](case)


def _played(
    case: Case, run: Callable[[], Any], end: Mapping[str, Any] | None = None, times: int = 1
) -> Prepared:
    return _prepared("steps/s", speed(clock, clock.Pass(run), case.steps * case.batch * times), end or {})


def _play(case: Case) -> Prepared:
    """The tape, as `bench run` plays it, first compared with NumPy."""
    ready = modes.ready(case)
    end = ready.end(ready.work.once())
    modes.check(case, ready, end)
    sample = speed(clock, ready.work, case.steps * case.batch)
    return _prepared("steps/s", sample, _end(case, end, case.lanes))


def _end(case: Case, end: modes.End, count: int) -> dict[str, Any]:
    state, obs, rewards = end
    values = [state.pos, state.agent_dir, rewards[..., 0]]
    values += [obs] if case.spec.observation == "lossless" and isinstance(case.spec.game, Cuisine) else []
    if case.mode.endswith("single"):
        values = [value[None] for value in values]
    return end_of(*(np.asarray(value[:count]) for value in values))


def _drawn(case: Case, staggered: bool = False) -> Prepared:
    """Random actions drawn inside the scan, with automatic reset; staggered episodes end at any time."""
    from bench.peers import compiled

    step, start = _resetting(case, staggered)
    return _played(case, compiled.scan_drawn(step, start, *draws(case)))


def _resetting(case: Case, staggered: bool = False) -> tuple[Any, Any]:
    """A step with automatic reset, which needs no key, and the first states."""
    import jax

    env = CoGridEnv(case.spec, "jax")
    start = modes.jax_start(case, env, jax.vmap)
    if staggered:
        start = start.evolve(clock=jax.numpy.arange(case.batch, dtype=np.int32) % case.spec.max_steps)

    def step(state: Any, _: Any, joint: Any) -> Any:
        state, obs, rewards, done, _ = env.step_fn(state, joint)
        state, obs = env.renew_fn(state, obs, done)
        return state, obs, rewards

    return step, start


def _adapted(case: Case) -> Prepared:
    """As drawn, through the adapter for JaxMARL, in JaxMARL's own LogWrapper and order of actions."""
    import jax

    from bench.peers import compiled
    from cogrid.adapters.jaxmarl import OVERCOOKED, JaxMARLEnv

    wrapper = import_module("jaxmarl.wrappers.baselines").LogWrapper
    env = wrapper(JaxMARLEnv(CoGridEnv(case.spec, "jax"), actions=OVERCOOKED))
    _, start = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(case.seed), case.batch))

    def step(state: Any, key: Any, joint: Any) -> Any:
        keys = jax.random.split(key, case.batch)
        named = {name: joint[:, number] for number, name in enumerate(env.agents)}
        obs, state, rewards, _, _ = jax.vmap(env.step)(keys, state, named)
        return state, obs, rewards[env.agents[0]]

    return _played(case, compiled.scan_drawn(step, start, *draws(case)))


def _learn(case: Case) -> Prepared:
    """Updates of our learner with the settings of JaxMARL's script: a seed for each device."""
    import jax

    from bench.peers.libraries.jaxmarl_ippo import SETTINGS
    from cogrid._apps.train import loop
    from cogrid._apps.train.learner import Learner
    from cogrid._apps.train.options import Options
    from cogrid._scale.placement import place

    count = len(jax.devices())
    options = Options(
        id=case.id,
        observation=case.spec.observation,
        chunk=case.steps // SETTINGS["num_steps"],
        seeds=count,
        first_seed=case.seed,
        devices=count,
        **SETTINGS,
    )
    learner = Learner(options)
    chunk = jax.jit(loop.chunk_on(place(count, options.num_envs), learner))
    run = jax.jit(loop.over_seeds(learner.begin))(loop.seeds(options))
    for _ in range(2):  # then its arrays are on the right devices
        run, _ = chunk(run)
    return _played(case, lambda: chunk(run), times=count)


def _modelled(case: Case) -> Prepared:
    """The scan over a tape, compiled for a GPU and not run."""
    import jax

    from bench.peers import compiled, modelled

    env = CoGridEnv(case.spec, "jax")

    def step(state: Any, joint: Any) -> Any:
        return env.step_fn(state, joint)[:3]

    loop = compiled.loop(step, modes.jax_start(case, env, jax.vmap), actions(case))
    return _prepared(MODELLED, modelled.modelled(loop, case.steps * case.batch))


def _modelled_drawn(case: Case) -> Prepared:
    """As drawn, compiled for a GPU and not run."""
    from bench.peers import compiled, modelled

    step, start = _resetting(case)
    loop = compiled.loop_drawn(step, start, *draws(case))
    return _prepared(MODELLED, modelled.modelled(loop, case.steps * case.batch))


def _own_tapes(case: Case) -> Prepared:
    """A scan in which every environment plays a tape of its own."""
    import jax

    env = CoGridEnv(case.spec, "jax")
    return _scanned(case, env, modes.jax_start(case, env, jax.vmap), jax.device_put(own_tapes(case)))


def _sharded(case: Case, tape: Callable[[Case], Array] = actions) -> Prepared:
    """The tape, with the batch divided among all devices."""
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    devices = jax.devices()
    if len(devices) < 2:
        raise ValueError(f"there is one device only: {devices[0]}.")
    env = CoGridEnv(case.spec, "jax")
    mesh = Mesh(np.array(devices), ("batch",))
    start = jax.device_put(modes.jax_start(case, env, jax.vmap), NamedSharding(mesh, PartitionSpec("batch")))
    joint = jax.device_put(tape(case), NamedSharding(mesh, PartitionSpec(None, "batch")))
    return _scanned(case, env, start, joint)


def _scanned(case: Case, env: CoGridEnv, start: Any, joint: Array) -> Prepared:
    """Any tape from any start; its end is compared with that of the peer."""
    import jax

    from bench.peers import compiled

    def step(state: Any, joint: Any) -> Any:
        state, obs, rewards, _, _ = jax.vmap(env.jax_step)(state, joint)
        return state, obs, rewards

    run = compiled.scan(step, start, joint)
    return _played(case, run, _end(case, run(), case.batch))


def _empty(case: Case) -> Prepared:
    """One environment's loop over an empty function with the arrays of a step as input and output."""
    import jax

    env = CoGridEnv(case.spec, "jax")
    start = modes.jax_start(case, env, lambda function: function)
    tape = [jax.device_put(joint) for joint in lanes(case)[:, 0]]
    _, *others = jax.eval_shape(env.jax_step, start, tape[0])

    def nothing(state: Any, joint: Any) -> Any:
        new = jax.tree.map(lambda leaf: leaf + joint[0].astype(leaf.dtype), state)
        return new, *jax.tree.map(lambda leaf: jax.numpy.full(leaf.shape, joint[0], leaf.dtype), others)

    ready = jax.jit(nothing).lower(start, tape[0]).compile()

    def run() -> Any:
        state, kept = start, []
        for joint in tape:
            state, obs, rewards, _, _ = ready(state, joint)
            kept.append(rewards)
        return state, obs, kept

    return _played(case, run)


def _vmapped(case: Case) -> tuple[Any, Any, Any]:
    import jax

    env = CoGridEnv(case.spec, "jax")
    start = modes.jax_start(case, env, jax.vmap)
    return jax.vmap(env.jax_step), start, jax.numpy.zeros(start.pos.shape, np.int8)


def _compile(case: Case) -> Prepared:
    from bench.peers import compiled

    return _prepared("s", compiled.compilation(clock, *_vmapped(case)))


def _counted(name: str, unit: str, case: Case) -> Prepared:
    from bench.peers import compiled

    return _prepared(unit, compiled.counter(name, *_vmapped(case)))


def _state_bytes(case: Case) -> Prepared:
    """Bytes of a state without its key."""
    ready = modes.ready(case)
    size = modes.bytes_per_environment(case, ready.end(ready.work.once()))["state_bytes"]
    return _prepared("B", lambda: {"value": size})


def _frames(case: Case) -> Prepared:
    """Pictures of the states of a tape; the tiles are drawn again in every pass."""
    env, states = CoGridEnv(case.spec), []
    env.reset(seed=case.seed)
    for joint in lanes(case)[:, 0].tolist():
        env.step(dict(enumerate(joint)))
        states.append(env.env_state)

    def run() -> Any:
        for state in states:
            image = picture(env.rules, state, TILE)
        return image

    return _prepared("frames/s", speed(clock, clock.Pass(run, tiles_of.cache_clear), len(states)))


def _memory(case: Case) -> Prepared:
    """The peak of a process that measures this case and nothing else."""
    from bench.measure.plan import Plan
    from bench.processes.case_worker import measured

    peak = measured(case, Plan(samples=1)).memory["peak_rss_bytes"]
    return _prepared("B", lambda: {"value": peak})


_WAYS: Mapping[str, Callable[[Case], Prepared]] = {
    "play": _play,
    "own tapes": _own_tapes,
    "drawn": _drawn,
    "staggered": functools.partial(_drawn, staggered=True),
    "adapter": _adapted,
    "learn": _learn,
    "modelled": _modelled,
    "modelled drawn": _modelled_drawn,
    "sharded": _sharded,
    "own tapes sharded": functools.partial(_sharded, tape=own_tapes),
    "empty": _empty,
    "compile": _compile,
    "equations": functools.partial(_counted, "equations", "equations"),
    "bytes": functools.partial(_counted, "bytes_accessed", "B"),
    "fusions": functools.partial(_counted, "fusions", "fusions"),
    "state bytes": _state_bytes,
    "frames": _frames,
    "memory": _memory,
}
