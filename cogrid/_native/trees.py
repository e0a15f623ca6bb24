"""Trees: states, dicts, tuples and lists of arrays, taken apart and put together again."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

#: The structure of an array.
LEAF = "array"


class Branch(NamedTuple):
    """The structure of a container: how it is made of its parts, by name, and the parts' structures."""

    kind: type
    names: tuple[Any, ...]
    parts: tuple[Any, ...]


class Static(NamedTuple):
    """The structure of anything that is no array, such as the rules of a state."""

    value: Any


def flatten(tree: Any, leaves: list[Any]) -> Any:
    """Append the arrays of a tree to `leaves`; returns its structure, which can be hashed and compared."""
    if hasattr(tree, "dtype"):
        leaves.append(tree)
        return LEAF
    if tree is None:
        return None
    kind = type(tree)
    if dataclasses.is_dataclass(kind):
        names = _fields(kind)
        return Branch(kind, names, tuple(flatten(getattr(tree, name), leaves) for name in names))
    if kind is dict:
        names = tuple(tree)
        return Branch(kind, names, tuple(flatten(tree[name], leaves) for name in names))
    if isinstance(tree, (tuple, list)):
        return Branch(kind, tuple(range(len(tree))), tuple(flatten(part, leaves) for part in tree))
    return Static(tree)


def rebuild(structure: Any, leaves: Iterable[Any]) -> Any:
    """The tree of this structure with these arrays."""
    return _build(structure, iter(leaves))


def paths(structure: Any, prefix: str = "") -> Iterator[str]:
    """A name for each array: the names of its containers' parts, joined by underscores."""
    if structure == LEAF:
        yield prefix or "value"
    elif isinstance(structure, Branch):
        for name, part in zip(structure.names, structure.parts, strict=True):
            yield from paths(part, f"{prefix}_{name}" if prefix else str(name))


def _build(structure: Any, leaves: Iterator[Any]) -> Any:
    if structure is None:
        return None
    if structure is LEAF:
        return next(leaves)
    if isinstance(structure, Static):
        return structure.value
    parts = [_build(part, leaves) for part in structure.parts]
    return _maker(structure.kind)(structure.names, parts)


@functools.cache
def _fields(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


@functools.cache
def _maker(kind: type) -> Callable[[tuple[Any, ...], list[Any]], Any]:
    """How a container of this kind is made of the names and values of its parts."""
    if dataclasses.is_dataclass(kind):

        def make(names: tuple[Any, ...], parts: list[Any]) -> Any:
            new = object.__new__(kind)
            object.__setattr__(new, "__dict__", dict(zip(names, parts, strict=True)))
            return new

        return make
    if kind is dict:
        return lambda names, parts: dict(zip(names, parts, strict=True))
    if hasattr(kind, "_fields"):
        return lambda names, parts: kind(*parts)
    return lambda names, parts: kind(parts)
