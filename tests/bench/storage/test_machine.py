"""The machine: a fingerprint that changes with what matters."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import asdict, replace

from bench.storage import machine
from tests.bench.support import result


@pytest.mark.parametrize("name", asdict(result().system))
def test_fingerprint_changes_with_what_matters(name: str) -> None:
    here = result().system
    changed: Any = {name: "other"}
    other = replace(here, **changed)
    passing = name in ("os", "memory_bytes")
    assert (machine.fingerprint(other) == machine.fingerprint(here)) == passing
    assert machine.differing(here, other) == ([] if passing else [name])
