"""Differences: the results of two backends for the same call, by name, and the first difference."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from cogrid._core.rules import Rules
from cogrid.backend.env_state import EnvState

Arrays = dict[str, np.ndarray[Any, Any]]
#: The name of a result, or those of a tuple of results.
Names = str | tuple[Any, ...]
#: Stored fields that users know by another name.
_ATTRIBUTE = MappingProxyType({"pos": "agent_pos", "words": "rng_key", "weight": "shaping_weight"})


class Difference(NamedTuple):
    """A number that differs: its field, and readable descriptions of its place and of both values."""

    field: str
    place: tuple[str, ...]
    main: str
    shadow: str


def named(rules: Rules, names: Names, values: Any) -> Arrays:
    """All results by name, on the host; a state by its attributes, infos one by one."""
    if isinstance(names, tuple):
        pairs = zip(names, values, strict=True)
        return {name: value for pair in pairs for name, value in named(rules, *pair).items()}
    if isinstance(values, EnvState):
        fields = _comparable(rules, values)
        return fields if names == "state" else {f"{names} {name}": value for name, value in fields.items()}
    if isinstance(values, Mapping):
        parts = (named(rules, f"{names} {name}", value) for name, value in values.items())
        return {name: value for part in parts for name, value in part.items()}
    return {names: np.asarray(values)}


def _comparable(rules: Rules, state: EnvState) -> Arrays:
    """A state in numbers that mean the same on every backend: indices lose their backend's width.

    An index that does not have its backend's type keeps its own, and so differs.
    """
    stored = {name: np.asarray(value) for name, value in state.stored().items()}
    own = {"cells": rules.cell_dtype, "pos": rules.pos_dtype, "pose": rules.agent_dtype}
    own["places"] = rules.pos_dtype
    if rules.slots is not None:
        own["slots"] = rules.slot_dtype
    fields = {name: v.astype(np.int64) if v.dtype == own.get(name) else v for name, v in stored.items()}
    facing, held = np.divmod(fields.pop("pose"), rules.n_items)
    clock = fields.pop("clock")
    views = {"agent_dir": facing, "held": held, "time": clock ^ (clock >> 31), "state's done": clock < 0}
    return {_ATTRIBUTE.get(name, name): value for name, value in fields.items()} | views


def differing(main: Arrays, shadow: Arrays, batch: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """(B,) the environments in which anything differs, (1,) for a single one."""
    wrong = np.zeros(batch or 1, bool)
    if main.keys() != shadow.keys():
        return ~wrong
    for name, value in main.items():
        if (unequal := _unequal(value, shadow[name])) is not None:
            wrong |= unequal.reshape(len(wrong), -1).any(axis=-1) if unequal.size else True
    return wrong


def _unequal(main: np.ndarray[Any, Any], shadow: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """Where the bits differ, None if nowhere; an empty array if the type or shape differs."""
    if main.dtype != shadow.dtype or main.shape != shadow.shape:
        return np.zeros(0, bool)
    if main.dtype.kind == "f":  # 0 differs from −0, and NaN equals NaN
        main, shadow = (value.view(f"u{value.dtype.itemsize}") for value in (main, shadow))
    differs: np.ndarray[Any, Any] = np.asarray(main != shadow)
    return differs if differs.any() else None


def first_difference(
    rules: Rules, main: Arrays, shadow: Arrays, batch: tuple[int, ...], environment: int
) -> Difference:
    """The first field of this environment that differs; the state's fields come before derived results."""
    for name in dict.fromkeys([*main, *shadow]):
        if name not in main or name not in shadow:
            presence = ["there" if name in side else "not there" for side in (main, shadow)]
            return Difference(name, (), *presence)
        unequal = _unequal(main[name], shadow[name])
        if unequal is None:
            continue
        if not unequal.size:
            kinds = (f"{side[name].dtype} of shape {side[name].shape}" for side in (main, shadow))
            return Difference(name, (), *kinds)
        index = (environment,) if batch else ()
        if unequal[index].any():
            place = tuple(int(k) for k in np.argwhere(unequal[index])[0])
            values = (_value(rules, name, side[name][index][place].item()) for side in (main, shadow))
            return Difference(name, _place(rules, name, place), *values)
    raise AssertionError("nothing differs")


def _place(rules: Rules, field: str, index: tuple[int, ...]) -> tuple[str, ...]:
    """A readable index: the cell, the agent, the name of a feature or plane."""
    if not index:
        return ()
    if field == "cells":
        return _cell(rules, index[0])
    if field == "places":
        return (f"place {index[0]}",)
    if field == "rng_key":
        return (f"word {index[0]}",)
    if field == "slots" and rules.slots is not None:
        return (f"slot {rules.slots.names[index[0]]!r}",)
    agent, *rest = index
    place = [f"agent {agent}"]
    if len(rest) == 3:
        place += [f"row {rest[0]}", f"column {rest[1]}"]
    if rest and "obs" in field:
        place.append(repr(rules.observer.names[rest[-1]]))
    elif rest:
        place.append(f"number {rest[-1]}")
    return tuple(place)


def _cell(rules: Rules, cell: int) -> tuple[str, str]:
    row, column = divmod(cell, rules.width)
    return f"row {row}", f"column {column}"


def _value(rules: Rules, field: str, value: Any) -> str:
    """A number, with the thing or the item that it stands for."""
    meanings = {"cells": rules.spec.symbols.things, "held": rules.spec.symbols.items}
    if rules.slots is not None:
        meanings["slots"] = rules.slots.things
    if field == "agent_pos" and value >= rules.n_cells:
        return "off the board"
    if field == "agent_pos":
        return ", ".join(_cell(rules, value))
    if field in meanings and 0 <= value < len(meanings[field]):
        return f"{value} ({meanings[field][value]})"
    return str(value)
