"""cogrid's own side of every comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bench.rivals.protocol import Job, Prepared, Sample, speed
from bench.worker import row_of
from cogrid.backend.array import Array
from cogrid.benchmarks import clock, modes
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.counters import counters, equations
from cogrid.benchmarks.measures import Plan
from cogrid.benchmarks.workloads import spread, tape
from cogrid.cogrid_env import CoGridEnv
from cogrid.envs.overcooked.game import Kitchen
from cogrid.render.picture import TILE, picture
from cogrid.render.tiles import tiles_of

NAME = "cogrid"
N_ACTIONS = 7
COUNTER_PLANE = 11  # JaxMARL's counter vanishes under what lies on it; the other planes are compared


def case_of(parameters: Mapping[str, Any]) -> Case:
    """A case that came as JSON, where a tuple of layouts became a list."""
    options = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in parameters["options"].items()
    }
    return Case.of({**parameters, "options": options})


def lanes(case: Case) -> Array:
    """(steps, lanes, agents) the tape of a case."""
    return tape(case.spec, case.workload, case.steps, case.lanes, case.seed)


def actions(case: Case) -> Array:
    """(steps, batch, agents) the tape, spread over the batch."""
    return spread(lanes(case), case.batch, axis=1)


def own_tapes(case: Case) -> Array:
    """(steps, batch, agents) random actions, others for every environment.

    A processor learns a tape that many environments repeat: C then guesses all branches and is three times
    as fast as it ever is in use.
    """
    shape = (case.steps, case.batch, case.spec.num_agents)
    return np.random.default_rng(case.seed).integers(N_ACTIONS, size=shape, dtype=np.int8)


def witness(positions: Any, facings: Any, rewards: Any, planes: Any = None) -> dict[str, Any]:
    """How the lanes ended: cells and facings of the agents, the team's reward, the planes by their weight."""
    end = {
        "positions": np.asarray(positions).tolist(),  # (lanes, agents)
        "facings": np.asarray(facings).tolist(),
        "rewards": np.asarray(rewards, float).tolist(),  # (lanes,)
    }
    if planes is not None:  # (lanes, agents, height, width, 26)
        seen = np.array(planes, np.int64)
        seen[..., COUNTER_PLANE] = 0
        flat = seen.reshape(len(seen), -1)
        end["planes"] = (flat * np.arange(1, flat.shape[1] + 1)).sum(axis=1).tolist()
    return end


def counter(name: str, function: Any, *arguments: Any) -> Callable[[], Sample]:
    """A number of the compiled function, the same each time."""
    count = counters(function, *arguments)[name]
    return lambda: {"value": count}


def prepare(job: Job) -> Prepared:
    """What the job asks for."""
    return _WAYS[job["how"]](case_of(job["case"]))


def _play(case: Case) -> Prepared:
    """The tape, as `bench run` plays it, compared with NumPy before."""
    prepared = modes.ready(case)
    end = prepared.end(prepared.work.once())
    modes.check(case, prepared, end)
    sample = speed(clock, prepared.work, case.steps * case.batch)
    return Prepared(NAME, "steps/s", sample, _witness(case.lanes, case, end))


def _witness(count: int, case: Case, end: modes.End) -> dict[str, Any]:
    """Of the first environments."""
    state, obs, rewards = end
    found = [state.pos, state.agent_dir, rewards[..., 0]]
    found += [obs] if case.spec.observation == "lossless" and isinstance(case.spec.game, Kitchen) else []
    if case.mode.endswith("single"):
        found = [value[None] for value in found]
    return witness(*(np.asarray(value[:count]) for value in found))


def _drawn(case: Case, staggered: bool = False) -> Prepared:
    """Random actions drawn inside of the scan, and finished episodes begin anew."""
    import jax

    from bench.rivals import compiled
    from cogrid.core.autoreset import renew

    env = CoGridEnv(case.spec, "jax")
    start = modes.jax_start(case, env, jax.vmap)
    if staggered:
        start = start.evolve(clock=jax.numpy.arange(case.batch, dtype=np.int32) % case.spec.max_steps)

    def one(carry: Any, _: Any) -> Any:
        state, key = carry
        key, _, joint = compiled.drawn(key, case.batch, case.spec.num_agents)
        state, obs, rewards, done, _ = env.step_fn(state, joint)
        state, obs = renew(env.rules, state, obs, done)
        return (state, key), obs, rewards

    ticks = jax.numpy.arange(case.steps)
    run = compiled.scan(one, (start, jax.random.key(case.seed)), ticks, ticks[0])
    return Prepared(NAME, "steps/s", speed(clock, clock.Pass(run), case.steps * case.batch))


def _staggered(case: Case) -> Prepared:
    """The same with episodes that end at all times, and not together."""
    return _drawn(case, staggered=True)


def _own_tapes(case: Case) -> Prepared:
    """A scan in which every environment plays a tape of its own."""
    import jax

    env = CoGridEnv(case.spec, "jax")
    return _scanned(case, env, modes.jax_start(case, env, jax.vmap), jax.device_put(own_tapes(case)))


