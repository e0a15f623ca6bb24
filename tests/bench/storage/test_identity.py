"""Identities: they notice what is executed, and nothing else."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from bench import ROOT
from bench.measure.plan import Plan
from bench.storage import identity as module
from bench.storage.identity import MEASURING, code_of, executed, identity
from cogrid.benchmarks.case import Case

CASE = Case("Overcooked-CrampedRoom-V0", "numpy-single")
SOURCE = '''
"""A module."""
from typing import NamedTuple

LIMIT: int = 3

class Pair(NamedTuple):
    """Two."""
    first: int
    second: float = 1.0

def double(value: int) -> int:
    """Twice."""
    # A comment.
    return value * 2
'''


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""A module."""', '"""Another text."""'),
        ('    """Twice."""\n', ""),
        ("    # A comment.\n", ""),
        ("value: int) -> int", "value)"),
        ("LIMIT: int = 3", "LIMIT: float = 3"),
        ("first: int", "first: 'a float'"),
        ("    return value * 2", "    return (value*2)"),
        ("from typing import NamedTuple", "from typing_extensions import NamedTuple"),
        ("    return value * 2", "    import math\n    return value * 2"),
    ],
)
def test_what_is_not_executed_changes_nothing(old: str, new: str) -> None:
    assert old in SOURCE
    assert executed(SOURCE.replace(old, new)) == executed(SOURCE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("value * 2", "value * 3"),
        ("LIMIT: int = 3", "LIMIT: int = 4"),
        ("    first: int\n", ""),
        ("def double", "def twice"),
        ("value: int", "value: int = 1"),
    ],
)
def test_what_is_executed_changes_it(old: str, new: str) -> None:
    assert old in SOURCE
    assert executed(SOURCE.replace(old, new)) != executed(SOURCE)


def test_identity_changes_with_the_case_and_not_with_the_number_of_samples() -> None:
    before = identity(CASE, Plan())
    assert before == identity(Case.of(json.loads(json.dumps(CASE.parameters()))), Plan(samples=99))
    assert before != identity(CASE, Plan(seconds=1.0))
    changes: list[dict[str, Any]] = [
        {"mode": "jax-single"},
        {"steps": 7},
        {"workload": "noop"},
        {"seed": 1},
        {"options": (("window", 3),)},
        {"measure": "latency"},
    ]
    others = {identity(dataclasses.replace(CASE, **change), Plan()) for change in changes}
    assert len(others - {before}) == len(changes)


@pytest.mark.parametrize("file", [*MEASURING, "bench/measure/speed.py"])
def test_a_change_of_any_measuring_file_is_noticed_and_a_docstring_is_not(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a copy of the checkout; another measure's module counts for its own cases only."""
    for name in (*MEASURING, "bench/measure/speed.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    path = tmp_path / file

    def code() -> str:
        code_of.cache_clear()
        return code_of(*(tmp_path / name for name in (*MEASURING, "bench/measure/speed.py")))

    before = code()
    text = path.read_text(encoding="utf-8")
    path.write_text(f'"""Other words."""\n{text}', encoding="utf-8")
    # What was the docstring is now a string that nobody uses.
    assert code() == before
    path.write_text(f"{text}\nPLANTED = 1\n", encoding="utf-8")
    assert code() != before
    code_of.cache_clear()


def test_another_measure_may_change_without_touching_speeds(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Path, ...]] = []
    monkeypatch.setattr(module, "code_of", lambda *files: seen.append(files) or "")
    identity(CASE, Plan())
    identity(dataclasses.replace(CASE, measure="train"), Plan())
    speed, train = ({file.name for file in files} for files in seen)
    assert speed - train == {"speed.py"}
    assert train - speed == {"training.py"}
