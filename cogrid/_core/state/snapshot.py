"""Snapshots: a state as plain JSON values, the same from every backend, and back."""

from __future__ import annotations

import hashlib
import reprlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from cogrid._core.author.options import identity
from cogrid._core.digest import digest
from cogrid._core.rules import Rules
from cogrid._core.state.validity import check, check_range
from cogrid.backend.env_state import EnvState, clock_of

VERSION = 1


def fingerprint(rules: Rules) -> str:
    """A hash of the spec, the same in every process.

    It covers the rules and rewards of games that are not part of cogrid; those that are have versioned ids.
    """
    text = identity(rules.spec) + (" of any board" if rules.spec.any_board else "")
    if type(rules.spec.game).__module__.partition(".")[0] != "cogrid":
        text += digest(rules)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def to_plain(rules: Any, state: EnvState) -> dict[str, Any]:
    """The whole state, as lists and numbers."""
    plain = {name: value.tolist() for name, value in state.plain().items()}
    return {"version": VERSION, "spec": fingerprint(rules), "state": plain}


def from_plain(rules: Rules, snapshot: Mapping[str, Any]) -> EnvState:
    """The state of a snapshot; raises an error for another version or spec."""
    if not isinstance(snapshot, Mapping) or not {"version", "spec", "state"} <= set(snapshot):
        raise ValueError("this is not a snapshot: take one with get_state().")
    if snapshot["version"] != VERSION:
        raise ValueError(
            f"the snapshot has version {reprlib.repr(snapshot['version'])}, "
            f"but this cogrid reads version {VERSION}."
        )
    if snapshot["spec"] != fingerprint(rules):
        raise ValueError(
            f"the snapshot is of another spec ({reprlib.repr(snapshot['spec'])}, "
            f"not {fingerprint(rules)!r}): make the environment with the same id, overrides and rules."
        )
    state = rules.game.state_type(**_stored(rules, snapshot["state"]), rules=rules)
    check(rules, state)
    return state


class _StoredField(NamedTuple):
    """How an attribute of a state is stored."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def _shapes(rules: Rules) -> dict[str, _StoredField]:
    """Shape and type of every attribute of a single state of this spec; the key as its words."""
    one, each = (), (rules.n_agents,)
    shapes: dict[str, tuple[tuple[int, ...], Any]] = {
        "cells": ((rules.n_cells,), rules.cell_dtype),
        "pos": (each, rules.pos_dtype),
        "agent_dir": (each, rules.agent_dtype),
        "held": (each, rules.agent_dtype),
        "time": (one, np.int32),
        "done": (one, bool),
        "shaping_weight": (one, np.float32),
        "rng_key": ((2,), np.uint32),
    }
    if len(rules.boards) > 1 and not rules.open:
        shapes["layout"] = (one, np.int32)
    if rules.slots is not None:
        shapes["slots"] = ((len(rules.slots.names),), rules.slot_dtype)
    if rules.open:
        shapes["places"] = ((rules.places.size + 1,), rules.pos_dtype)
    if rules.ends:
        shapes["ended"] = (each, bool)
    return {name: _StoredField(shape, np.dtype(dtype)) for name, (shape, dtype) in shapes.items()}


def _stored(rules: Rules, values: Mapping[str, Any]) -> dict[str, Any]:
    """The stored fields, as the backend's arrays; raises an error for missing, unknown or misshapen ones."""
    shapes = _shapes(rules)
    if not isinstance(values, Mapping) or set(values) != set(shapes):
        raise ValueError(f"the snapshot is damaged: its fields are not {', '.join(shapes)}.")
    arrays: dict[str, Any] = {"layout": None, "ended": None, "slots": None, "places": None}
    for name, (shape, dtype) in shapes.items():
        try:
            exact = not shape or len(values[name]) == shape[0]  # before it is copied: it may be long
            with np.errstate(over="ignore"):  # a value that does not fit differs below
                value = np.array(values[name] if exact else 0, dtype)
            exact = value.shape == shape and bool(np.equal(value, np.array(values[name])).all())
        except (TypeError, ValueError, OverflowError, RecursionError):
            exact = False
        if not exact:
            raise ValueError(f"the snapshot is damaged: {name} is not {dtype} of shape {shape}.")
        check_range(rules, name, value)
        arrays[name] = rules.xp.asarray(value)
    weight = arrays.pop("shaping_weight")
    if not rules.spec.shaping and weight != 0:
        raise ValueError(f"the snapshot is damaged: shaping_weight is {weight}, but its spec has no shaping.")
    return arrays | {
        "pose": arrays.pop("agent_dir") * rules.n_items + arrays.pop("held"),
        "clock": clock_of(arrays.pop("time"), arrays.pop("done")),
        "words": arrays.pop("rng_key"),
        "weight": weight if rules.spec.shaping else None,
    }
