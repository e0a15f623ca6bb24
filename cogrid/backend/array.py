"""The backend interface: an array namespace and the few helpers in which backends differ."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol, cast

import numpy as np

from cogrid._io import installed
from cogrid._io.messages import brief, is_choice
from cogrid.backend.backends import BACKENDS

#: A NumPy or a JAX array.
Array = Any
Offsets = tuple[tuple[int, int], ...]
PairTest = Callable[[list[Array], list[Array]], Array]


class Backend(Protocol):
    """An array library; each environment holds its own backend, there is no global switch."""

    name: str
    xp: Any

    def index_dtype(self, size: int, negatives: bool = True) -> np.dtype[Any]:
        """The integer type for numbers in 0 … size − 1, and for their negatives if needed."""

    def lookup(self, table: Array, index: Array) -> Array:
        """`table[index]` over the first axis of a constant table; the index must be in range."""

    def pick(self, array: Array, index: np.ndarray[Any, Any], axis: int = -1) -> Array:
        """Entries of an axis at a constant index, the same for the whole batch."""

    def lookup_at(self, table: Array, array: Array, index: np.ndarray[Any, Any]) -> Array:
        """`table[array]`, which may change only the entries at a constant `index` of the last axis.

        The array is of a signed type that can hold the number of rows of the table.
        """

    def lookup_bytes(self, table: Array, index: Array) -> Array:
        """`lookup` in a table of bytes, (rows, bytes)."""

    def own_boards(self, board: Array, mine: Array, pos: Array, cells: int) -> Array:
        """The board as each of n agents sees it: `mine` where it stands, the shared board elsewhere.

        (*B, spots) board, (*B, n) mine and pos -> (*B, n, cells), the first `cells` spots.
        """

    def at(self, grid: Array, index: Array) -> Array:
        """`grid[..., index]` per batch element: (*B, C), (*B, k) -> (*B, k)."""

    def put(self, grid: Array, index: Array, value: Array) -> Array:
        """A copy of the grid with `value` written at `index`; equal indices must carry equal values."""

    def put_where(self, test: Array, grid: Array, index: Array, value: Array) -> Array:
        """`put` where `test` is true, each (*B, k); of equal indices, the last one wins."""

    def place(self, array: Array, index: np.ndarray[Any, Any], value: Array) -> Array:
        """A copy with `value` (*B, k) written at a constant `index` (k,) without repeats."""

    def columns(self, parts: list[Array]) -> Array:
        """(*B, n) from n arrays of (*B, 1)."""

    def apart(self, *values: Array) -> tuple[Array, ...]:
        """The same values, all of one shape; on a GPU, in memory of their own."""

    def around(self, board: Array, offsets: Offsets) -> Array:
        """(*B, H, W) the sum of the cells at constant (row, column) offsets; 0 outside of the board."""

    def any_other(self, test: PairTest, *values: Array) -> Array:
        """(*B, n) whether `test(mine, theirs)` is true for each of n agents and any other agent.

        `mine` and `theirs` are lists of the values, in shapes that broadcast against each other.
        """

    def give_way(self, test: PairTest, pos: Array, want: Array) -> Array:
        """(*B, n) `want`, but `pos` for each agent for which `test` is true with any other agent.

        `mine` and `theirs` are [pos, want]; the test must be symmetric.
        """

    def are_apart(self, places: Array) -> bool:
        """Whether the places (*B, n) are known, now, to be distinct within each environment."""

    def either(self, test: Array, then: Array, otherwise: Array) -> Array:
        """(*B, n) float32, chosen by one bool (*B,) per environment; `otherwise` may be (*B, 1)."""

    def who(self, places: Array, pos: Array) -> Array:
        """(*B, k, C), (*B, n) -> (*B, k, C) int8 the first agent in each place; n if there is none."""

    def least(self, values: Array, empty: int) -> Array:
        """The minimum along the last axis; `empty` where it has no entries."""

    def settle(self, change: Callable[[Array], Array], value: Array, passes: int) -> Array:
        """Apply `change` until a fixed point; `passes` is a proven upper bound."""

    def repeat(self, times: int, change: Callable[[Any, Any], Any], value: Any) -> Any:
        """Apply `change(number, value)` for the numbers 0 … times − 1; compiled once for all of them."""

    def words(self, key: Array) -> Array:
        """The two uint32 words of a key, (*B, 2)."""

    def key(self, words: Array) -> Array:
        """The key made of two uint32 words, in the backend's own form."""

    def is_concrete(self, value: Array) -> bool:
        """Whether the value is known now, so not traced."""

    def when(
        self, test: Array, then: Callable[[], Any], otherwise: Callable[[], Any], cheap: bool = False
    ) -> Any:
        """The result of one of two functions, chosen by a single bool.

        `cheap` promises that `then` costs little and, if the test is false, returns what `otherwise` does.
        """

    def at_once(self, function: Callable[..., Any], *values: Any) -> Any:
        """`function(*values)` for trees with leading axes; under `vmap`, one call for the whole batch."""

    def part(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of trees that is a part of a larger one, such as a phase of the step.

        A backend may compile it apart, under this name; all arrays that it reads are among its arguments.
        """

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, compiled once per shape if the backend compiles.

        Its arrays have the leading axes of its states or its key, except `pool` and a `board` for all keys.
        """

    def offered(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function as users get it: compiled if they have no way to compile it themselves."""

    def register(self, state_type: type) -> None:
        """Register a state class with the backend."""

    def check_process(self) -> None:
        """Raise a RuntimeError in a forked process where the backend would hang."""


def narrow_index(size: int, negatives: bool) -> np.dtype[Any]:
    """The narrowest integer type for `index_dtype`."""
    types = (np.int8, np.int16, np.int32) if negatives else (np.uint8, np.uint16, np.uint32)
    return np.dtype(next(one for one in types if size - 1 <= np.iinfo(one).max))


def lift(constant: np.ndarray[Any, Any], ndim: int) -> np.ndarray[Any, Any]:
    """The constant with leading axes of length one: combined with a batch, it needs no rank promotion."""
    if constant.ndim == ndim:
        return constant
    return constant.reshape((1,) * (ndim - constant.ndim) + constant.shape)


def everywhere(xp: Any, values: np.ndarray[Any, Any], board: Array) -> Array:
    """(*B, k) one constant k times, for every environment of the board."""
    batch = board.shape[:-1]
    return xp.full((*batch, len(values)), values[0], board.dtype) if batch else values


def as_array(name: str, value: Any) -> Array:
    """NumPy and JAX arrays unchanged; anything else, such as a tensor, converted by NumPy."""
    if isinstance(getattr(value, "dtype", None), np.dtype):
        return value
    try:
        return np.asarray(value)
    except Exception as error:  # whatever the other library raises for a tensor on another device
        reason = str(error).split(". ")[0]  # for a ragged list, NumPy goes on
        raise TypeError(
            f"{name} of type {type(value).__name__} cannot be converted to a NumPy array ({reason}): "
            "convert it first, for example by tensor.detach().cpu().numpy()."
        ) from None


def get_backend(name: str) -> Backend:
    """The backend of that name; imports what it needs only now."""
    if not is_choice(name, BACKENDS):
        raise ValueError(f"backend={brief(name)} is unknown: choose one of {', '.join(map(repr, BACKENDS))}.")
    return _load(name)


@functools.cache
def _load(name: str) -> Backend:
    entry = BACKENDS[name]
    module, kind = entry.implementation.split(":")
    try:
        return cast(Backend, getattr(import_module(module), kind)())
    except ModuleNotFoundError as error:
        if error.name not in entry.needs:
            raise
        raise ValueError(
            f"backend {name!r} needs {entry.library}, which is not installed: "
            f"{installed.remedy(str(entry.extra))}."
        ) from None
