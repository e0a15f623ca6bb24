"""The committed golden files are what the reference implementation says today."""

from __future__ import annotations

import pytest

pytest.importorskip("overcooked")

from tests.golden.record import recorded_text
from tests.golden.trajectory import RECORDED, file_of
from tests.oracles.canonical import Kitchen


@pytest.mark.parametrize(
    ("kitchen", "cook_start"), RECORDED, ids=[f"{kitchen.name}-{rule}" for kitchen, rule in RECORDED]
)
def test_recordings_are_current(kitchen: Kitchen, cook_start: str) -> None:
    path = file_of(kitchen, cook_start)
    current = path.read_text(encoding="utf-8") == recorded_text(kitchen, cook_start)
    assert current, f"{path.name} differs: record it again with python -m tests.golden.record"
