"""What the peers on JAX share: compiled loops over steps.

Imports nothing of cogrid and nothing but JAX and NumPy, because it also runs in the Python of cogrid 0.3.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from bench.measure.counters import counters

N_DRAWN = 6  # actions: JaxMARL has so many

StepFunction = Callable[[Any, Any], tuple[Any, Any, Any]]
DrawnStep = Callable[[Any, Any, Any], tuple[Any, Any, Any]]
Sampler = Callable[[], dict[str, float]]


class PlayLoop(NamedTuple):
    """A function of a start and of inputs, which has not been compiled yet."""

    play: Callable[[Any, Any], Any]
    start: Any
    inputs: Any


def scan(step: StepFunction, start: Any, inputs: Any) -> Callable[[], Any]:
    """Play `step(state, input) -> (state, seen, reward)` over all inputs, compiled ahead of time."""
    return _ready(loop(step, start, inputs))


def scan_drawn(
    step: DrawnStep, start: Any, steps: int, shape: tuple[int, int], seed: int
) -> Callable[[], Any]:
    """Play `step(state, key, actions) -> (state, seen, reward)` with random actions of this shape."""
    return _ready(loop_drawn(step, start, steps, shape, seed))


def _ready(loop: PlayLoop) -> Callable[[], Any]:
    start, inputs = jax.device_put((loop.start, loop.inputs))  # off the clock
    ready = jax.jit(loop.play).lower(start, inputs).compile()
    return lambda: ready(start, inputs)


def loop(step: StepFunction, start: Any, inputs: Any) -> PlayLoop:
    """The observation is carried, so that it is written at every step; rewards are added up."""

    def play(state: Any, inputs: Any) -> Any:
        _, seen, reward = jax.eval_shape(lambda state, inputs: step(state, inputs[0]), state, inputs)
        empty = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), (seen, reward))

        def body(carry: Any, inputs_now: Any) -> tuple[Any, None]:
            state, _, total = carry
            state, seen, reward = step(state, inputs_now)
            return (state, seen, total + reward), None

        return jax.lax.scan(body, (state, *empty), inputs)[0]

    return PlayLoop(play, start, inputs)


def loop_drawn(step: DrawnStep, start: Any, steps: int, shape: tuple[int, int], seed: int) -> PlayLoop:
    def drawn(carry: Any, _: Any) -> Any:
        state, key = carry
        key, for_step, for_actions = jax.random.split(key, 3)
        actions = jax.random.randint(for_actions, shape, 0, N_DRAWN)
        state, seen, reward = step(state, for_step, actions)
        return (state, key), seen, reward

    return loop(drawn, (start, jax.random.key(seed)), jnp.arange(steps))


def compilation(clock: Any, function: Any, *arguments: Any) -> Sampler:
    """Seconds of tracing, lowering and compiling the function from scratch."""
    jax.config.update("jax_enable_compilation_cache", False)

    def sample() -> dict[str, float]:
        jax.clear_caches()
        seconds, _ = clock.timed(lambda: jax.jit(function).trace(*arguments).lower().compile())
        return {"value": seconds}

    sample()  # the first one of a process also starts the compiler
    return sample


def counter(name: str, function: Any, *arguments: Any) -> Sampler:
    count = counters(function, *arguments)[name]
    return lambda: {"value": count}
