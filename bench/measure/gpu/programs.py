"""The programs that are compiled: a step, a scan of steps, the same with automatic reset, a rollout."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from cogrid.benchmarks.case import Case
from cogrid.cogrid_env import CoGridEnv
from cogrid.placement import Placement


class Shaped(NamedTuple):
    """A function, the shapes of its arguments, and which axis of each is environments (None: none is)."""

    function: Any
    arguments: tuple[Any, ...]
    batch_axes: tuple[int | None, ...]
    static: tuple[Any, ...] = ()


def lowered(program: str, case: Case, devices: list[Any]) -> Any:
    """A program, lowered for these devices, the environments divided among them."""
    import jax

    place = Placement(jax.sharding.Mesh(np.array(devices), ("envs",)), case.batch)
    shaped = PROGRAMS[program](case, CoGridEnv(case.spec, "jax"), place)
    placed = [
        _placed(argument, place.everywhere() if axis is None else place.spread(axis))
        for argument, axis in zip(shaped.arguments, shaped.batch_axes, strict=True)
    ]
    function = shaped.function if hasattr(shaped.function, "lower") else jax.jit(shaped.function)
    return function.lower(*placed, *shaped.static)


def _placed(tree: Any, sharding: Any) -> Any:
    import jax

    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding), tree)


def _start(case: Case, env: CoGridEnv) -> Any:
    import jax

    words = jax.ShapeDtypeStruct((case.batch, 2), np.uint32)
    return jax.eval_shape(lambda words: env.reset_fn(words)[0], words)


def _actions(case: Case, *leading: int) -> Any:
    import jax

    return jax.ShapeDtypeStruct((*leading, case.batch, case.spec.num_agents), np.int8)


def _step(case: Case, env: CoGridEnv, place: Placement) -> Shaped:
    return Shaped(env.step_fn, (_start(case, env), _actions(case)), (0, 0))


def _scan(case: Case, env: CoGridEnv, place: Placement, renews: bool = False) -> Shaped:
    """Steps whose actions are given; what is seen is carried, so that it is written out at every step."""
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

    return Shaped(play, (_start(case, env), _actions(case, case.steps)), (0, 1))


def _renew(case: Case, env: CoGridEnv, place: Placement) -> Shaped:
    return _scan(case, env, place, renews=True)


def _rollout(case: Case, env: CoGridEnv, place: Placement) -> Shaped:
    """A chunk of `cogrid.rollout` with its random policy."""
    import jax

    from cogrid.rollout import compiled

    program = compiled(env.rules, None, place, "sums")
    carry = jax.eval_shape(program.begin, jax.ShapeDtypeStruct((2,), np.uint32))
    return Shaped(program.run, (carry, ()), (0, None), (case.steps,))


PROGRAMS: Mapping[str, Callable[[Case, CoGridEnv, Placement], Shaped]] = MappingProxyType(
    {"step": _step, "scan": _scan, "renew": _renew, "rollout": _rollout}
)
