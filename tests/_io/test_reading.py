"""Files of somebody else's: limited in bytes and depth, strict JSON, one sentence for what is wrong."""

from __future__ import annotations

import argparse
import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid._io.reading import (
    MAX_BOARD,
    MAX_BYTES,
    MAX_DEPTH,
    MAX_VALUES,
    check_depth,
    limited_bytes,
    setting,
    strict_json,
    whole_number,
)
from cogrid.replay import recording as replay
from cogrid.replay.recording import Replay
from tests.support import BACKENDS

ROOM = "Overcooked-CrampedRoom-V0"


def taped(**metadata: Any) -> Replay:
    return replay.record(cogrid.make(ROOM), np.zeros((3, 2), int), 0, metadata=metadata)


def damaged(field: str, text: str) -> str:
    """The text of a replay with the JSON of one field replaced."""
    content = json.loads(taped().text())
    lines = {name: json.dumps(value) for name, value in content.items()} | {field: text}
    return "{" + ", ".join(f"{json.dumps(name)}: {value}" for name, value in lines.items()) + "}"


def bomb(path: Path, size: int) -> Path:
    """A small file that unpacks to so many bytes."""
    with gzip.open(path, "wb") as file:
        for _ in range(size // 2**20):
            file.write(b" " * 2**20)
    return path


def test_a_file_that_unpacks_to_too_much(tmp_path: Path) -> None:
    """2 MB became 4 GB."""
    file = bomb(tmp_path / "bomb.json.gz", 2 * MAX_BYTES)
    assert file.stat().st_size < 2**18
    tracemalloc.start()
    try:
        with pytest.raises(
            ValueError, match=rf"bomb\.json\.gz.*more than the limit of {MAX_BYTES:,} bytes.*\.$"
        ):
            Replay.load(file)
        assert tracemalloc.get_traced_memory()[1] < 2.5 * MAX_BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("part", ["[],", "{},", "1,"])
def test_a_text_of_many_values_takes_no_memory(tmp_path: Path, part: str) -> None:
    """61 KB became 3.4 GB."""
    text = f"[{part * (MAX_VALUES + 1)}0]"
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(text.encode()))
    for given in (text, text.encode()):
        tracemalloc.start()
        try:
            with pytest.raises(ValueError, match=f"more than the limit of {MAX_VALUES:,} values"):
                strict_json(given)
            assert tracemalloc.get_traced_memory()[1] < 2**16
        finally:
            tracemalloc.stop()
    with pytest.raises(ValueError, match=f"more than the limit of {MAX_VALUES:,} values"):
        Replay.load(tmp_path / "a.json.gz")


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_the_limit_is_exact(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    for size in (99, 100, 101):
        file.write_bytes(gzip.compress(b"a" * size) if name.endswith(".gz") else b"a" * size)
        if size <= 100:
            assert limited_bytes(file, 100) == b"a" * size
        else:
            with pytest.raises(ValueError, match=r"more than the limit of 100 bytes"):
                limited_bytes(file, 100)


def test_what_could_not_be_loaded_is_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "MAX_BYTES", 100)
    with pytest.raises(ValueError, match=r"this replay takes [\d,]+ bytes, but `load` reads at most 100"):
        taped().save(tmp_path / "a.json")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("NaN", "NaN is not a JSON number"),
        ("[1, -Infinity]", "-Infinity is not a JSON number"),
        ("1e999", "1e999 is too large"),
        ("[" * 100_000, "nested more than"),
        ("[" * 500 + "]" * 500, "nested more than"),
        ('{"a":' * 500 + "1" + "}" * 500, "nested more than"),
        ("1" * 5000, "limit"),  # Python's own, on digits
        ("[1,", "Expecting value"),
    ],
    ids=range(8),
)
def test_json_beyond_the_standard_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        strict_json(text)
    for field in ("metadata", "start", "version", "overrides"):
        where = text if field == "version" else f'{{"score": {text}}}'
        with pytest.raises(
            ValueError, match=r"^file\.json is not a replay, or it is damaged: .*\.$"
        ) as caught:
            Replay.parse(damaged(field, where), "file.json")
        assert why in str(caught.value)
        assert len(str(caught.value)) < 300


def test_ordinary_json_is_read() -> None:
    deep = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    for text in ("1", '{"a": [1, 2.5, null, true, "NaN"]}', deep):
        assert strict_json(text) == json.loads(text)
    with pytest.raises(ValueError, match=f"more than {MAX_DEPTH} deep"):
        strict_json(f"[{deep}]")


def test_metadata_too_deep_is_not_recorded() -> None:
    deep: Any = 1
    for _ in range(2000):
        deep = [deep]
    loop: list[Any] = []
    loop += [loop] * 10
    for value in (deep, loop):
        with pytest.raises(TypeError, match=r"^metadata=.* nested more than .*\.$") as caught:
            taped(score=value)
        assert len(str(caught.value)) < 300
    check_depth({"score": [1, (2, {"a": "b"})]})


