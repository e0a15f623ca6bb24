"""Fingerprints of all ids and defaults of all options; `python -m tests.identities` records them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import cogrid
from cogrid._core.author.game import Game
from cogrid._core.compile.spec import Spec

FILE = Path(__file__).parent / "identities.json"
IDS = tuple(cogrid.registered())  # before anything else is registered


def fingerprints() -> dict[str, str]:
    """Id -> the fingerprint in snapshots, replays and policies."""
    found = {}
    for id in IDS:
        env = cogrid.make(id)
        env.reset(seed=0)
        found[id] = env.get_state()["spec"]
    return found


def options() -> dict[str, dataclasses.Field[Any]]:
    """ "Class.option" -> its field, of specs and of the games of all ids."""
    games: set[type[Game]] = {type(cogrid.make(id).spec.game) for id in IDS}
    kinds: list[type[Any]] = [Spec, *games]
    return {f"{kind.__name__}.{field.name}": field for kind in kinds for field in dataclasses.fields(kind)}


def defaults() -> dict[str, str]:
    """ "Class.option" -> its default; "" if it has none."""
    found = {name: field.default for name, field in options().items()}
    return {name: "" if value is dataclasses.MISSING else repr(value) for name, value in found.items()}


def recorded() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def record() -> None:
    found = {"fingerprints": fingerprints(), "defaults": defaults()}
    FILE.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    record()
