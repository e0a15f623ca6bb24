"""Options: the fields of specs and games, their checks, and the text that identifies an environment."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from cogrid._io.messages import brief

_ADDED = "added"


def added(default: Any) -> Any:
    """A field that is added to a spec, a game or a part after files that name it were saved.

    While it has its default, the environment is the one that it was without the field: snapshots, replays,
    policies and checkpoints from before stay valid.
    """
    return dataclasses.field(default=default, metadata={_ADDED: True})


def is_added(field: dataclasses.Field[Any]) -> bool:
    """Whether a field was declared by `added`."""
    return _ADDED in field.metadata


def is_default(value: Any, field: dataclasses.Field[Any]) -> bool:
    """Whether a field was declared by `added` and has its default."""
    return is_added(field) and _equal(getattr(value, field.name), field.default)


def identity(value: Any) -> str:
    """The value's repr, but without `added` fields that have their defaults, in it or in what it contains.

    Sets and classes with a repr of their own are as they are.
    """
    if type(value) in (tuple, list):
        inner = ", ".join(map(identity, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
    if type(value) is dict:
        return f"{{{', '.join(f'{identity(key)}: {identity(one)}' for key, one in value.items())}}}"
    fields = _shown(type(value))
    if fields is None:
        return repr(value)
    shown = (
        f"{field.name}={identity(getattr(value, field.name))}"
        for field in fields
        if not is_default(value, field)
    )
    return f"{type(value).__qualname__}({', '.join(shown)})"


def _equal(value: Any, default: Any) -> bool:
    return value is default or bool(value == default)


def _shown(kind: type) -> list[dataclasses.Field[Any]] | None:
    """The fields in the repr of a dataclass; None for classes with another repr."""
    owner = next(base for base in kind.__mro__ if "__repr__" in vars(base))
    fields: dict[str, dataclasses.Field[Any]] | None = vars(owner).get("__dataclass_fields__")
    if fields is None or not hasattr(owner.__repr__, "__wrapped__"):  # written by the author
        return None
    is_field = {field.name for field in dataclasses.fields(owner)}  # no class variables
    return [field for name, field in fields.items() if name in is_field and field.repr]


def checked_number(name: str, value: object, low: float, high: float) -> float:
    """The value as a float, or an error that names it; for the options of specs and games."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name}={brief(value)} is not a number.")
    if not low <= value <= high:  # false for NaN
        raise ValueError(f"{name}={brief(value)} is out of range: it must be from {low:g} to {high:g}.")
    return float(value)


def checked_flag(name: str, value: object) -> bool:
    """The value as a bool, or an error that names it."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}={brief(value)} is neither True nor False.")
    return bool(value)


def checked_integer(name: str, value: object, low: int, high: int) -> int:
    """The value, or an error that names it; for the options of specs and games."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name}={brief(value)} is not an integer.")
    if not low <= value <= high:
        raise ValueError(f"{name}={brief(value)} is out of range: it must be from {low} to {high}.")
    return value
