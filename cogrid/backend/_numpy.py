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
        """Takes half the time of `take` for scalars, and a third of the time of indexing for rows."""
        return table[index] if table.ndim == 1 else table.take(index, axis=0)

    def pick(self, array: Any, index: np.ndarray[Any, Any], axis: int = -1) -> Any:
        """Takes a quarter of the time of fancy indexing on small arrays."""
        return array.take(index, axis=axis)

    def lookup_at(self, table: Any, array: Any, index: np.ndarray[Any, Any]) -> Any:
        """For a single environment, one call looks up all; for a batch, a few entries take a third less."""
        if array.ndim == 1:
            return table[array]
        out = array.copy()
        out[..., index] = table[array.take(index, axis=-1)]
        return out

    def lookup_bytes(self, table: Any, index: Any) -> Any:
        """NumPy copies a row at once."""
        return table.take(index, axis=0)

    def own_boards(self, board: Any, mine: Any, pos: Any, cells: int) -> Any:
        """Writes into a copy of the board per agent, in a sixth of the time of `where`."""
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
        out = grid.copy()
        if grid.ndim == 1:
            out[index] = value
        else:
            out.reshape(-1)[_flat(grid, index)] = value
        return out

    def put_where(self, test: Any, grid: Any, index: Any, value: Any) -> Any:
        """Writes only where `test` is true."""
        out = grid.copy()
        flat = index if grid.ndim == 1 else _flat(grid, index)
        out.reshape(-1)[flat[test]] = value[test]
        return out

    def place(self, array: Any, index: np.ndarray[Any, Any], value: Any) -> Any:
        out = array.copy()
        out[..., index] = value
        return out

    def columns(self, parts: list[Any]) -> Any:
        """One after the other."""
        return np.concatenate(parts, axis=-1)

    def apart(self, *values: Any) -> tuple[Any, ...]:
        """The values as they are."""
        return values

    def around(self, board: Any, offsets: tuple[tuple[int, int], ...]) -> Any:
        """Adds, for every offset, the part of the shifted board that stays inside."""
        out, (height, width) = np.empty_like(board), board.shape[-2:]
        out.fill(0)
        for r, c in offsets:
            target = (slice(max(0, -r), height - max(0, r)), slice(max(0, -c), width - max(0, c)))
            source = (slice(max(0, r), height - max(0, -r)), slice(max(0, c), width - max(0, -c)))
            if abs(r) < height and abs(c) < width:
                out[(..., *target)] += board[(..., *source)]
        return out

    def any_other(self, test: Callable[[list[Any], list[Any]], Any], *values: Any) -> Any:
        """All pairs in one table; with two agents, the other one's values are the reversed array."""
        n = values[0].shape[-1]
        if n == 2:
            return test(list(values), [value[..., ::-1] for value in values])
        pairs = test([value[..., :, None] for value in values], [value[..., None, :] for value in values])
        return np.logical_or.reduce(pairs & _others(n), axis=-1)

    def give_way(self, test: Callable[[list[Any], list[Any]], Any], pos: Any, want: Any) -> Any:
        """For a single pair, compares plain numbers, in a tenth of the time; both stop or neither."""
        if want.shape == (2,):
            (mine, theirs), (my_want, their_want) = pos.tolist(), want.tolist()
            return pos.copy() if test([mine, my_want], [theirs, their_want]) else want
        return np.where(self.any_other(test, pos, want), pos, want)

    def are_apart(self, places: Any) -> bool:
        """Checked for a single environment; in a batch of thousands, some would be equal anyway."""
        return places.ndim == 1 and len(set(places.tolist())) == len(places)

    def either(self, test: Any, then: Any, otherwise: Any) -> Any:
        """For a single environment, a plain `if`."""
        if test.ndim:
            return np.where(test[..., None], then, otherwise)
        out = then.copy()
        if not test:
            out[...] = otherwise
        return out

    def who(self, places: Any, pos: Any) -> Any:
        """All pairs in one table."""
        n = pos.shape[-1]
        stands = places[..., None] == pos[..., None, None, :]  # (*B, k, C, n)
        return np.where(stands, _numbers(n), np.int8(n)).min(axis=-1)

    def least(self, values: Any, empty: int) -> Any:
        """The bare ufunc; `ndarray.min` goes through two more Python calls."""
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
            raise TypeError(
                f"a {type(key).__name__} is not a key: make one with cogrid.backend.rng.key(seed)."
            ) from None
        if words.dtype != np.uint32 or words.ndim == 0 or words.shape[-1] != 2:
            raise TypeError(
                f"an array of {words.dtype} with shape {words.shape} is not a key: "
                "make its two uint32 words with cogrid.backend.rng.key(seed)."
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
        """A plain `if`."""
        return then() if test else otherwise()

    def at_once(self, function: Callable[..., Any], *values: Any) -> Any:
        """NumPy has no `vmap`."""
        return function(*values)

    def part(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function as it is, so parts cost nothing."""
        return function

    def offered(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function as it is."""
        return function

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """NumPy has nothing to compile."""
        return function

    def register(self, state_type: type) -> None:
        """Nothing to do on NumPy."""

    def check_process(self) -> None:
        """NumPy starts no threads that a fork would lack."""


@functools.cache
def _others(n: int) -> np.ndarray[Any, Any]:
    """(n, n) True off the diagonal."""
    return ~np.eye(n, dtype=bool)


@functools.cache
def _numbers(n: int) -> np.ndarray[Any, Any]:
    """(n,) the numbers of the agents."""
    return np.arange(n, dtype=np.int8)


@functools.cache
def _begins(n: int, size: int) -> np.ndarray[Any, Any]:
    """(n,) the offset of each of n rows of this size."""
    return np.arange(0, n * size, size)


def _flat(grid: Any, index: Any) -> Any:
    """Indices into the flattened grid, including the offset of each batch element."""
    cells = grid.shape[-1]
    offset = np.arange(0, grid.size, cells).reshape(*grid.shape[:-1], 1)  # (*B, 1)
    return offset + index
