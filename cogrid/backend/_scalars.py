"""Scalars: computes a traced function entry by entry, so that no array is left but vectors of one length."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

#: An array of one environment: known numbers, or objects, of which each is a known number or a vector with
#: an element for every environment of a block.
Entries = np.ndarray[Any, Any]
#: Reads a flat table at a vector of places.
Read = Callable[[Entries, Any], Any]

_MODES = (lax.GatherScatterMode.PROMISE_IN_BOUNDS, lax.GatherScatterMode.CLIP)


class Unsupported(NotImplementedError):
    """An operation that cannot be computed entry by entry."""


def evaluate(jaxpr: Any, consts: Sequence[Any], values: Sequence[Entries], read: Read) -> list[Entries]:
    """The results of a jaxpr; known numbers are computed with at once, and what is not needed never."""
    found: dict[Any, Entries] = dict(zip(jaxpr.constvars, map(np.asarray, consts), strict=True))
    found.update(zip(jaxpr.invars, values, strict=True))

    def value(atom: Any) -> Entries:
        return np.asarray(atom.val, atom.aval.dtype) if hasattr(atom, "val") else found[atom]

    for equation in _needed(jaxpr):
        results = _evaluate_one(equation, [value(atom) for atom in equation.invars], read)
        found.update(zip(equation.outvars, results, strict=True))
    return [value(atom) for atom in jaxpr.outvars]


def entries(vectors: Iterator[Any], shape: tuple[int, ...]) -> Entries:
    """The next vectors as an array of that shape."""
    found = np.empty(math.prod(shape), object)
    for i in range(found.size):
        found[i] = next(vectors)
    return found.reshape(shape)


def _objects(value: Entries) -> Entries:
    """The same entries, each by itself; `astype` would turn NumPy's numbers into Python's, without a type."""
    return entries(iter(value.flat), value.shape)


def vector(entry: Any, shape: tuple[int, ...]) -> Any:
    """A known number as a vector; a vector as it is."""
    return jnp.full(shape, entry, entry.dtype) if _is_known(entry) else entry


def _needed(jaxpr: Any) -> list[Any]:
    """The equations whose results are used."""
    used = {atom for atom in jaxpr.outvars if not hasattr(atom, "val")}
    kept = []
    for equation in reversed(jaxpr.eqns):
        if used.intersection(equation.outvars):
            kept.append(equation)
            used.update(atom for atom in equation.invars if not hasattr(atom, "val"))
    return kept[::-1]


def _evaluate_one(equation: Any, values: list[Entries], read: Read) -> list[Entries]:
    primitive, params = equation.primitive, equation.params
    name = primitive.name
    if name == "platform_index":  # the last platform is any but a CPU
        return [np.asarray(len(params["platforms"]) - 1, np.int32)]
    if name in _CALLS:
        return _called(params[_CALLS[name]], values, read)
    if name == "cond":
        return _branch(values, read=read, **params)
    if all(value.dtype != object for value in values):
        results = _now(primitive, values, params)
        return [np.asarray(one) for one in (results if primitive.multiple_results else [results])]
    if name in _ENTRYWISE:
        return [_each(functools.partial(_compute, primitive, params), *values)]
    if name == "scan":
        return _unrolled(equation, values, read)
    if name == "gather":
        return [_gather(*values, read=read, **params)]
    if name not in _RULES:
        raise Unsupported(name)
    results = _RULES[name](*values, **params)
    return results if primitive.multiple_results else [results]


def _called(inner: Any, values: Sequence[Entries], read: Read) -> list[Entries]:
    return evaluate(inner.jaxpr, inner.consts, values, read)


def _is_known(entry: Any) -> bool:
    return isinstance(entry, np.generic)


def _now(primitive: Any, values: Sequence[Any], params: dict[str, Any]) -> Any:
    with jax.ensure_compile_time_eval():
        return primitive.bind(*values, **params)


def _each(function: Callable[..., Any], *values: Entries) -> Entries:
    """The function of every entry, after broadcasting."""
    values = np.broadcast_arrays(*values)
    found = np.empty(values[0].shape, object)
    for place in np.ndindex(found.shape):
        found[place] = function(*(value[place] for value in values))
    return found


def _compute(primitive: Any, params: dict[str, Any], *own: Any) -> Any:
    if all(map(_is_known, own)):
        return np.asarray(_now(primitive, own, params))[()]
    if primitive is lax.select_n_p and _is_known(own[0]):
        return own[1 + int(own[0])]
    shape = next(entry.shape for entry in own if not _is_known(entry))
    return primitive.bind(*(vector(entry, shape) for entry in own), **params)


def _choose(test: Any, then: Any, otherwise: Any) -> Any:
    return otherwise if then is otherwise else _compute(lax.select_n_p, {}, test, otherwise, then)


# What runs another jaxpr


def _branch(values: list[Entries], *, read: Read, branches: Any, **_: Any) -> list[Entries]:
    """A known branch; else the first of two everywhere, and the second one if any environment takes it."""
    which, *values = values
    if which.dtype != object:
        return _called(branches[int(np.clip(which, 0, len(branches) - 1))], values, read)
    if len(branches) != 2:
        raise Unsupported("cond")
    test = which[()].astype(bool)
    usual = _called(branches[0], values, read)
    kinds = [var.aval.dtype for var in branches[0].jaxpr.outvars]

    def flat(results: list[Entries]) -> tuple[Any, ...]:
        return tuple(
            vector(np.asarray(entry, kind)[()] if _is_known(entry) else entry, test.shape)
            for result, kind in zip(results, kinds, strict=True)
            for entry in result.flat
        )

    def rare() -> tuple[Any, ...]:
        chosen = [
            _each(functools.partial(_choose, test), then, otherwise)
            for then, otherwise in zip(_called(branches[1], values, read), usual, strict=True)
        ]
        return flat(chosen)

    chosen = iter(lax.cond(jnp.max(test.astype(np.int32)) > 0, rare, lambda: flat(usual)))
    return [entries(chosen, result.shape) for result in usual]


def _unrolled(equation: Any, values: list[Entries], read: Read) -> list[Entries]:
    """A loop whose length is known, pass by pass; its arguments are constants, the carry and the inputs.

    How many there are of each is read off the shapes, because JAX has changed the parameters that say so.
    """
    params = equation.params
    jaxpr, length = params["jaxpr"], params["length"]
    num_carry = _alike(jaxpr.jaxpr.outvars, equation.outvars)
    first = _alike(jaxpr.jaxpr.invars, equation.invars)
    fixed, carry, inputs = values[: first - num_carry], values[first - num_carry : first], values[first:]
    outputs = []
    order = range(length)[::-1] if params["reverse"] else range(length)
    for i in order:
        results = _called(jaxpr, [*fixed, *carry, *(value[i, ...] for value in inputs)], read)
        carry = results[:num_carry]
        outputs.append([_objects(result) for result in results[num_carry:]])
    outputs = outputs[::-1] if params["reverse"] else outputs
    return [*carry, *(np.stack(results) for results in zip(*outputs, strict=True))]


def _alike(inside: Sequence[Any], outside: Sequence[Any]) -> int:
    """How many arrays have the same shape inside and outside of a loop; the others have an axis of steps."""
    return sum(one.aval.shape == other.aval.shape for one, other in zip(inside, outside, strict=True))


# What reads and writes at places


def _gather(
    operand: Entries,
    starts: Entries,
    *,
    read: Read,
    dimension_numbers: Any,
    slice_sizes: tuple[int, ...],
    mode: Any,
    **_: Any,
) -> Entries:
    numbers = dimension_numbers
    if mode not in _MODES or numbers.operand_batching_dims:
        raise Unsupported(f"gather of mode {mode}")
    window = [d for d in range(operand.ndim) if d not in numbers.collapsed_slice_dims]
    axes = range(starts.ndim - 1 + len(window))
    batch = [d for d in axes if d not in numbers.offset_dims]
    sizes = dict(zip(numbers.offset_dims, (slice_sizes[d] for d in window), strict=True))
    sizes |= dict(zip(batch, starts.shape[:-1], strict=True))
    found = np.empty([sizes[d] for d in axes], object)
    for place in np.ndindex(found.shape):
        index: list[Any] = [0] * operand.ndim
        for d, axis in zip(window, numbers.offset_dims, strict=True):
            index[d] = place[axis]
        start = starts[tuple(place[d] for d in batch)]
        for d, first in zip(numbers.start_index_map, start, strict=True):
            index[d] += _inside(first, operand.shape[d] - slice_sizes[d], mode)
        found[place] = _entry(operand, index, read)
    return found


def _inside(first: Any, last: int, mode: Any) -> Any:
    """The first place of a slice, as a number or a vector of int32."""
    if _is_known(first):
        return min(max(int(first), 0), last)
    wide = first.astype(np.int32)
    return wide if mode is lax.GatherScatterMode.PROMISE_IN_BOUNDS else jnp.clip(wide, 0, last)


def _entry(array: Entries, index: list[Any], read: Read) -> Any:
    """One entry: picked where the place is known, read from a table, or chosen among all by selects."""
    axis = next((d for d, place in enumerate(index) if not isinstance(place, int)), None)
    if axis is None:
        return array[tuple(index)]
    if array.dtype != object:
        place = functools.reduce(lambda whole, d: whole * array.shape[d] + index[d], range(array.ndim), 0)
        return read(array.reshape(-1), place)
    own = (_entry(array, [*index[:axis], k, *index[axis + 1 :]], read) for k in range(array.shape[axis]))
    return _selected(list(own), index[axis])


def _selected(choices: list[Any], index: Any) -> Any:
    """One of the choices by the bits of a vector: half as many instructions as a chain, and no chain."""
    for bit in itertools.count():
        if len(choices) == 1:
            return choices[0]
        odd = (index & np.int32(1 << bit)) != 0
        pairs = itertools.zip_longest(choices[::2], choices[1::2])
        choices = [one if other is None else _choose(odd, other, one) for one, other in pairs]
    raise AssertionError


def _scatter(
    operand: Entries, starts: Entries, updates: Entries, *, dimension_numbers: Any, mode: Any, **_: Any
) -> Entries:
    numbers = dimension_numbers
    if numbers.update_window_dims or numbers.operand_batching_dims or operand.ndim != 1 or mode not in _MODES:
        raise Unsupported(f"scatter of mode {mode}")
    found = _objects(operand)
    for place in np.ndindex(updates.shape):
        (index,), update = starts[place], updates[place]
        if _is_known(index):
            found[int(index)] = update
        else:
            wide = index.astype(np.int32)
            for k, was in enumerate(found):
                found[k] = _choose(wide == np.int32(k), update, was)
    return found


# What rearranges and reduces


def _rows(value: Entries) -> list[Entries]:
    return [value[i, ...] for i in range(len(value))]


def _reduced(primitive: Any) -> Callable[..., Entries]:
    def rule(value: Entries, *, axes: tuple[int, ...], **_: Any) -> Entries:
        kept = [d for d in range(value.ndim) if d not in axes]
        rows = value.transpose(*axes, *kept).reshape(-1, *(value.shape[d] for d in kept))
        return functools.reduce(
            functools.partial(_each, functools.partial(_compute, primitive, {})), _rows(rows)
        )

    return rule


def _first_of(better: Any) -> Callable[..., Entries]:
    """The place of the least, or of the greatest, of a row; of equal ones the first."""

    def of_row(kind: Any, *row: Any) -> Any:
        best, place = row[0], np.zeros((), kind)[()]
        for i, one in enumerate(row[1:], 1):
            test = _compute(better, {}, one, best)
            best, place = _choose(test, one, best), _choose(test, np.asarray(i, kind)[()], place)
        return place

    def rule(value: Entries, *, axes: tuple[int, ...], index_dtype: Any, **_: Any) -> Entries:
        return _each(functools.partial(of_row, index_dtype), *_rows(np.moveaxis(value, axes[0], 0)))

    return rule


def _broadcast(value: Entries, *, shape: Any, broadcast_dimensions: Any, **_: Any) -> Entries:
    sizes = [1] * len(shape)
    for d, size in zip(broadcast_dimensions, value.shape, strict=True):
        sizes[d] = size
    return np.broadcast_to(value.reshape(sizes), shape)


def _slice(value: Entries, *, start_indices: Any, limit_indices: Any, strides: Any) -> Entries:
    steps = strides or (1,) * value.ndim
    return value[tuple(itertools.starmap(slice, zip(start_indices, limit_indices, steps, strict=True)))]


def _pad(value: Entries, padding: Entries, *, padding_config: Any) -> Entries:
    if any(low < 0 or high < 0 or inner for low, high, inner in padding_config):
        raise Unsupported("pad")
    around = [(low, high) for low, high, _ in padding_config]
    return np.pad(_objects(value), around, constant_values=padding[()])


def _cumsum(value: Entries, *, axis: int, reverse: bool) -> Entries:
    rows = _rows(np.moveaxis(_objects(value), axis, 0))
    rows = rows[::-1] if reverse else rows
    add = functools.partial(_each, functools.partial(_compute, lax.add_p, {}))
    sums = np.stack(list(itertools.accumulate(rows, add)))
    return np.moveaxis(sums[::-1] if reverse else sums, 0, axis)


#: What is computed for each entry by itself.
_ENTRYWISE = frozenset(
    {"abs", "add", "and", "bitcast_convert_type", "clamp", "convert_element_type", "div", "eq", "ge", "gt"}
    | {"le", "lt", "max", "min", "mul", "ne", "neg", "not", "or", "rem", "select_n", "sign", "sub", "xor"}
    | {"shift_left", "shift_right_arithmetic", "shift_right_logical"}
)
#: What runs another jaxpr, and the parameter that has it.
_CALLS: Mapping[str, str] = MappingProxyType(
    {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "custom_vmap_call": "call"}
)
_RULES: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "argmax": _first_of(lax.gt_p),
        "argmin": _first_of(lax.lt_p),
        "broadcast_in_dim": _broadcast,
        "concatenate": lambda *values, dimension: np.concatenate(
            [_objects(value) for value in values], dimension
        ),
        "cumsum": _cumsum,
        "optimization_barrier": lambda *values: list(values),
        "pad": _pad,
        "reduce_and": _reduced(lax.and_p),
        "reduce_max": _reduced(lax.max_p),
        "reduce_min": _reduced(lax.min_p),
        "reduce_or": _reduced(lax.or_p),
        "reduce_sum": _reduced(lax.add_p),
        "reshard": lambda value, **_: value,
        "reshape": lambda value, *, new_sizes, **_: value.reshape(new_sizes),
        "rev": lambda value, *, dimensions: np.flip(value, dimensions),
        "scatter": _scatter,
        "slice": _slice,
        "stack": lambda *values, axis: np.stack([_objects(value) for value in values], axis),
        "squeeze": lambda value, *, dimensions: value.squeeze(dimensions),
        "transpose": lambda value, *, permutation: value.transpose(permutation),
    }
)
