"""The speed of a loop of a peer on a GPU: compiled for one, not run."""

from __future__ import annotations

import jax

from bench.measure.gpu.compiling import compiled
from bench.measure.gpu.counting import seconds
from bench.measure.gpu.targets import Target, devices, installed
from bench.peers.compiled import PlayLoop, Sampler

GPU = "a100"  # the one that is compiled for


def modelled(loop: PlayLoop, steps: int) -> Sampler:
    """Modelled steps per second of a loop that makes so many steps."""
    target = Target(installed(), GPU)
    place = jax.sharding.SingleDeviceSharding(devices(target)[0])
    start, inputs = jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=place), (loop.start, loop.inputs)
    )
    program = compiled(jax.jit(loop.play).lower(start, inputs))
    speed = steps / seconds(program, target.facts)
    return lambda: {"value": speed}
