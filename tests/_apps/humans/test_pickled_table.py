"""Pickled tables are data: anything else in a pickle raises a clear error, and nothing in it is run."""

from __future__ import annotations

import os
import pickle
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cogrid._apps.humans.pickled_table import read_table
from tests._apps.humans.recordings import emitted, pickled

COLUMNS = {"state": ["a", "b"], "reward": [0.0, 5.0]}
# Each tuple holds the one before it twice, from the memo: hashing or printing the last takes 2**80 steps.
NESTED = b")\x94" + b"".join(bytes([ord("h"), level, 0x86, 0x94]) for level in range(80))


class Runs:
    """A pickle that runs a command when it is loaded."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.called = function, arguments

    def __reduce__(self) -> Any:
        return self.called


def deep() -> Any:
    nested: Any = []
    for _ in range(200):
        nested = [nested]
    return nested


HOSTILE = {
    "a command": lambda path: pickle.dumps(Runs(os.system, f"touch {path}"), 4),
    "a process": lambda path: pickle.dumps(Runs(subprocess.check_output, ["touch", str(path)]), 4),
    "code": lambda path: pickle.dumps(Runs(eval, f"open({str(path)!r}, 'w')"), 4),
    "an import": lambda path: pickle.dumps(Runs(__import__, "antigravity"), 4),
    "an attribute": lambda path: pickle.dumps(Runs(getattr, "a", "upper"), 4),
    "an old global": lambda path: b"cos\nsystem\n(S'touch " + str(path).encode() + b"'\ntR.",
    "an old instance": lambda path: b"(S'touch " + str(path).encode() + b"'\nios\nsystem\n.",
    "an extension": lambda path: b"\x80\x02\x82\x01.",
    "a persistent name": lambda path: b"\x80\x02Pname\n.",
    "a huge memo": lambda path: b"\x80\x02]r\xff\xff\xff\x7f.",
    "huge bytes": lambda path: b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x0fa.",
    "a deep list": lambda path: pickle.dumps(deep(), 4),
    "another value": lambda path: pickle.dumps({"state": [1]}, 4),
    "a dtype alone": lambda path: pickle.dumps(__import__("numpy").dtype("f8"), 4),
    "nothing": lambda path: b"",
    "text": lambda path: b"some text",
    "half a table": lambda path: pickled(COLUMNS)[:-40],
    "no end": lambda path: pickled(COLUMNS)[:-1],
    "more than one value": lambda path: b"\x80\x04NN.",
    "a mark too few": lambda path: b"\x80\x04]e.",
    "build on a list": lambda path: b"\x80\x04]}b.",
}


def test_a_table_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.pickle").write_bytes(pickled(COLUMNS))
    assert read_table(tmp_path / "a.pickle") == COLUMNS


@pytest.mark.parametrize("kind", HOSTILE)
def test_anything_else_is_a_sentence(tmp_path: Path, kind: str) -> None:
    planted = tmp_path / "planted"
    (tmp_path / "a.pickle").write_bytes(HOSTILE[kind](planted))
    with pytest.raises(ValueError, match=r"a\.pickle is (rejected: it|not a pickled pandas table)") as caught:
        read_table(tmp_path / "a.pickle")
    assert "\n" not in str(caught.value)
    assert not planted.exists()


@pytest.mark.parametrize(
    "place", ["a cell", "a column's name", "a dictionary's key", "a module's name", "alone"]
)
def test_nested_tuples_are_never_walked(tmp_path: Path, place: str) -> None:
    table, replaced = (
        pickled(COLUMNS),
        {"a cell": "a", "a column's name": "state", "a dictionary's key": "_data"},
    )
    text = emitted(replaced.get(place, "numpy"))
    assert text in table
    data = b"\x80\x04}" + NESTED + b"Ns." if place == "alone" else table.replace(text, NESTED, 1)
    (tmp_path / "a.pickle").write_bytes(data)
    with pytest.raises(ValueError, match=r"a\.pickle is (rejected: a cell|not a pickled pandas table)"):
        read_table(tmp_path / "a.pickle")


def test_a_file_beyond_the_limit_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cogrid._apps.humans.pickled_table.MAX_BYTES", 100)
    (tmp_path / "a.pickle").write_bytes(pickled(COLUMNS))
    with pytest.raises(ValueError, match="has more than the limit of 100 bytes"):
        read_table(tmp_path / "a.pickle")


@pytest.mark.parametrize(("old", "new"), [(b"f8", b"V8"), (b"DataFrame", b"DataFrome"), (b"O8", b"b1")])
def test_a_table_with_something_else_inside_is_a_sentence(tmp_path: Path, old: bytes, new: bytes) -> None:
    data = pickled(COLUMNS)
    assert old in data
    (tmp_path / "a.pickle").write_bytes(data.replace(old, new))
    with pytest.raises(ValueError, match=r"a\.pickle is (rejected: it|not a pickled pandas table)"):
        read_table(tmp_path / "a.pickle")
