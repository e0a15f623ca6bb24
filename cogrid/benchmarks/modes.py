"""Modes: the five ways to run an environment, each prepared for timing and checked against NumPy."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from cogrid._core.compile.spec import Spec
from cogrid._io.messages import several
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.clock import Pass
from cogrid.benchmarks.workloads import LANES, checksum, meeting_most, spread, start_keys, tape
from cogrid.cogrid_env import CoGridEnv

CHECKED = 1024  # environments whose final states are compared: the first and last ones of a large batch
WATCHED = 256  # steps that are compared one by one: enough for scripted cooks to use every verb

End = tuple[EnvState, Array, Array]  # the last state, its observation, and the sum of all rewards
Path = dict[str, Array]  # obs, rewards and done of every watched step, (steps, lanes, …)


class Mismatch(AssertionError):
    """Two runs of the same actions ended differently."""


class Ready(NamedTuple):
    """A pass to time, how to read its end, and a recording of its step in games that use every verb."""

    work: Pass  # its `run` returns what `end` takes
    end: Callable[[Any], End]
    path: Callable[[], Path]
    traced: Any = None  # JAX: the stages of the compiled code, for the counters
    compiled: Any = None


def ready(case: Case) -> Ready:
    """Prepare everything that is not part of the measured work: environments, inputs, compiled code."""
    return _PREPARE[case.mode](case, CoGridEnv(case.spec, case.backend))


def check(case: Case, ready: Ready, end: End) -> str:
    """The checksum of the run; raises a Mismatch if a watched step or the end differs from NumPy's."""
    last = _last(case.spec, case.workload, case.steps, case.lanes, case.seed)
    played = ready.path()
    for name, value in _reference(
        case.spec, _watched_steps(case), _watched_lanes(case), case.seed
    ).path.items():
        if (differs := np.argwhere(played[name] != value)).size:
            step, lane = differs[0][:2]
            when = f"after {several(int(step) + 1, 'step')}"
            raise Mismatch(f"{name!r} of environment {lane} differs from NumPy's {when}.")
    ends = _end(end, single=case.mode.endswith("single"))
    half = CHECKED // 2
    chosen = np.unique(np.r_[: min(half, case.batch), max(0, case.batch - half) : case.batch])
    for name, value in last.items():
        found = np.asarray(ends[name][chosen])
        if (differs := np.argwhere(found != value[chosen % case.lanes])).size:
            place = chosen[differs[0][0]]
            raise Mismatch(f"{name!r} of environment {place} differs from NumPy's after the timed pass.")
    return checksum({**played, **{f"last {name}": value[: case.lanes] for name, value in ends.items()}})


def _end(end: End, single: bool) -> dict[str, Array]:
    state, obs, rewards = end
    found = {**state.plain(), "obs": obs, "rewards": rewards}
    return {name: value[None] for name, value in found.items()} if single else found


