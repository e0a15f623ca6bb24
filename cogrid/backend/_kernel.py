"""One kernel: steps that a GPU plays one after the other in one Pallas kernel, the state in registers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as pltriton

from cogrid.backend._scalars import Entries, Read, Unsupported, entries, evaluate, vector

#: Environments of one program: a warp, so that few environments spread over many cores.
BLOCK = 32
#: Numbers of one environment that are held in registers, of which a thread has 255. With twice as many Triton
#: compiles for minutes.
MOST = 64


def repeat(function: Callable[[Any], Any], carry: Any, length: int, interpret: bool) -> Any:
    """`carry = function(carry)`, `length` times, in one kernel; interpreted, it runs on a CPU.

    The function sees one environment, the carry has a leading axis of them. Triton knows vectors whose
    length is a power of two, and neither slices nor gathers them. So the function is traced and computed
    entry by entry: a cell, or a number of an agent, is a vector over a block of environments.
    """
    leaves, tree = jax.tree.flatten(carry)
    size = len(leaves[0])
    shapes = [jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype) for leaf in leaves]
    counts = [math.prod(shape.shape) for shape in shapes]
    if sum(counts) > MOST:
        raise ValueError(
            f"a state of {sum(counts)} numbers is too large for one kernel, which holds {MOST}: "
            "leave out one_kernel=True."
        )
    traced = jax.make_jaxpr(lambda *own: jax.tree.leaves(function(tree.unflatten(own))))(*shapes)

    def once(read: Read, vectors: Iterator[Any]) -> tuple[Any, ...]:
        given = [entries(vectors, shape.shape) for shape in shapes]
        after = evaluate(traced.jaxpr, traced.consts, given, read)
        return tuple(vector(entry, (BLOCK,)) for value in after for entry in value.flat)

    tables = _tables(once, shapes, counts)

    def kernel(*refs: Any) -> None:
        read_only = dict(zip(tables, refs, strict=False))
        before, after = refs[len(tables) : -len(leaves)], refs[-len(leaves) :]
        envs = pl.program_id(0) * BLOCK + jnp.arange(BLOCK, dtype=np.int32)
        mask = envs < size

        def read(table: Entries, place: Any) -> Any:
            return pltriton.load(read_only[_key(table)].at[place])

        def places(refs: tuple[Any, ...], envs: Any) -> Iterator[Any]:
            for ref, count in zip(refs, counts, strict=True):
                yield from (ref.at[envs * count + i] for i in range(count))

        # Beyond the last environment, that one is played again and not stored.
        state = tuple(map(pltriton.load, places(before, jnp.minimum(envs, size - 1))))
        state = lax.fori_loop(0, length, lambda _, state: once(read, iter(state)), state)
        for value, place in zip(state, places(after, envs), strict=True):
            pltriton.store(place, value, mask=mask)

    results = pl.pallas_call(
        kernel,
        grid=(pl.cdiv(size, BLOCK),),
        out_shape=[jax.ShapeDtypeStruct((leaf.size,), leaf.dtype) for leaf in leaves],
        # Every program reads all of its environments before it writes them.
        input_output_aliases={len(tables) + i: i for i in range(len(leaves))},
        interpret=interpret,
        compiler_params=None if interpret else pltriton.CompilerParams(num_warps=1, num_stages=1),
        name="cogrid_steps",
    )(*map(jnp.asarray, tables.values()), *(leaf.reshape(-1) for leaf in leaves))
    return tree.unflatten(result.reshape(leaf.shape) for result, leaf in zip(results, leaves, strict=True))


def _tables(once: Callable[..., Any], shapes: list[Any], counts: list[int]) -> dict[Any, Entries]:
    """The tables that a step reads at places which only the kernel knows: it must be given all of them."""
    found: dict[Any, Entries] = {}

    def note(table: Entries, place: Any) -> Any:
        found[_key(table)] = table
        return jnp.zeros(place.shape, table.dtype)

    vectors = [
        jax.ShapeDtypeStruct((BLOCK,), shape.dtype)
        for shape, count in zip(shapes, counts, strict=True)
        for _ in range(count)
    ]
    try:
        jax.eval_shape(lambda *vectors: once(note, iter(vectors)), *vectors)
    except Unsupported as error:
        raise ValueError(
            f"one kernel cannot play these rules, which need JAX's {error}: leave out one_kernel=True."
        ) from None
    return found


def _key(table: Entries) -> tuple[str, bytes]:
    return table.dtype.str, table.tobytes()