@pytest.mark.parametrize("version", ["9" * 5000, ["a"] * 5000])
def test_a_long_version_is_told_in_short(version: Any) -> None:
    with pytest.raises(ValueError, match=r"this has version .* but this cogrid reads version 1\.$") as caught:
        Replay.parse(damaged("version", json.dumps(version)))
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_snapshot_that_is_long_or_deep(backend: str) -> None:
    env = cogrid.make(ROOM, backend)
    env.reset(seed=0)
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    for field, value in (("cells", range(10**15)), ("pos", deep), ("time", deep), ("pos", {0: 1, 1: 2})):
        snapshot = env.get_state()
        snapshot["state"][field] = value
        with pytest.raises(
            ValueError, match=rf"^the snapshot is damaged: {field} is not int\d+ of shape .*\.$"
        ):
            env.set_state(snapshot)
    for field in ("version", "spec"):
        with pytest.raises(ValueError, match=rf"^the snapshot .*{field}.*\.$") as caught:
            env.set_state({**env.get_state(), field: deep})
        assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[("true", True), ("True", True), ("False", False), ("None", None), ("null", None), ("5", 5)],
        *[("[1, 2]", (1, 2)), ("TrueNorth", "TrueNorth"), ('"True"', "True"), ("a=b", "a=b")],
    ],
)
def test_a_setting_is_json_or_a_word_of_python_or_text(text: str, value: Any) -> None:
    name, found = setting(f"common={text}")
    assert (name, found, type(found)) == ("common", value, type(value))


@pytest.mark.parametrize(
    ("text", "number"),
    [("7", 7), ("1e2", 100), ("1_000", 1000), ("5.0", 5), ("-3", -3), ("1e30", 10**30)],
)
def test_whole_numbers_of_a_command_line(text: str, number: int) -> None:
    found = whole_number()(text)
    assert (found, type(found)) == (number, int)


@pytest.mark.parametrize(
    ("text", "limits", "words"),
    [
        ("1.5", (), "'1.5' is not a whole number"),
        ("ten", (), "'ten' is not a whole number"),
        ("", (), "'' is not a whole number"),
        ("nan", (), "'nan' is not a whole number"),
        ("snan", (), "'snan' is not a whole number"),
        ("inf", (), "'inf' is not a whole number"),
        ("1e999999999", (), "'1e999999999' is not a whole number"),
        ("0", (1,), "'0' is not a whole number of at least 1"),
        ("1e4", (1, 1000), "'1e4' is not a whole number from 1 to 1,000"),
    ],
)
def test_what_is_not_a_whole_number(text: str, limits: tuple[int, ...], words: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError) as caught:
        whole_number(*limits)(text)
    assert str(caught.value) == words


BOARD = "XXPXX\nO1 2O\nX   X\nXDXSX"


@pytest.mark.parametrize("data", [BOARD.encode(), f"\ufeff{BOARD}\n\n".replace("\n", "\r\n").encode()])
def test_a_board_from_a_file(data: bytes, tmp_path: Path) -> None:
    """A path, or @FILE on a command line; whatever is saved has the text."""
    file = tmp_path / "kitchen 1.txt"
    file.write_bytes(data)
    assert setting(f"layout=@{file}") == ("layout", BOARD)
    assert setting(json.dumps(f"layout=@{file}")[1:-1]) == ("layout", BOARD)
    assert setting(f'layout=["@{file}", "CrampedRoom"]') == ("layout", (BOARD, "CrampedRoom"))
    assert setting("cook_start=@x") == ("cook_start", "@x")
    env = cogrid.make(ROOM, layout=file)
    assert env.spec == cogrid.make(ROOM, layout=BOARD).spec == cogrid.make(ROOM, layout=[file]).spec
    assert cogrid.make_vec(ROOM, 2, layout=[file, "CrampedRoom"]).spec.layout[0].text == BOARD
    saved = replay.record(env, np.zeros((2, 2), int), 0)
    file.unlink()
    assert str(tmp_path) not in saved.text()
    again = Replay.parse(saved.text(), "it")
    again.verify()
    assert cogrid.make(again.id, **again.overrides).spec == env.spec


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", r"b\.txt is not a board: write a line for each row"),
        (b"CrampedRoom\n", r"b\.txt is not a board"),
        (b"XX\xff\nXX", r"b\.txt is not a text in UTF-8, which a board must be\."),
        (b"X" * (MAX_BOARD + 1), rf"b\.txt has more than the limit of {MAX_BOARD:,} bytes"),
        (None, r"b\.txt: No such file or directory\.$"),
    ],
)
def test_a_file_that_is_no_board(data: bytes | None, why: str, tmp_path: Path) -> None:
    file = tmp_path / "b.txt"
    if data is not None:
        file.write_bytes(data)
    with pytest.raises(argparse.ArgumentTypeError, match=why):
        setting(f"layout=@{file}")
    with pytest.raises((ValueError, OSError)):
        cogrid.make(ROOM, layout=file)


def test_nothing_that_is_saved_names_a_file(tmp_path: Path) -> None:
    file = tmp_path / "kitchen.txt"
    file.write_text(BOARD, encoding="utf-8")
    why = "names a file, but a spec, and what is saved of it, has the board itself: give `make` a"
    spec = cogrid.make(ROOM).spec
    for layout in (file, [file], f"@{file}", [f"@{file}"]):
        with pytest.raises((TypeError, ValueError), match=why):
            spec.override(layout=layout)
    with pytest.raises(ValueError, match=why):
        cogrid.make(ROOM, layout=f"@{file}")  # nor does a text from elsewhere make it read a file
    text = replay.record(cogrid.make(ROOM, layout=BOARD), np.zeros((2, 2), int), 0).text()
    options = json.loads(text)
    (named,) = [name for name in options if isinstance(options[name], dict) and "layout" in options[name]]
    for layout, why_not in ((f"@{file}", why), (str(file), "unknown layout")):
        options[named]["layout"] = [layout]
        with pytest.raises(ValueError, match=why_not):
            Replay.parse(json.dumps(options), "it").verify()