def bytes_per_environment(case: Case, end: End) -> dict[str, int]:
    """The bytes of a state without its key, and of the observations of all its agents."""
    state, obs, _ = end
    fields = (getattr(state, f.name) for f in dataclasses.fields(state) if f.name not in ("rules", "words"))
    stored = sum(value.nbytes for value in fields if value is not None)
    return {"state_bytes": stored // case.batch, "observation_bytes": obs.nbytes // case.batch}


@functools.lru_cache(maxsize=4)
def _last(spec: Spec, workload: str, steps: int, lanes: int, seed: int) -> dict[str, Array]:
    env = CoGridEnv(spec)
    state, _ = env.reset_fn(start_keys(seed, lanes))
    return _end(_added(_play(env.step_fn, state, tape(spec, workload, steps, lanes, seed))), single=False)


class _Reference(NamedTuple):
    path: Path
    verbs: dict[str, int]


@functools.lru_cache(maxsize=4)
def _reference(spec: Spec, steps: int, lanes: int, seed: int) -> _Reference:
    env = CoGridEnv(spec, infos=True)
    names, counts = env.rules.verbs, np.zeros(len(env.rules.verbs), int)

    def step(state: EnvState, joint: Array) -> Any:
        *outcome, infos = env.step_fn(state, joint)
        np.add.at(counts, np.asarray(infos["verb"]), 1)
        return *outcome, infos

    state, _ = env.reset_fn(start_keys(seed, lanes))
    path = _watched(step, state, tape(spec, meeting_most(spec), steps, lanes, seed), lambda value: value)
    return _Reference(path, dict(zip(names[1:], counts[1:].tolist(), strict=True)))


def _watched_lanes(case: Case) -> int:
    return LANES if case.mode.endswith("single") else case.lanes  # one plays all tapes, one after the other


def _watched_steps(case: Case) -> int:
    """In a game without verbs, the steps of a pass are enough."""
    return WATCHED if len(CoGridEnv(case.spec).rules.verbs) > 1 else case.steps


def verbs_met(case: Case) -> dict[str, int]:
    """How often each verb of the game happened in the steps that are compared one by one."""
    return _reference(case.spec, _watched_steps(case), _watched_lanes(case), case.seed).verbs


def _watch_tape(case: Case) -> Array:
    lanes = tape(case.spec, meeting_most(case.spec), _watched_steps(case), _watched_lanes(case), case.seed)
    return lanes if case.mode.endswith("single") else spread(lanes, case.batch, axis=1)


def _watched(step: Callable[..., Any], state: EnvState, actions: Any, lanes: Callable[[Any], Any]) -> Path:
    kept: dict[str, list[Any]] = {"obs": [], "rewards": [], "done": []}
    for joint in actions:
        state, *outcome, _ = step(state, joint)
        for values, value in zip(kept.values(), outcome, strict=True):
            values.append(np.asarray(lanes(value)))
    return {name: np.stack(values) for name, values in kept.items()}


def _play(step: Callable[..., Any], state: EnvState, actions: Any) -> tuple[EnvState, Array, list[Array]]:
    """A Python loop over the steps; the rewards are kept and added up later, untimed."""
    kept = []
    for joint in actions:
        state, obs, rewards, _, _ = step(state, joint)
        kept.append(rewards)
    return state, obs, kept


def _added(output: tuple[EnvState, Array, list[Array]]) -> End:
    state, obs, kept = output
    return state, obs, np.sum(np.asarray(kept, np.float32), axis=0)


def _one_by_one(case: Case, game: Callable[[int, Array], Path]) -> Path:
    tapes = _watch_tape(case)  # (steps, lanes, n)
    games = [game(lane, tapes[:, lane]) for lane in range(LANES)]
    return {name: np.concatenate([one[name] for one in games], axis=1) for name in games[0]}


def _one(value: Any) -> Any:
    return np.asarray(value)[None]


def _tape(case: Case) -> Array:
    lanes = tape(case.spec, case.workload, case.steps, case.lanes, case.seed)  # (steps, lanes, n)
    return lanes[:, 0] if case.mode.endswith("single") else spread(lanes, case.batch, axis=1)


def keys(case: Case) -> Array:
    """(batch, 2) of the starts, or (2,) for one environment."""
    lanes = start_keys(case.seed, case.lanes)
    return lanes[0] if case.mode.endswith("single") else spread(lanes, case.batch)


def _numpy_single(case: Case, env: CoGridEnv) -> Ready:
    """Through `env.step`, as a user of PettingZoo's API calls it."""
    start, n = env.reset_fn(keys(case))[0], env.spec.num_agents
    joint = [dict(enumerate(actions.tolist())) for actions in _tape(case)]

    def pure(state: EnvState, actions: dict[int, int]) -> Any:
        """The step for when agents have ended and left the adapter."""
        return env.step_fn(state, np.array(list(actions.values())))

    def run() -> Any:
        kept = []
        for actions in joint:
            if len(env.agents) < n:
                break
            kept.append(env.step(actions)[1])
        state = env.env_state
        for actions in joint[len(kept) :]:
            state, _, rewards, _, _ = pure(state, actions)
            kept.append(dict(enumerate(rewards)))
        return state, kept

    def end(output: Any) -> End:
        state, kept = output
        total = np.sum([list(rewards.values()) for rewards in kept], axis=0, dtype=np.float32)
        return state, env.observe(state), total

    def step(state: EnvState, actions: dict[int, int]) -> tuple[Any, ...]:
        if len(env.agents) < n:
            return tuple(pure(state, actions))
        obs, rewards, _, _, _ = env.step(actions)
        seen, points = np.stack(list(obs.values())), np.array(list(rewards.values()), np.float32)
        return env.env_state, seen, points, env.env_state.done, {}

    def game(lane: int, actions: Array) -> Path:
        first = env.reset_fn(start_keys(case.seed, LANES)[lane])[0]
        env.set_state(first)
        return _watched(step, first, [dict(enumerate(both.tolist())) for both in actions], _one)

    path = functools.partial(_one_by_one, case, game)
    return Ready(Pass(run, functools.partial(env.set_state, start)), end, path)


def _numpy_batch(case: Case, env: CoGridEnv) -> Ready:
    start, actions = env.reset_fn(keys(case))[0], list(_tape(case))

    def path() -> Path:
        first = env.reset_fn(start_keys(case.seed, case.lanes))[0]
        return _watched(env.step_fn, first, _watch_tape(case)[:, : case.lanes], lambda value: value)

    return Ready(Pass(lambda: _play(env.step_fn, start, actions)), _added, path)


def _jax_single(case: Case, env: CoGridEnv) -> Ready:
    return _jax_loop(case, env, lambda function: function)


def _jax_vmap(case: Case, env: CoGridEnv) -> Ready:
    import jax

    return _jax_loop(case, env, jax.vmap)


def _jax_loop(case: Case, env: CoGridEnv, over: Callable[[Any], Any]) -> Ready:
    """A Python loop over a compiled step; all actions are already on the device."""
    import jax

    begin = _jax_begin(env, over)
    start = begin(keys(case))
    actions = [jax.device_put(joint) for joint in _tape(case)]
    traced = jax.jit(over(env.jax_step)).trace(start, actions[0])
    compiled = traced.lower().compile()

    def game(lane: int, actions: Array) -> Path:
        return _watched(compiled, begin(start_keys(case.seed, LANES)[lane]), actions, _one)

    def batch() -> Path:
        return _watched(compiled, start, _watch_tape(case), lambda value: value[: case.lanes])

    path = functools.partial(_one_by_one, case, game) if case.mode == "jax-single" else batch
    return Ready(Pass(lambda: _play(compiled, start, actions)), _added, path, traced, compiled)


def _jax_scan(case: Case, env: CoGridEnv) -> Ready:
    import jax
    import jax.numpy as jnp

    step = jax.vmap(env.jax_step)
    start, actions = jax_start(case, env, jax.vmap), jax.device_put(_tape(case))

    def one(carry: End, joint: Array) -> tuple[End, None]:
        state, _, total = carry
        state, obs, rewards, _, _ = step(state, joint)
        # The observation is carried, so that it is written at every step, as a policy would need.
        return (state, obs, total + rewards), None

    def play(start: EnvState, actions: Array) -> End:
        obs, rewards = jax.eval_shape(step, start, actions[0])[1:3]
        empty = (jnp.zeros(obs.shape, obs.dtype), jnp.zeros(rewards.shape, rewards.dtype))
        end: End = jax.lax.scan(one, (start, *empty), actions)[0]
        return end

    def path() -> Path:
        def one(state: EnvState, joint: Array) -> tuple[EnvState, Path]:
            state, obs, rewards, done, _ = step(state, joint)
            return state, {"obs": obs, "rewards": rewards, "done": done}

        first = jax.tree.map(lambda value: value[: case.lanes], start)
        watched = jax.device_put(_watch_tape(case)[:, : case.lanes])
        kept = jax.jit(lambda *inputs: jax.lax.scan(one, *inputs)[1])(first, watched)
        return {name: np.asarray(value) for name, value in kept.items()}

    traced = jax.jit(play).trace(start, actions)
    compiled = traced.lower().compile()
    return Ready(Pass(lambda: compiled(start, actions)), lambda end: end, path, traced, compiled)


def jax_start(case: Case, env: CoGridEnv, over: Callable[[Any], Any]) -> EnvState:
    """The state in which every pass of a JAX mode starts."""
    return _jax_begin(env, over)(keys(case))


def _jax_begin(env: CoGridEnv, over: Callable[[Any], Any]) -> Callable[[Array], EnvState]:
    import jax

    # The first observation is not an output: at a million environments it is most of the memory.
    begin = jax.jit(over(lambda key: env.jax_reset(key)[0]))
    return lambda words: begin(env.rules.backend.key(jax.device_put(words)))


_PREPARE: Mapping[str, Callable[[Case, CoGridEnv], Ready]] = MappingProxyType(
    {
        "numpy-single": _numpy_single,
        "numpy-batch": _numpy_batch,
        "jax-single": _jax_single,
        "jax-vmap": _jax_vmap,
        "jax-scan": _jax_scan,
    }
)
