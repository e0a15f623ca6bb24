"""The JAX backend; of the engine and the families, only it, `_kernel.py` and `_scalars.py` import jax."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import operator
import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from cogrid.backend.array import as_array, lift, narrow_index

_IN_BOUNDS = lax.GatherScatterMode.PROMISE_IN_BOUNDS
#: Up to this many agents, a GPU uses one `where` per agent: to join columns, and to write cells.
_FEW_COLUMNS, _FEW_WRITES = 4, 2
#: Up to this many runs in a table, a GPU compares and adds instead of looking up.
_FEW_RUNS = 4
#: Up to this many bytes in total, a CPU gathers the rows directly.
_FEW_BYTES = 2048


class JaxBackend:
    """Array helpers on JAX: narrow integers, plain gathers, nothing on the host."""

    name = "jax"
    xp: Any = jnp

    def __init__(self) -> None:
        self._process: int | None = None  # the process in which an environment first ran

    def index_dtype(self, size: int, negatives: bool = True) -> np.dtype[Any]:
        """The narrowest type: the cost of a compiled step is the bytes that it moves."""
        return narrow_index(size, negatives)

    def lookup(self, table: Any, index: Any) -> Any:
        """One gather."""
        if len(table) > np.iinfo(index.dtype).max:  # the gather's own bound must fit the index type
            index = index.astype(np.int32)
        table = jnp.asarray(table)
        rows = tuple(range(index.ndim, index.ndim + table.ndim - 1))
        numbers = lax.GatherDimensionNumbers(rows, (0,), (0,))
        return lax.gather(table, index[..., None], numbers, (1, *table.shape[1:]), mode=_IN_BOUNDS)

    def pick(self, array: Any, index: np.ndarray[Any, Any], axis: int = -1) -> Any:
        """Fancy indexing, which XLA folds into what follows."""
        return array[(..., index, *[slice(None)] * (-1 - axis))]

    def lookup_at(self, table: Any, array: Any, index: np.ndarray[Any, Any]) -> Any:
        """On a CPU, a few entries are read and written back, at five times the cost per entry of a lookup."""
        if 5 * len(index) > array.shape[-1]:
            return self.lookup(table, array)

        def few(array: Any) -> Any:
            after = self.lookup(table, self.pick(array, index))
            return array.at[..., index].set(after, mode=_IN_BOUNDS, unique_indices=True)

        runs = _runs(table)

        def looked_up(array: Any) -> Any:
            return self.lookup(table, array)

        def raised(array: Any) -> Any:
            return _raised(runs, array)

        return _on_cpu_else(few, raised if len(runs) <= _FEW_RUNS else looked_up, array)

    def lookup_bytes(self, table: Any, index: Any) -> Any:
        """On a CPU, many rows are read in words; for a few rows XLA runs a plain gather without a thread."""

        def plain(index: Any) -> Any:
            return self.lookup(table, index)

        def one_word(index: Any) -> Any:
            words = np.ascontiguousarray(table).view("<u4")[:, 0]
            return lax.bitcast_convert_type(self.lookup(words, index), np.uint8)

        def read(index: Any) -> Any:
            size = index.size * table.shape[1]
            if not isinstance(size, int):  # a function is exported for any batch
                return plain(index)
            if table.shape[1] == np.dtype(np.uint32).itemsize:
                return _on_cpu_else(one_word, plain, index)
            if size <= _FEW_BYTES:
                return plain(index)
            return _on_cpu_else(functools.partial(_cut, table), plain, index)

        return self.at_once(read, index)

    def own_boards(self, board: Any, mine: Any, pos: Any, cells: int) -> Any:
        board = board[..., :cells] if board.shape[-1] > cells else board
        own = lift(np.arange(cells, dtype=pos.dtype), pos.ndim + 1) == pos[..., None]  # (*B, n, cells)
        return jnp.where(own, mine[..., None], board[..., None, :])

    def at(self, grid: Any, index: Any) -> Any:
        """Entries of the last axis."""
        return _over_batch(_take, grid.ndim)(grid, index)

    def put(self, grid: Any, index: Any, value: Any) -> Any:
        """A scatter; on a GPU, for few agents, one `where` per agent, which needs no kernel of its own."""
        write = _over_batch(_write, grid.ndim)
        return _on_cpu_else(write, _select if index.shape[-1] <= _FEW_WRITES else write, grid, index, value)

    def put_where(self, test: Any, grid: Any, index: Any, value: Any) -> Any:
        """A `where` over every cell, which XLA fuses with whatever reads the board next."""
        return _select(grid, index, value, test)

    def place(self, array: Any, index: np.ndarray[Any, Any], value: Any) -> Any:
        """One scatter on a CPU; elsewhere one `where` over every cell."""
        size = array.shape[-1]
        if not index.size:
            return array
        source = np.zeros(size, np.int32)
        source[index] = np.arange(len(index))
        changes = lift(np.isin(np.arange(size), index), array.ndim)

        def scatter(array: Any, value: Any) -> Any:
            places = jnp.broadcast_to(index.astype(np.int32), (*array.shape[:-1], len(index)))
            return _over_batch(_write, array.ndim)(array, places, value)

        def choose(array: Any, value: Any) -> Any:
            return jnp.where(changes, value if len(index) == 1 else self.pick(value, source), array)

        return _on_cpu_else(scatter, choose, array, value)

    def columns(self, parts: list[Any]) -> Any:
        """Concatenation; on a GPU that would be a kernel of its own, so few columns are joined by `where`."""

        def joined(*parts: Any) -> Any:
            return jnp.concatenate(parts, axis=-1)

        def chosen(*parts: Any) -> Any:
            numbers = lift(np.arange(len(parts)), parts[0].ndim)
            return functools.reduce(
                lambda whole, i: jnp.where(numbers == i, parts[i], whole), range(1, len(parts)), parts[0]
            )

        return _on_cpu_else(joined, chosen if len(parts) <= _FEW_COLUMNS else joined, *parts)

    def apart(self, *values: Any) -> tuple[Any, ...]:
        """On a GPU, one kernel packs the values into 32-bit words, which all other kernels read.

        A loop can then overwrite the values in place; otherwise it would copy each in a kernel of its own.
        """
        kept: tuple[Any, ...] = _on_cpu_else(lambda *same: same, _through_words, *values)
        return kept

    def around(self, board: Any, offsets: tuple[tuple[int, int], ...]) -> Any:
        """Slices of a board with a margin of zeros, which XLA adds in one pass."""
        height, width = board.shape[-2:]
        reach = max(max(abs(r), abs(c)) for r, c in offsets)
        wide = jnp.pad(board, [(0, 0)] * (board.ndim - 2) + [(reach, reach)] * 2)
        parts = (wide[..., reach + r : reach + r + height, reach + c : reach + c + width] for r, c in offsets)
        return functools.reduce(operator.add, parts)

    def any_other(self, test: Callable[[list[Any], list[Any]], Any], *values: Any) -> Any:
        """Each agent in turn against all: XLA vectorises that, but not the reduction of a table of pairs."""
        numbers = lift(np.arange(values[0].shape[-1]), values[0].ndim)
        found = (
            test(list(values), [value[..., i : i + 1] for value in values]) & (numbers != i)
            for i in range(numbers.size)
        )
        return functools.reduce(operator.or_, found)

    def give_way(self, test: Callable[[list[Any], list[Any]], Any], pos: Any, want: Any) -> Any:
        return jnp.where(self.any_other(test, pos, want), pos, want)

    def are_apart(self, places: Any) -> bool:
        """False: values are unknown while a step is traced."""
        return False

    def either(self, test: Any, then: Any, otherwise: Any) -> Any:
        return jnp.where(test[..., None], then, otherwise)

    def who(self, places: Any, pos: Any) -> Any:
        """Each agent in turn, from the last, as in `any_other`."""
        n = pos.shape[-1]
        found = jnp.full(places.shape, n, np.int8)
        for i in reversed(range(n)):
            found = jnp.where(places == pos[..., i, None, None], np.int8(i), found)
        return found

    def least(self, values: Any, empty: int) -> Any:
        """Along the last axis."""
        return values.min(axis=-1, initial=empty)

    def settle(self, change: Callable[[Any], Any], value: Any, passes: int) -> Any:
        """A few passes are unrolled; more become a loop that stops when nothing changes.

        A GPU would have to synchronise with the host to check for changes, so it makes all passes.
        """
        if passes <= 3:
            for _ in range(passes):
                value = change(value)
            return value

        def go_on(pair: tuple[Any, Any]) -> Any:
            return jnp.any(pair[0] != pair[1])

        def until_settled(value: Any) -> Any:
            return lax.while_loop(go_on, lambda pair: (pair[1], change(pair[1])), (value, change(value)))[1]

        def all_passes(value: Any) -> Any:
            return lax.fori_loop(0, passes, lambda _, value: change(value), value, unroll=True)

        return _on_cpu_else(until_settled, all_passes, value)

    def repeat(self, times: int, change: Callable[[Any, Any], Any], value: Any) -> Any:
        """An XLA loop."""
        return lax.fori_loop(0, times, change, value)

    def words(self, key: Any) -> Any:
        """Accepts typed threefry keys and legacy uint32 pairs."""
        if isinstance(key, jax.Array) and jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
            if str(jax.random.key_impl(key)) != "threefry2x32":
                raise TypeError(
                    f"a key of type {jax.random.key_impl(key)!s} was given, but cogrid uses threefry2x32: "
                    "make the key with jax.random.key(seed, impl='threefry2x32')."
                )
            return jax.random.key_data(key)
        words = as_array("the key", key) if self.is_concrete(key) else jnp.asarray(key)
        if words.dtype != np.uint32 or words.ndim == 0 or words.shape[-1] != 2:
            raise TypeError(
                f"an array of {words.dtype} with shape {words.shape} is not a key: "
                f"make one with jax.random.key(seed) or cogrid.backend.rng.key(seed)."
            )
        return jnp.asarray(words)

    def key(self, words: Any) -> Any:
        """A typed key."""
        return jax.random.wrap_key_data(words, impl="threefry2x32")

    def is_concrete(self, value: Any) -> bool:
        """A tracer has no value yet."""
        return not isinstance(value, jax.core.Tracer)

    def when(
        self, test: Any, then: Callable[[], Any], otherwise: Callable[[], Any], cheap: bool = False
    ) -> Any:
        """Only one of the two runs; a GPU would have to synchronise to choose, so it runs a cheap `then`."""
        if cheap:
            return _on_cpu_else(lambda: lax.cond(test, then, otherwise), then)
        return lax.cond(test, then, otherwise)

    def at_once(self, function: Callable[..., Any], *values: Any) -> Any:
        """Under `vmap`, a `cond` would become a `select` and both of its branches would run."""
        alone = jax.custom_batching.custom_vmap(function)

        @alone.def_vmap
        def many(size: int, batched: list[Any], *values: Any) -> tuple[Any, Any]:
            def full(value: Any, is_batched: bool) -> Any:
                return value if is_batched else jnp.broadcast_to(value, (size, *value.shape))

            result = alone(*jax.tree.map(full, values, tuple(batched)))
            return result, jax.tree.map(lambda _: True, result)

        return alone(*values)

    def part(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """XLA fuses across parts."""
        return function

    def offered(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Users compile it themselves, with `jax.jit`, together with what they add."""
        return function

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same compiled object each time for the same function."""
        return _compiled(function)

    def register(self, state_type: type) -> None:
        """Make the state class a pytree, once."""
        _register(state_type)

    def check_process(self) -> None:
        """A forked process lacks the threads that JAX started in its parent."""
        if self._process is None:
            self._process = os.getpid()
        if self._process != (here := os.getpid()):
            raise RuntimeError(
                f"JAX runs in process {self._process}, and would hang in its fork {here}: "
                "start processes with multiprocessing.get_context('spawn'), or use backend='numpy'."
            )


def _cut(table: Any, index: Any) -> Any:
    """Rows of a byte table, (*index, bytes), in a form that XLA's CPU compiler turns into a few wide copies.

    A gather of bytes is one load and one store per byte. Here every byte of the result gathers the word that
    it lies in and shifts it, by an amount that is known once the loop over a row is unrolled: then LLVM sees
    that neighbouring bytes are parts of the same word, and copies up to 16 of them at once. The row numbers
    are added to the shifts, without any effect, because XLA would hoist a constant out of the loop, where
    LLVM does not see it. With a power of two as the number of rows, the bounds check disappears.
    """
    (rows, length), size = table.shape, np.dtype(np.uint32).itemsize
    most = 1 << (rows - 1).bit_length()
    wide = np.pad(table, ((0, most - rows), (0, -length % size)))
    words = jnp.asarray(np.ascontiguousarray(wide).view("<u4"))
    unsigned = index.astype(np.uint8 if most <= 256 else np.uint32)
    if most != 256:
        unsigned = unsigned & unsigned.dtype.type(most - 1)
    each = jnp.broadcast_to(unsigned[..., None, None], (*index.shape, size, 1))
    numbers = lax.GatherDimensionNumbers((index.ndim,), (0,), (0,))
    found = lax.gather(words, each, numbers, (1, words.shape[1]), mode=_IN_BOUNDS)  # (*index, words, size)
    which = lax.broadcasted_iota(np.uint32, found.shape, index.ndim + 1)
    which = (which + unsigned.astype(np.uint32)[..., None, None] * np.uint32(size)) % np.uint32(size)
    bytes_ = (found >> (which * np.uint32(8))).astype(np.uint8).reshape(*index.shape, wide.shape[1])
    return bytes_[..., :length]


def _on_cpu_else(here: Callable[..., Any], elsewhere: Callable[..., Any], *values: Any) -> Any:
    """One of two ways to compute the same result, chosen by the target platform.

    A CPU is fast if little memory is touched. A GPU starts a kernel for each scatter, loop and slice update,
    and computes for free what it can fuse with its neighbours.
    """
    return lax.platform_dependent(*values, cpu=here, default=elsewhere)


@functools.lru_cache(maxsize=256)
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    compiled: Callable[..., Any] = jax.jit(function)
    return compiled


@functools.cache
def _register(state_type: type) -> None:
    fields = dataclasses.fields(state_type)
    static = [f.name for f in fields if f.metadata.get("static")]
    data = [f.name for f in fields if not f.metadata.get("static")]
    jax.tree_util.register_dataclass(state_type, data_fields=data, meta_fields=static)


def _take(grid: Any, index: Any) -> Any:
    if len(grid) > np.iinfo(index.dtype).max:
        index = index.astype(np.int32)
    numbers = lax.GatherDimensionNumbers((), (0,), (0,))
    return lax.gather(grid, index[..., None], numbers, (1,), mode=_IN_BOUNDS)


def _write(grid: Any, index: Any, value: Any) -> Any:
    if len(grid) > np.iinfo(index.dtype).max:
        index = index.astype(np.int32)
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    return lax.scatter(grid, index[..., None], value, numbers, mode=_IN_BOUNDS)


def _select(grid: Any, index: Any, value: Any, test: Any = None) -> Any:
    """Writes in turn, each as a `where` over every cell."""
    every = lift(np.arange(grid.shape[-1], dtype=index.dtype), grid.ndim)
    for i in range(index.shape[-1]):
        here = every == index[..., i : i + 1]
        here = here if test is None else here & test[..., i : i + 1]
        grid = jnp.where(here, value[..., i : i + 1], grid)
    return grid


def _through_words(*values: Any) -> tuple[Any, ...]:
    words: list[Any] = []
    places, used = [], 32
    for value in values:
        bits = 8 * value.dtype.itemsize
        if used + bits > 32:
            words.append(np.uint32(0))
            used = 0
        unsigned = lax.bitcast_convert_type(value, np.dtype(f"u{bits // 8}")).astype(np.uint32)
        words[-1] = words[-1] | unsigned << np.uint32(used)
        places.append((len(words) - 1, np.uint32(used), bits))
        used += bits
    words = lax.optimization_barrier(words)
    return tuple(
        lax.bitcast_convert_type((words[i] >> first).astype(f"u{bits // 8}"), value.dtype)
        for value, (i, first, bits) in zip(values, places, strict=True)
    )


def _runs(table: np.ndarray[Any, Any]) -> list[tuple[int, int, int]]:
    """The runs in which a table adds the same non-zero number to its index: first, last, number added."""
    added = table.astype(np.int64) - np.arange(len(table))
    ends = [0, *(np.flatnonzero(np.diff(added)) + 1).tolist(), len(added)]
    runs = [(first, end - 1, int(added[first])) for first, end in itertools.pairwise(ends)]
    return [run for run in runs if run[2]]


def _raised(runs: list[tuple[int, int, int]], array: Any) -> Any:
    """The lookup as comparisons: XLA can do these in place, but not a lookup in a table."""
    kind, result = array.dtype.type, array
    for first, last, added in runs:
        inside = (array >= kind(first)) & (array <= kind(last))
        result = jnp.where(inside, array + kind(added), result)
    return result


def _over_batch(function: Callable[..., Any], ndim: int) -> Callable[..., Any]:
    for _ in range(ndim - 1):
        function = jax.vmap(function)
    return function
