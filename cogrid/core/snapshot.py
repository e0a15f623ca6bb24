"""Snapshots: a state as plain JSON values, the same from every backend, and back."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from cogrid.backend.env_state import EnvState
from cogrid.core.replace import check
from cogrid.core.rules import Rules

VERSION = 1


def fingerprint(rules: Rules) -> str:
    """Names the spec: equal specs have equal fingerprints, in every process."""
    return hashlib.sha256(repr(rules.spec).encode()).hexdigest()[:16]


def to_plain(rules: Any, state: EnvState) -> dict[str, Any]:
    """Everything that the state stores, as lists and numbers."""
    values = {f.name: getattr(state, f.name) for f in dataclasses.fields(state) if f.name != "rules"}
    values["rng_key"] = rules.backend.words(state.rng_key)
    plain = {name: np.asarray(value).tolist() for name, value in values.items() if value is not None}
    return {"version": VERSION, "spec": fingerprint(rules), "state": plain}


def from_plain(rules: Rules, snapshot: Mapping[str, Any]) -> EnvState:
    """The state of a snapshot; refuses one of another version or spec."""
    if not isinstance(snapshot, Mapping) or not {"version", "spec", "state"} <= set(snapshot):
        raise ValueError("this is no snapshot: take one with get_state().")
    if snapshot["version"] != VERSION:
        raise ValueError(
            f"the snapshot has version {snapshot['version']!r}, but this cogrid reads version {VERSION}."
        )
    if snapshot["spec"] != fingerprint(rules):
        raise ValueError(
            f"the snapshot is of another spec ({snapshot['spec']}, not {fingerprint(rules)}): "
            "make the environment with the same id and overrides."
        )
    state = rules.spec.game.state_type(**_stored(rules, snapshot["state"]), rules=rules)
    check(rules, state)
    return state


def _stored(rules: Rules, values: Mapping[str, Any]) -> dict[str, Any]:
    """The stored fields, in the backend's arrays; refuses what is missing, strange or misshapen."""
    shapes = rules.stored_shapes() | {"rng_key": ((2,), np.dtype(np.uint32))}
    if not isinstance(values, Mapping) or set(values) != set(shapes):
        raise ValueError(f"the snapshot is damaged: its fields are not {', '.join(shapes)}.")
    arrays: dict[str, Any] = {"layout": None, "ended": None}
    for name, (shape, dtype) in shapes.items():
        try:
            value = np.array(values[name], dtype)
            exact = value.shape == shape and bool(np.equal(value, np.array(values[name])).all())
        except (TypeError, ValueError, OverflowError):
            exact = False
        if not exact:
            raise ValueError(f"the snapshot is damaged: {name} is not {dtype} of shape {shape}.")
        arrays[name] = rules.xp.asarray(value)
    arrays["rng_key"] = rules.backend.key(arrays["rng_key"])
    return arrays
