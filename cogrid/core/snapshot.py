"""Snapshots: a state as plain JSON values, the same from every backend, and back."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from cogrid.backend.env_state import EnvState
from cogrid.core.replace import replace
from cogrid.core.reset import reset
from cogrid.core.rules import Rules

VERSION = 1


def fingerprint(rules: Rules) -> str:
    """Names the spec: equal specs have equal fingerprints, in every process."""
    return hashlib.sha256(repr(rules.spec).encode()).hexdigest()[:16]


def to_plain(rules: Rules, state: EnvState) -> dict[str, Any]:
    """Everything that the state stores, as lists and numbers."""
    fields = {f.name: getattr(state, f.name) for f in dataclasses.fields(state) if f.name != "rules"}
    fields["rng_key"] = rules.backend.words(state.rng_key)
    values = {name: np.asarray(value).tolist() for name, value in fields.items() if value is not None}
    return {"version": VERSION, "spec": fingerprint(rules), "state": values}


def from_plain(rules: Rules, snapshot: Mapping[str, Any]) -> EnvState:
    """The state of a snapshot; refuses one of another version or spec."""
    if not isinstance(snapshot, Mapping) or not {"version", "spec", "state"} <= set(snapshot):
        raise ValueError("this is no snapshot: take one with get_state().")
    if snapshot["version"] != VERSION:
        raise ValueError(
            f"the snapshot has version {snapshot['version']!r}, this cogrid reads version {VERSION}."
        )
    if snapshot["spec"] != fingerprint(rules):
        raise ValueError(
            f"the snapshot is of another spec ({snapshot['spec']}, not {fingerprint(rules)}): "
            "make the environment with the same id and overrides."
        )
    values = dict(snapshot["state"])
    words = np.array(values.pop("rng_key"), np.uint32)
    fresh = reset(rules, words)
    stored = {
        f.name
        for f in dataclasses.fields(fresh)
        if f.name not in ("rules", "rng_key") and getattr(fresh, f.name) is not None
    }
    if set(values) != stored:
        raise ValueError(
            f"the snapshot is damaged: it has the fields {sorted(values)}, not {sorted(stored)}."
        )
    if not rules.spec.shaping:
        del values["shaping_weight"]
    return replace(rules, fresh, rng_key=words, **values)
