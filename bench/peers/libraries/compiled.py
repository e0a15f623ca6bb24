"""What the sides on JAX share: compiled loops over steps, fresh compilations, actions drawn from a key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

N_DRAWN = 6  # actions: JaxMARL has so many

One = Callable[[Any, Any], tuple[Any, Any, Any]]


def scan(one: One, state: Any, inputs: Any, example: Any) -> Callable[[], Any]:
    """Play `one(state, input) -> (state, seen, reward)` over all inputs, compiled ahead of time.

    What is seen is carried, so that it is written out at every step; rewards are added up.
    """

    def play(state: Any, inputs: Any) -> Any:
        _, seen, reward = jax.eval_shape(one, state, example)
        empty = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), (seen, reward))

        def body(carry: Any, given: Any) -> tuple[Any, None]:
            state, _, total = carry
            state, seen, reward = one(state, given)
            return (state, seen, total + reward), None

        return jax.lax.scan(body, (state, *empty), inputs)[0]

    ready = jax.jit(play).lower(state, inputs).compile()
    return lambda: ready(state, inputs)


def drawn(key: Any, batch: int, agents: int) -> tuple[Any, Any, Any]:
    """The next key, one for the step, and random actions (batch, agents)."""
    key, for_step, for_actions = jax.random.split(key, 3)
    return key, for_step, jax.random.randint(for_actions, (batch, agents), 0, N_DRAWN)


def compilation(clock: Any, function: Any, *arguments: Any) -> Callable[[], dict[str, float]]:
    """Seconds of tracing, lowering and compiling the function anew."""
    jax.config.update("jax_enable_compilation_cache", False)

    def sample() -> dict[str, float]:
        jax.clear_caches()
        seconds, _ = clock.timed(lambda: jax.jit(function).trace(*arguments).lower().compile())
        return {"value": seconds}

    sample()  # the first one of a process also starts the compiler
    return sample
