"""The programs: a step, a scan of steps, the same with automatic reset, and rollouts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from cogrid._scale.placement import Placement
from cogrid.backend import rng
from cogrid.benchmarks.case import Case
from cogrid.cogrid_env import CoGridEnv


class Program(NamedTuple):
    """A function, what makes its arguments, and which axis of each is environments (None for none)."""

    function: Any
    arguments: Callable[[], tuple[Any, ...]]
    batch_axes: tuple[int | None, ...]
    static: tuple[Any, ...] = ()


def program(name: str, case: Case, devices: list[Any]) -> Program:
    """A program for these devices, with the environments divided among them."""
    return PROGRAMS[name](case, CoGridEnv(case.spec, "jax"), _place(case, devices))


def lowered(program: Program, case: Case, devices: list[Any]) -> Any:
    """The program, lowered for these devices without making its arguments."""
    import jax

    place = _place(case, devices)
    placed = [
        _placed(argument, place.everywhere() if axis is None else place.spread(axis))
        for argument, axis in zip(jax.eval_shape(program.arguments), program.batch_axes, strict=True)
    ]
    function = program.function if hasattr(program.function, "lower") else jax.jit(program.function)
    return function.lower(*placed, *program.static)


def _place(case: Case, devices: list[Any]) -> Placement:
    import jax

    return Placement(jax.sharding.Mesh(np.array(devices), ("envs",)), case.batch)


def _placed(tree: Any, sharding: Any) -> Any:
    import jax

    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding), tree)


def _start(case: Case, env: CoGridEnv) -> Any:
    import jax.numpy as jnp

    return env.reset_fn(rng.split_words(jnp, jnp.asarray(rng.key(case.seed)), case.batch))[0]


def _actions(case: Case, *leading: int) -> Any:
    """Random actions of a whole batch, for each of the leading axes."""
    import jax

    shape = (*leading, case.batch, case.spec.num_agents)
    return jax.random.randint(jax.random.key(case.seed), shape, 0, len(case.spec.actions), np.int8)


def _step(case: Case, env: CoGridEnv, place: Placement) -> Program:
    return Program(env.step_fn, lambda: (_start(case, env), _actions(case)), (0, 0))


def _scan(case: Case, env: CoGridEnv, place: Placement, renews: bool = False) -> Program:
    """Steps with given actions; the observation is carried, so that it is written at every step."""
    import jax
    import jax.numpy as jnp

    def play(start: Any, actions: Any) -> Any:
        obs, rewards = jax.eval_shape(env.step_fn, start, actions[0])[1:3]

        def one(carry: Any, joint: Any) -> tuple[Any, None]:
            state, _, total = carry
            state, seen, rewards, done, _ = env.step_fn(state, joint)
            if renews:
                state, seen = env.renew_fn(state, seen, done)
            return (state, seen, total + rewards), None

        empty = (jnp.zeros(obs.shape, obs.dtype), jnp.zeros(rewards.shape, rewards.dtype))
        return jax.lax.scan(one, (start, *empty), actions)[0]

    return Program(play, lambda: (_start(case, env), _actions(case, case.steps)), (0, 1))


def _rollout(
    case: Case, env: CoGridEnv, place: Placement, keep: str = "sums", one_kernel: bool = False
) -> Program:
    """A chunk of `cogrid.rollout` with its random policy, which ignores observations."""
    from cogrid._scale.rollout import compiled

    ready = compiled(env.rules, None, place, keep, one_kernel)
    return Program(ready.run, lambda: (ready.begin(rng.key(case.seed)), ()), (0, None), (case.steps,))


PROGRAMS: Mapping[str, Callable[[Case, CoGridEnv, Placement], Program]] = MappingProxyType(
    {
        "step": _step,
        "scan": _scan,
        "renew": functools.partial(_scan, renews=True),
        "rollout": _rollout,
        # The same, writing all observations, actions and rewards.
        "trajectory": functools.partial(_rollout, keep="trajectory"),
        # All steps in one kernel, without what is seen on the way.
        "kernel": functools.partial(_rollout, one_kernel=True),
    }
)
