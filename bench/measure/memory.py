"""Memory: the bytes of a case's states and observations, from their shapes, without running a step."""

from __future__ import annotations

from typing import Any

import numpy as np

from cogrid.benchmarks.case import Case
from cogrid.benchmarks.modes import bytes_per_environment, keys
from cogrid.cogrid_env import CoGridEnv

#: The last pass's end is still there while the next pass computes its own.
COPIES = 2


def per_environment(case: Case) -> dict[str, int]:
    """The state and the observations of one environment, as the result file has them."""
    one = Case(case.id, f"{case.backend}-single", options=case.options)
    env = CoGridEnv(one.spec, one.backend)
    start = _shaped(env, keys(one)) if one.backend == "jax" else env.reset_fn(keys(one))
    return bytes_per_environment(one, (*start, np.empty(0)))


def at_least(case: Case) -> int:
    """The bytes of the batch that a loop holds, besides the process and what it computes with."""
    return COPIES * case.batch * sum(per_environment(case).values())


def _shaped(env: CoGridEnv, words: Any) -> Any:
    """Empty arrays in the shapes of a reset on JAX, which is only traced."""
    import jax

    shapes = jax.eval_shape(env.jax_reset, env.rules.backend.key(words))[:2]
    return jax.tree.map(lambda shape: np.empty(shape.shape, shape.dtype), shapes)
