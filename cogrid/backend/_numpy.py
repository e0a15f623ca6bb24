"""The NumPy backend: one environment or thousands in a call, without JAX."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np


class NumpyBackend:
    """Array helpers on NumPy: the cheapest call for small arrays, where the call is most of the cost."""

    name = "numpy"
    xp: Any = np

    def index_dtype(self, size: int, negatives: bool = True) -> np.dtype[Any]:
        """Always `intp`: NumPy converts any other index to it first, which costs more than the bytes."""
        return np.dtype(np.intp)

    def lookup(self, table: Any, index: Any) -> Any:
        """Half of the time of `take` for numbers; a third of the time of indexing for rows."""
        return table[index] if table.ndim == 1 else table.take(index, axis=0)

    def pick(self, array: Any, index: np.ndarray[Any, Any], axis: int = -1) -> Any:
        """A fourth of the time of fancy indexing, for small arrays."""
        return array.take(index, axis=axis)

    def lookup_at(self, table: Any, array: Any, index: np.ndarray[Any, Any]) -> Any:
        """All of a single array is one call; of a batch a third of the time is saved."""
        if array.ndim == 1:
            return table[array]
        out = array.copy()
        out[..., index] = table[array.take(index, axis=-1)]
        return out

    def lookup_bytes(self, table: Any, index: Any) -> Any:
        """NumPy copies a row at once."""
        return table.take(index, axis=0)

    def own_boards(self, board: Any, mine: Any, pos: Any, cells: int) -> Any:
        """A board for each agent, written into: a sixth of the time of a choice."""
        n, spots = mine.shape[-1], board.shape[-1]
        index = board[..., None, :].repeat(n, axis=-2)  # (*B, n, spots)
        alone = board.ndim == 1
        first = _begins(n, spots) if alone else np.arange(0, index.size, spots).reshape(mine.shape)
        index.reshape(-1)[first + pos] = mine
        return index if spots == cells else index[..., :cells]

    def at(self, grid: Any, index: Any) -> Any:
        """Entries of the last axis."""
        if grid.ndim == 1:
            return grid[index]
        return grid.take(_flat(grid, index))

    def put(self, grid: Any, index: Any, value: Any) -> Any:
        """A written copy."""
        out = grid.copy()
        if grid.ndim == 1:
            out[index] = value
        else:
            out.reshape(-1)[_flat(grid, index)] = value
        return out

    def put_where(self, test: Any, grid: Any, index: Any, value: Any) -> Any:
        """Only what is true is written."""
        out = grid.copy()
        flat = index if grid.ndim == 1 else _flat(grid, index)
        out.reshape(-1)[flat[test]] = value[test]
        return out

    def place(self, array: Any, index: np.ndarray[Any, Any], value: Any) -> Any:
        """A written copy."""
        out = array.copy()
        out[..., index] = value
        return out

    def columns(self, parts: list[Any]) -> Any:
        """One after the other."""
        return np.concatenate(parts, axis=-1)

    def apart(self, *values: Any) -> tuple[Any, ...]:
        """NumPy's arrays are."""
        return values

    def around(self, board: Any, offsets: tuple[tuple[int, int], ...]) -> Any:
        """Every offset adds the part of the board that it leaves inside."""
        out, (height, width) = np.empty_like(board), board.shape[-2:]
        out.fill(0)
        for r, c in offsets:
            here = (slice(max(0, -r), height - max(0, r)), slice(max(0, -c), width - max(0, c)))
            there = (slice(max(0, r), height - max(0, -r)), slice(max(0, c), width - max(0, -c)))
            if abs(r) < height and abs(c) < width:
                out[(..., *here)] += board[(..., *there)]
        return out

    def any_other(self, test: Callable[[list[Any], list[Any]], Any], *values: Any) -> Any:
        """All pairs in one table; of two, the other one is found in the array that is read backwards."""
        n = values[0].shape[-1]
        if n == 2:
            return test(list(values), [value[..., ::-1] for value in values])
        pairs = test([value[..., :, None] for value in values], [value[..., None, :] for value in values])
        return np.logical_or.reduce(pairs & _others(n), axis=-1)

    def give_way(self, test: Callable[[list[Any], list[Any]], Any], pos: Any, want: Any) -> Any:
        """Of a single pair plain numbers are compared, in a tenth of the time; both stop or none."""
        if want.shape == (2,):
            (mine, theirs), (my_want, their_want) = pos.tolist(), want.tolist()
            return pos if test([mine, my_want], [theirs, their_want]) else want
        return np.where(self.any_other(test, pos, want), pos, want)

    def are_apart(self, places: Any) -> bool:
        """Looked at for a single environment; among thousands some are equal."""
        return places.ndim == 1 and len(set(places.tolist())) == len(places)

    def either(self, test: Any, then: Any, otherwise: Any) -> Any:
        """For a single environment a plain choice."""
        if test.ndim:
            return np.where(test[..., None], then, otherwise)
        out = then.copy()
        if not test:
            out[...] = otherwise
        return out

    def who(self, places: Any, pos: Any) -> Any:
        """All pairs in one table."""
        n = pos.shape[-1]
        there = places[..., None] == pos[..., None, None, :]  # (*B, k, C, n)
        return np.where(there, _numbers(n), np.int8(n)).min(axis=-1)

    def least(self, values: Any, empty: int) -> Any:
        """The bare ufunc; the method of the same name wraps it twice."""
        return np.minimum.reduce(values, axis=-1, initial=empty)

    def settle(self, change: Callable[[Any], Any], value: Any, passes: int) -> Any:
        """Stop as soon as a pass changes nothing; the last one needs no check."""
        for left in range(passes, 0, -1):
            changed = change(value)
            if left > 1 and np.array_equal(changed, value):
                break
            value = changed
        return value

    def repeat(self, times: int, change: Callable[[Any, Any], Any], value: Any) -> Any:
        """A plain loop."""
        for number in range(times):
            value = change(number, value)
        return value

    def words(self, key: Any) -> Any:
        """NumPy keys are their words."""
        try:
            words = np.asarray(key)
        except ValueError:  # ragged
            raise TypeError(f"a key is two uint32 words, not a {type(key).__name__}.") from None
        if words.dtype != np.uint32 or words.ndim == 0 or words.shape[-1] != 2:
            raise TypeError(
                f"a key is two uint32 words as made by cogrid.backend.rng.key(seed), "
                f"not an array of {words.dtype} with shape {words.shape}."
            )
        return words

    def key(self, words: Any) -> Any:
        """NumPy keys are their words."""
        return words

    def is_concrete(self, value: Any) -> bool:
        """NumPy values always are."""
        return True

    def when(
        self, test: Any, then: Callable[[], Any], otherwise: Callable[[], Any], cheap: bool = False
    ) -> Any:
        """A plain choice."""
        return then() if test else otherwise()

    def at_once(self, function: Callable[..., Any], *values: Any) -> Any:
        """NumPy has no `vmap`."""
        return function(*values)

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """NumPy has nothing to compile."""
        return function

    def register(self, state_type: type) -> None:
        """NumPy needs to know nothing."""

    def check_process(self) -> None:
        """NumPy has no threads of its own that a fork would miss."""


@functools.cache
def _others(n: int) -> np.ndarray[Any, Any]:
    """(n, n) who is another one."""
    return ~np.eye(n, dtype=bool)


@functools.cache
def _numbers(n: int) -> np.ndarray[Any, Any]:
    """(n,) the numbers of the agents."""
    return np.arange(n, dtype=np.int8)


@functools.cache
def _begins(n: int, size: int) -> np.ndarray[Any, Any]:
    """(n,) where each of n rows of a size begins."""
    return np.arange(0, n * size, size)


def _flat(grid: Any, index: Any) -> Any:
    """Indices into the flattened grid; the offset of each batch element is added."""
    cells = grid.shape[-1]
    offset = np.arange(0, grid.size, cells).reshape(*grid.shape[:-1], 1)  # (*B, 1)
    return offset + index
