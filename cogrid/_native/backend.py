"""The native backend: NumPy for arrays that are known, and a record of the operations while one is made."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from cogrid._native import control
from cogrid._native.compiled import CompiledFunction
from cogrid._native.record import recording
from cogrid._native.traced import Traced, broadcast, cast, concatenate, narrow, taken, traced, where, written
from cogrid.backend._numpy import NumpyBackend
from cogrid.backend.array import narrow_index


class Namespace:
    """NumPy's functions; those that make arrays make traced ones while a record is made."""

    def __getattr__(self, name: str) -> Any:
        made = getattr(np, name)
        if name not in ("zeros", "ones", "arange", "array"):
            return made
        return lambda *args, **options: _staged(made(*args, **options))

    def asarray(self, value: Any, dtype: Any = None) -> Any:
        """The value as an array."""
        if isinstance(value, Traced):
            return value if dtype is None else value.astype(dtype)
        return _staged(np.asarray(value, dtype))

    def full(self, shape: Any, value: Any, dtype: Any = None) -> Any:
        """An array of one value."""
        if not isinstance(value, Traced):
            return _staged(np.full(shape, value, dtype))
        shape = shape if isinstance(shape, tuple) else (shape,)
        return broadcast(cast(value, narrow(dtype or value.dtype)), shape)


def _staged(array: Any) -> Any:
    return array if recording.get() is None else traced(array)


def _recorded(plain: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """A helper that calls `plain` unless a record is being made."""

    def decorate(helper: Callable[..., Any]) -> Any:
        @functools.wraps(helper)
        def chosen(self: Any, *values: Any, **options: Any) -> Any:
            return (plain if recording.get() is None else helper)(self, *values, **options)

        return chosen

    return decorate


class NativeBackend(NumpyBackend):
    """Array helpers for C: narrow integers, one environment, loops over agents and cells."""

    name = "native"
    xp: Any = Namespace()

    def index_dtype(self, size: int, negatives: bool = True) -> np.dtype[Any]:
        """The narrowest type, as on JAX."""
        return narrow_index(size, negatives)

    @_recorded(NumpyBackend.lookup)
    def lookup(self, table: Any, index: Any) -> Any:
        return taken(table, index, 0)

    lookup_bytes = lookup

    @_recorded(NumpyBackend.pick)
    def pick(self, array: Any, index: np.ndarray[Any, Any], axis: int = -1) -> Any:
        return taken(array, index, axis)

    @_recorded(NumpyBackend.lookup_at)
    def lookup_at(self, table: Any, array: Any, index: np.ndarray[Any, Any]) -> Any:
        return self.place(array, index, self.lookup(table, self.pick(array, index)))

    @_recorded(NumpyBackend.own_boards)
    def own_boards(self, board: Any, mine: Any, pos: Any, cells: int) -> Any:
        boards = broadcast(board[..., None, :], (*mine.shape, board.shape[-1]))
        return written(boards, pos[..., None], mine[..., None])[..., :cells]

    @_recorded(NumpyBackend.at)
    def at(self, grid: Any, index: Any) -> Any:
        return taken(grid, index, -1)

    @_recorded(NumpyBackend.put)
    def put(self, grid: Any, index: Any, value: Any) -> Any:
        return written(grid, index, value)

    @_recorded(NumpyBackend.put_where)
    def put_where(self, test: Any, grid: Any, index: Any, value: Any) -> Any:
        return written(grid, index, value, test)

    @_recorded(NumpyBackend.place)
    def place(self, array: Any, index: np.ndarray[Any, Any], value: Any) -> Any:
        return written(array, index.astype(np.int32), value) if index.size else traced(array)

    @_recorded(NumpyBackend.columns)
    def columns(self, parts: list[Any]) -> Any:
        return concatenate(parts, axis=-1)

    @_recorded(NumpyBackend.around)
    def around(self, board: Any, offsets: tuple[tuple[int, int], ...]) -> Any:
        height, width = board.shape[-2:]
        reach = max(max(abs(r), abs(c)) for r, c in offsets)
        wide = np.pad(board, [(0, 0)] * (board.ndim - 2) + [(reach, reach)] * 2)
        parts = (wide[..., reach + r : reach + r + height, reach + c : reach + c + width] for r, c in offsets)
        return functools.reduce(operator.add, parts)

    @_recorded(NumpyBackend.give_way)
    def give_way(self, test: Callable[[list[Any], list[Any]], Any], pos: Any, want: Any) -> Any:
        return where(self.any_other(test, pos, want), pos, want)

    @_recorded(NumpyBackend.are_apart)
    def are_apart(self, places: Any) -> bool:
        return False

    @_recorded(NumpyBackend.either)
    def either(self, test: Any, then: Any, otherwise: Any) -> Any:
        return where(test[..., None], then, otherwise)

    @_recorded(NumpyBackend.settle)
    def settle(self, change: Callable[[Any], Any], value: Any, passes: int) -> Any:
        if passes <= 3:
            return functools.reduce(lambda value, _: change(value), range(passes), value)
        return control.loop(passes, lambda _, value: change(value), value, settles=True)

    @_recorded(NumpyBackend.repeat)
    def repeat(self, times: int, change: Callable[[Any, Any], Any], value: Any) -> Any:
        return control.loop(times, change, value, settles=False)

    @_recorded(NumpyBackend.words)
    def words(self, key: Any) -> Any:
        if key.dtype != np.uint32 or key.shape[-1:] != (2,):
            raise TypeError("this is not a key.")  # NumPy says why
        return key

    def is_concrete(self, value: Any) -> bool:
        """A traced array has no values."""
        return not isinstance(value, Traced)

    @_recorded(NumpyBackend.when)
    def when(
        self, test: Any, then: Callable[[], Any], otherwise: Callable[[], Any], cheap: bool = False
    ) -> Any:
        return control.when(test, then, otherwise)

    def part(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A C function of its own."""

        @functools.wraps(function)
        def called(*values: Any) -> Any:
            return function(*values) if recording.get() is None else control.call(name, function, *values)

        return called

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """C, made and compiled when it is first called; the same object each time for the same function."""
        return function if isinstance(function, CompiledFunction) else _compiled(function)

    def offered(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Users have no compiler to call, so what they are given is compiled."""
        return self.compiled(function)


@functools.lru_cache(maxsize=256)
def _compiled(function: Callable[..., Any]) -> CompiledFunction:
    return CompiledFunction(function)
