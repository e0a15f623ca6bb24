"""The machine: a fingerprint that changes with what matters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict, replace

from bench.storage import machine
from tests.bench.support import result


def test_an_untracked_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "ROOT", tmp_path)
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    for command in (("init", "-q"), (*who, "commit", "-q", "--allow-empty", "-m", "first")):
        machine.git(*command)
    clean = machine.git_state()
    assert clean is not None
    assert (clean.dirty, clean.changes) == (False, [])
    (tmp_path / "ändern.txt").touch()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "one.txt").touch()
    assert machine.git_state() == replace(clean, dirty=True, changes=["notes/", "ändern.txt"])


@pytest.mark.parametrize("name", asdict(result().system))
def test_fingerprint_changes_with_what_matters(name: str) -> None:
    here = result().system
    changed: Any = {name: "other"}
    other = replace(here, **changed)
    passing = name in ("os", "memory_bytes")
    assert (machine.fingerprint(other) == machine.fingerprint(here)) == passing
    assert machine.differing(here, other) == ([] if passing else [name])
