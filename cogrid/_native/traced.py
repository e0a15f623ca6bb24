"""Traced arrays: like NumPy's, but they record what is done to them, through NumPy's own protocols."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from cogrid._native.record import Node, current, made

_NARROW = MappingProxyType(
    {np.dtype(wide): np.dtype(wide[:-2] + "32") for wide in ("int64", "uint64", "float64")}
)
#: NumPy's functions of single entries, and the operations that they are recorded as.
UFUNCS: Mapping[np.ufunc, str] = MappingProxyType(
    {
        np.add: "add",
        np.subtract: "subtract",
        np.multiply: "multiply",
        np.true_divide: "divide",
        np.floor_divide: "floor_divide",
        np.remainder: "remainder",
        np.minimum: "minimum",
        np.maximum: "maximum",
        np.bitwise_and: "and",
        np.bitwise_or: "or",
        np.bitwise_xor: "xor",
        np.logical_and: "and",
        np.logical_or: "or",
        np.logical_xor: "xor",
        np.left_shift: "left_shift",
        np.right_shift: "right_shift",
        np.equal: "equal",
        np.not_equal: "not_equal",
        np.less: "less",
        np.less_equal: "less_equal",
        np.greater: "greater",
        np.greater_equal: "greater_equal",
        np.negative: "negative",
        np.invert: "not",
        np.logical_not: "not",
        np.absolute: "absolute",
        np.bitwise_count: "bitwise_count",
    }
)
_LOGICAL = (np.logical_and, np.logical_or, np.logical_xor, np.logical_not)
_COMPARISONS = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)


class Untraceable(TypeError):
    """A function uses what cannot be recorded."""


def narrow(dtype: Any) -> np.dtype[Any]:
    """The 32-bit type instead of a 64-bit one: constants and sums are narrow, as on JAX."""
    wide: np.dtype[Any] = np.dtype(dtype)
    return _NARROW.get(wide, wide)


class Traced(Node, np.lib.mixins.NDArrayOperatorsMixin):
    """An array without values yet; its shape and type are known."""

    __slots__ = ()
    __hash__ = object.__hash__
    backend_name = "native"

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *values: Any, **options: Any) -> Any:
        if method == "reduce" and ufunc in _REDUCTIONS and set(options) <= {"axis", "keepdims", "initial"}:
            return _REDUCTIONS[ufunc](*map(traced, values), **options)
        if method != "__call__" or options or ufunc not in UFUNCS:
            raise _unknown(f"numpy.{ufunc.__name__}" + (f".{method}" if method != "__call__" else ""))
        return elementwise(ufunc, *values)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if function not in FUNCTIONS:
            raise _unknown(f"{function.__module__}.{function.__name__}")
        return FUNCTIONS[function](*args, **options)

    def __array__(self, *args: Any, **options: Any) -> Any:
        raise _unknown("turning it into a NumPy array")

    def __bool__(self) -> bool:
        raise _unknown("`if`, `and`, `or` and `not`")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise _unknown(f"the attribute {name!r}")

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def astype(self, dtype: Any) -> Any:
        """The values in another type; narrow ones never become 64-bit ones."""
        return cast(self, dtype if self.dtype.itemsize == 8 else narrow(dtype))

    def copy(self) -> Any:
        """The same array: nothing writes to it."""
        return self

    def reshape(self, *shape: Any) -> Any:
        """The entries in another shape, in order."""
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        return reshaped(self, np.broadcast_to(np.False_, self.shape).reshape(sizes).shape)

    def squeeze(self, axis: Any = None) -> Any:
        """Without axes of length one."""
        return self.reshape(np.broadcast_to(np.False_, self.shape).squeeze(axis).shape)

    def transpose(self, *axes: Any) -> Any:
        """The axes in another order; by default reversed."""
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
        order = [axis % self.ndim for axis in order or range(self.ndim)[::-1]]
        places = [(0, 1, order.index(axis)) for axis in range(self.ndim)]
        return view(self, [self.shape[axis] for axis in order], places)

    def swapaxes(self, one: int, other: int) -> Any:
        """Two axes changed over."""
        order = list(range(self.ndim))
        order[one], order[other] = order[other], order[one]
        return self.transpose(order)

    def sum(self, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
        """The sum over axes, added in order."""
        return _reduced(self, "add", axis, keepdims, dtype or _total_type(self, np.add))

    def any(self, axis: Any = None, keepdims: bool = False) -> Any:
        """Whether one is not zero."""
        return _reduced(self, "or", axis, keepdims, np.bool_)

    def all(self, axis: Any = None, keepdims: bool = False) -> Any:
        """Whether none is zero."""
        return _reduced(self, "and", axis, keepdims, np.bool_)

    def min(self, axis: Any = None, keepdims: bool = False, initial: Any = None) -> Any:
        """The smallest entry, `initial` included."""
        return _extreme(self, "minimum", axis, keepdims, initial)

    def max(self, axis: Any = None, keepdims: bool = False, initial: Any = None) -> Any:
        """The largest entry, `initial` included."""
        return _extreme(self, "maximum", axis, keepdims, initial)

    def argmin(self, axis: int = -1) -> Any:
        """Where the first smallest entry is along an axis."""
        return _along(self, "argmin", axis, self.shape[:-1], np.int32)

    def argmax(self, axis: int = -1) -> Any:
        """Where the first largest entry is along an axis."""
        return _along(self, "argmax", axis, self.shape[:-1], np.int32)

    def cumsum(self, axis: int = -1, dtype: Any = None) -> Any:
        """The sums of the entries so far."""
        added = cast(self, narrow(dtype or _total_type(self, np.add)))
        return _along(added, "cumsum", axis, self.shape, added.dtype)

    def repeat(self, times: int, axis: int) -> Any:
        """Each entry of an axis several times."""
        return taken(self, np.repeat(np.arange(self.shape[axis]), times), axis)

    def take(self, index: Any, axis: int) -> Any:
        """Entries of an axis."""
        return taken(self, index, axis)

    def view(self, dtype: Any) -> Any:
        """The same bits as another type of that size."""
        return made(Traced, "map", (self,), self.shape, dtype, name="bits")

    def __getitem__(self, index: Any) -> Any:
        return _indexed(self, index if isinstance(index, tuple) else (index,))


def traced(value: Any) -> Any:
    """A traced array of anything; constants in narrow types."""
    if isinstance(value, Traced):
        return value
    value = np.asarray(value)
    if value.dtype.kind not in "biuf":
        raise TypeError(f"the native backend has no arrays of {value.dtype}.")
    value = np.ascontiguousarray(value, narrow(value.dtype)).reshape(value.shape)
    block = current()
    key = ("const", value.shape, value.dtype, value.tobytes())
    if (found := block.find(key)) is None:
        found = block.seen[key] = Traced("const", (), value.shape, value.dtype, {"value": value})
    return found


def constant(node: Any) -> np.ndarray[Any, Any] | None:
    """The value of a constant, None of anything else."""
    return node.params["value"] if node.op == "const" else None


def elementwise(ufunc: np.ufunc, *values: Any) -> Any:
    """A ufunc of values that are broadcast against each other."""
    kinds = [_kind(ufunc, value, values) for value in values]
    *takes, gives = ufunc.resolve_dtypes((*kinds, None))
    if not any(isinstance(value, Traced) and value.dtype.itemsize == 8 for value in values):
        takes, gives = [narrow(one) for one in takes], narrow(gives)
    shape = np.broadcast_shapes(*(np.shape(value) for value in values))
    args = [broadcast(cast(value, kind), shape) for value, kind in zip(values, takes, strict=True)]
    return made(Traced, "map", args, shape, gives, name=UFUNCS[ufunc])


def cast(value: Any, dtype: Any) -> Any:
    """The values in this type."""
    if not isinstance(value, Traced):
        return traced(np.asarray(value).astype(dtype))
    if value.dtype == dtype:
        return value
    if (known := constant(value)) is not None:
        return traced(known.astype(dtype))
    return made(Traced, "map", (value,), value.shape, dtype, name="cast")


def view(source: Any, shape: Sequence[int], places: Sequence[tuple[int, int, int | None]]) -> Any:
    """Entries of an array at other places.

    For each axis of the source, `places` has the first index, the step, and the axis of the result along
    which it goes on; None where it stays at the first.
    """
    shape, places = tuple(shape), tuple((int(a), int(b), c) for a, b, c in places)
    if source.op == "view":  # of a view: one view of its source
        inner = source.params["places"]
        joined = [
            (first, 0, None)
            if axis is None
            else (first + step * places[axis][0], step * places[axis][1], places[axis][2])
            for first, step, axis in inner
        ]
        return view(source.args[0], shape, joined)
    if shape == source.shape and places == tuple((0, 1, axis) for axis in range(len(shape))):
        return source
    if (known := constant(source)) is not None and math.prod(shape) <= max(1, known.size):
        grid = np.ogrid[tuple(slice(size) for size in shape)] if shape else ()
        index = tuple(first if axis is None else first + step * grid[axis] for first, step, axis in places)
        return traced(np.broadcast_to(known[index], shape))
    return made(Traced, "view", (source,), shape, source.dtype, places=places)


def broadcast(value: Any, shape: Sequence[int]) -> Any:
    """The array repeated to this shape."""
    value, shape = traced(value), tuple(shape)
    lead = len(shape) - value.ndim
    places = [
        (0, 0, None) if size == 1 != shape[lead + axis] else (0, 1, lead + axis)
        for axis, size in enumerate(value.shape)
    ]
    return view(value, shape, places)


def reshaped(value: Any, shape: Sequence[int]) -> Any:
    """The entries in another shape: a view if only axes of length one come and go."""
    shape = tuple(shape)
    if (known := constant(value)) is not None:
        return traced(known.reshape(shape))
    if [size for size in value.shape if size != 1] == [size for size in shape if size != 1]:
        axes = iter([axis for axis, size in enumerate(shape) if size != 1])
        return view(value, shape, [(0, 0, None) if size == 1 else (0, 1, next(axes)) for size in value.shape])
    if value.op == "reshape":
        return reshaped(value.args[0], shape)
    return made(Traced, "reshape", (value,), shape, value.dtype)


def taken(array: Any, index: Any, axis: int) -> Any:
    """Entries of an axis at an index, which must be in range; a constant one may count from the end."""
    array, axis = traced(array), axis % np.ndim(array)
    if not isinstance(index, Traced):
        index = np.asarray(index)
        index = np.where(index < 0, index + array.shape[axis], index).astype(np.int32)
        if (known := constant(array)) is not None:
            return traced(known.take(index, axis=axis))
    shape = (*array.shape[:axis], *np.shape(index), *array.shape[axis + 1 :])
    return made(Traced, "take", (array, traced(index)), shape, array.dtype, axis=axis)


def written(grid: Any, index: Any, value: Any, test: Any = None) -> Any:
    """The array with values written along its last axis, one after the other, where `test` is true."""
    grid, index = traced(grid), traced(index)
    shape = (*grid.shape[:-1], index.shape[-1])
    args = [grid, broadcast(index, shape), broadcast(cast(value, grid.dtype), shape)]
    args += [] if test is None else [broadcast(test, shape)]
    return made(Traced, "write", args, grid.shape, grid.dtype)


def where(test: Any, then: Any, otherwise: Any) -> Any:
    """One value or the other, entry by entry."""
    dtype = common_type(then, otherwise)
    shape = np.broadcast_shapes(*(np.shape(value) for value in (test, then, otherwise)))
    test, then, otherwise = cast(test, np.bool_), cast(then, dtype), cast(otherwise, dtype)
    if (known := constant(test)) is not None and known.size and known.all() == known.any():
        return broadcast(then if known.all() else otherwise, shape)
    args = [broadcast(value, shape) for value in (test, then, otherwise)]
    return made(Traced, "map", args, shape, dtype, name="where")


def concatenate(parts: Sequence[Any], axis: int = 0) -> Any:
    """Arrays one after the other along an axis."""
    dtype = common_type(*parts)
    arrays = [cast(part, dtype) for part in parts]
    axis %= arrays[0].ndim
    shape = list(arrays[0].shape)
    shape[axis] = sum(part.shape[axis] for part in arrays)
    arrays = [part for part in arrays if part.shape[axis]]
    return arrays[0] if len(arrays) == 1 else made(Traced, "concatenate", arrays, shape, dtype, axis=axis)


def stack(parts: Sequence[Any], axis: int = 0) -> Any:
    """Arrays one after the other along a new axis."""
    arrays = [traced(part) for part in parts]
    before = (slice(None),) * (axis % (arrays[0].ndim + 1))
    return concatenate([part[(*before, None)] for part in arrays], axis)


def common_type(*values: Any) -> np.dtype[Any]:
    """The type in which values meet; plain numbers adapt."""
    wide = any(isinstance(value, Traced) and value.dtype.itemsize == 8 for value in values)
    dtype = np.result_type(*(value.dtype if isinstance(value, Traced) else value for value in values))
    return dtype if wide else narrow(dtype)


def clip(value: Any, low: Any = None, high: Any = None) -> Any:
    """Values within bounds."""
    value = value if low is None else elementwise(np.maximum, value, low)
    return value if high is None else elementwise(np.minimum, value, high)


def pad(value: Any, widths: Sequence[Sequence[int]], mode: str = "constant", constant_values: Any = 0) -> Any:
    """An array with a margin of one number around it."""
    if mode != "constant":
        raise _unknown(f"numpy.pad with mode={mode!r}")
    for axis, sides in enumerate(widths):
        before, after = (
            np.full((*value.shape[:axis], side, *value.shape[axis + 1 :]), constant_values, value.dtype)
            for side in sides
        )
        value = concatenate([before, value, after], axis)
    return value


def sort(value: Any, axis: int = -1) -> Any:
    """The entries of the last axis in ascending order."""
    return _along(value, "sort", axis, value.shape, value.dtype)


def _kind(ufunc: np.ufunc, value: Any, values: Sequence[Any]) -> Any:
    """The type of an argument as NumPy's promotion takes it; a plain number adapts to the others' types."""
    if ufunc in _LOGICAL:
        return np.dtype(bool)
    if hasattr(value, "dtype"):
        return value.dtype
    if not isinstance(value, int) or isinstance(value, bool):
        return np.asarray(value).dtype if not isinstance(value, float) else float
    others = [
        np.iinfo(other.dtype) for other in values if hasattr(other, "dtype") and other.dtype.kind in "iu"
    ]
    if ufunc in _COMPARISONS and any(not other.min <= value <= other.max for other in others):
        return np.min_scalar_type(value)
    return int


def _total_type(array: Any, ufunc: np.ufunc) -> np.dtype[Any]:
    """The type in which NumPy adds entries up, but narrow."""
    return narrow(ufunc.reduce(np.zeros(1, array.dtype)).dtype)


def _reduced(array: Any, name: str, axis: Any, keepdims: bool, dtype: Any) -> Any:
    axes = range(array.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(sorted(one % array.ndim for one in axes))
    left = [size for d, size in enumerate(array.shape) if d not in axes]
    result = made(Traced, "reduce", (cast(array, narrow(dtype)),), left, narrow(dtype), name=name, axes=axes)
    return (
        reshaped(result, [1 if d in axes else size for d, size in enumerate(array.shape)])
        if keepdims
        else result
    )


def _extreme(array: Any, name: str, axis: Any, keepdims: bool, initial: Any) -> Any:
    if not array.size:
        return traced(
            np.broadcast_to(np.False_, array.shape)
            .astype(array.dtype)
            .min(axis, keepdims=keepdims, initial=initial)
        )
    result = _reduced(array, name, axis, keepdims, array.dtype)
    return result if initial is None else elementwise(getattr(np, name), result, initial)


def _along(array: Any, op: str, axis: int, shape: Sequence[int], dtype: Any) -> Any:
    if axis % array.ndim != array.ndim - 1:
        raise _unknown(f"{op} along another axis than the last")
    return made(Traced, op, (array,), shape, dtype)


def _indexed(array: Any, index: tuple[Any, ...]) -> Any:
    """`array[index]`, where one axis may have an array as its index."""
    used = sum(one is not None and one is not Ellipsis for one in index)
    rest = [slice(None)] * (array.ndim - used)
    at = next((k for k, one in enumerate(index) if one is Ellipsis), len(index))
    full = [*index[:at], *rest, *index[at + 1 :]]
    arrays = [k for k, one in enumerate(full) if isinstance(one, (Traced, list)) or np.shape(one)]
    places: list[tuple[int, int, int | None]] = []
    shape: list[int] = []
    found = None
    for k, one in enumerate(full):
        if one is None:
            shape.append(1)
            continue
        size = array.shape[len(places)]
        if k in arrays:
            found, one = (len(shape), one), slice(None)
        if isinstance(one, slice):
            start, stop, step = one.indices(size)
            places.append((start, step, len(shape)))
            shape.append(len(range(start, stop, step)))
        else:
            places.append((int(one) % size, 0, None))
    result = view(array, shape, places)
    if found is None:
        return result
    if len(arrays) > 1:
        raise _unknown("an index of several arrays")
    axis, where_ = found
    if not isinstance(where_, Traced) and (mask := np.asarray(where_)).dtype == bool:
        where_ = np.flatnonzero(mask)
    return taken(result, where_, axis)


def _unknown(what: str) -> Untraceable:
    return Untraceable(
        f"the native backend cannot compile {what}: the values of a step are not known while it is compiled. "
        "docs/developing/backends.md lists what can be compiled."
    )


_REDUCTIONS: Mapping[Any, Callable[..., Any]] = MappingProxyType(
    {
        np.add: Traced.sum,
        np.logical_or: Traced.any,
        np.logical_and: Traced.all,
        np.minimum: Traced.min,
        np.maximum: Traced.max,
    }
)
#: NumPy's functions of whole arrays that can be recorded.
FUNCTIONS: Mapping[Any, Callable[..., Any]] = MappingProxyType(
    {
        np.where: where,
        np.concatenate: concatenate,
        np.stack: stack,
        np.clip: clip,
        np.pad: pad,
        np.sort: sort,
        np.broadcast_to: broadcast,
        np.reshape: reshaped,
        np.take: taken,
        np.sum: Traced.sum,
        np.any: Traced.any,
        np.all: Traced.all,
        np.min: Traced.min,
        np.max: Traced.max,
        np.argmin: Traced.argmin,
        np.argmax: Traced.argmax,
        np.cumsum: Traced.cumsum,
        np.transpose: Traced.transpose,
        np.swapaxes: Traced.swapaxes,
        np.squeeze: Traced.squeeze,
        np.repeat: Traced.repeat,
        np.shape: lambda value: value.shape,
        np.ndim: lambda value: value.ndim,
        np.size: lambda value: value.size,
        np.zeros_like: lambda value, dtype=None: traced(np.zeros(value.shape, dtype or value.dtype)),
        np.ones_like: lambda value, dtype=None: traced(np.ones(value.shape, dtype or value.dtype)),
        np.full_like: lambda value, fill, dtype=None: broadcast(
            cast(fill, narrow(dtype or value.dtype)), value.shape
        ),
    }
)