def _sharded(case: Case) -> Prepared:
    """The tape, the batch divided among all devices."""
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    devices = jax.devices()
    if len(devices) < 2:
        raise ValueError(f"there is one device only: {devices[0]}.")
    env = CoGridEnv(case.spec, "jax")
    mesh = Mesh(np.array(devices), ("batch",))
    start = jax.device_put(modes.jax_start(case, env, jax.vmap), NamedSharding(mesh, PartitionSpec("batch")))
    joint = jax.device_put(actions(case), NamedSharding(mesh, PartitionSpec(None, "batch")))
    return _scanned(case, env, start, joint)


def _scanned(case: Case, env: CoGridEnv, start: Any, joint: Array) -> Prepared:
    """Any tape from any start; its end is for the other side to compare."""
    import jax

    from bench.rivals import compiled

    def one(state: Any, joint: Any) -> Any:
        state, obs, rewards, _, _ = jax.vmap(env.jax_step)(state, joint)
        return state, obs, rewards

    run = compiled.scan(one, start, joint, jax.eval_shape(lambda tape: tape[0], joint))
    sample = speed(clock, clock.Pass(run), case.steps * case.batch)
    return Prepared(NAME, "steps/s", sample, _witness(case.batch, case, run()))


def _empty(case: Case) -> Prepared:
    """One environment's loop over a function with the arrays of a step in and out, and no step."""
    import jax

    env = CoGridEnv(case.spec, "jax")
    start = modes.jax_start(case, env, lambda function: function)
    tape = [jax.device_put(joint) for joint in lanes(case)[:, 0]]
    _, *others = jax.eval_shape(env.jax_step, start, tape[0])

    def nothing(state: Any, joint: Any) -> Any:
        new = jax.tree.map(lambda leaf: leaf + joint[0].astype(leaf.dtype), state)
        return new, *jax.tree.map(lambda leaf: jax.numpy.full(leaf.shape, joint[0], leaf.dtype), others)

    compiled = jax.jit(nothing).lower(start, tape[0]).compile()

    def run() -> Any:
        state, kept = start, []
        for joint in tape:
            state, obs, rewards, _, _ = compiled(state, joint)
            kept.append(rewards)
        return state, obs, kept

    return Prepared(NAME, "steps/s", speed(clock, clock.Pass(run), case.steps))


def _vmapped(case: Case) -> tuple[Any, Any, Any]:
    """The vmapped step and arguments for it."""
    import jax

    env = CoGridEnv(case.spec, "jax")
    start = modes.jax_start(case, env, jax.vmap)
    return jax.vmap(env.jax_step), start, jax.numpy.zeros(start.pos.shape, np.int8)


def _compile(case: Case) -> Prepared:
    """Seconds until the vmapped step is compiled."""
    from bench.rivals import compiled

    return Prepared(NAME, "s", compiled.compilation(clock, *_vmapped(case)))


def _equations(case: Case) -> Prepared:
    """Equations of the vmapped step."""
    import jax

    step, *arguments = _vmapped(case)
    count = equations(jax.jit(step).trace(*arguments).jaxpr)
    return Prepared(NAME, "equations", lambda: {"value": count})


def _bytes(case: Case) -> Prepared:
    """Bytes that the compiled vmapped step reads and writes."""
    return Prepared(NAME, "B", counter("bytes_accessed", *_vmapped(case)))


def _fusions(case: Case) -> Prepared:
    """Fusions of the compiled vmapped step."""
    return Prepared(NAME, "fusions", counter("fusions", *_vmapped(case)))


def _state_bytes(case: Case) -> Prepared:
    """Bytes of a state without its key."""
    prepared = modes.ready(case)
    size = modes.bytes_per_environment(case, prepared.end(prepared.work.once()))["state_bytes"]
    return Prepared(NAME, "B", lambda: {"value": size})


def _frames(case: Case) -> Prepared:
    """Pictures of the states of a tape, the tiles drawn anew in every pass."""
    env, states = CoGridEnv(case.spec), []
    env.reset(seed=case.seed)
    for joint in lanes(case)[:, 0].tolist():
        env.step(dict(enumerate(joint)))
        states.append(env.env_state)

    def run() -> Any:
        for state in states:
            image = picture(env.rules, state, TILE)
        return image

    sample = speed(clock, clock.Pass(run, tiles_of.cache_clear), len(states))
    return Prepared(NAME, "frames/s", sample)


def _memory(case: Case) -> Prepared:
    """The peak of a process that measures this case and nothing else."""
    row = row_of(case, Plan(samples=1))
    if row["error"]:
        raise {"out of memory": MemoryError, "mismatch": modes.Mismatch}.get(row["status"], RuntimeError)(
            row["error"]
        )
    return Prepared(NAME, "B", lambda: {"value": row["memory"]["peak_rss_bytes"]})


_WAYS: Mapping[str, Callable[[Case], Prepared]] = {
    "play": _play,
    "own tapes": _own_tapes,
    "drawn": _drawn,
    "staggered": _staggered,
    "sharded": _sharded,
    "empty": _empty,
    "compile": _compile,
    "equations": _equations,
    "bytes": _bytes,
    "fusions": _fusions,
    "state bytes": _state_bytes,
    "frames": _frames,
    "memory": _memory,
}
