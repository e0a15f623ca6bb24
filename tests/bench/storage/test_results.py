"""Result files: written whole, read again, and refused in one sentence."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from bench import ROOT
from bench.exit_codes import UsageError
from bench.storage import baselines, machine, results, schema
from tests.bench.support import result, row


def test_a_written_result_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "result.json"
    results.write(path, result())
    assert results.load(path) == result()
    assert [file.name for file in path.parent.iterdir()] == ["result.json"]


@pytest.mark.parametrize(("tag", "error"), [(object(), TypeError), (7, UsageError)])
def test_what_cannot_be_written_leaves_the_old_file(tmp_path: Path, tag: Any, error: type[Exception]) -> None:
    path = tmp_path / "result.json"
    results.write(path, result())
    wrong = result()
    wrong.tag = tag
    with pytest.raises(error):
        results.write(path, wrong)
    assert results.load(path) == result()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, r"cannot be read: No such file"),
        ('{"schema": 1, "rows', r"is damaged, it is not JSON"),
        ("[1, 2]", r"has schema version None and this program reads 1: measure again\.$"),
        ('{"schema": 0}', r"has schema version 0 and this program reads 1"),
        ('{"schema": 1}', r"is damaged: Object missing required field `created`"),
        ("[" * 100_000, r"is damaged"),
        ('{"schema": 1, "created": "2026-99-99T00:00:00+00:00"}', r"is damaged"),
    ],
)
def test_what_is_no_result_is_refused_in_a_sentence(tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "result.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        results.load(path)
    assert text is None or path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"samples": [1.0, -2.0]}, r"samples\[\.\.\.\]|samples\[1\]"),
        ({"samples": []}, r"\$\.rows\[0\]"),
        ({"status": "failed"}, r"\$\.rows\[0\]"),
        ({"identity": "x"}, r"\$\.rows\[0\]\.identity"),
        ({"counters": {"flops": 1.5}}, r"\$\.rows\[0\]\.counters"),
        ({"status": "splendid"}, r"\$\.rows\[0\]\.status"),
        ({"colour": "red"}, r"unknown field `colour`"),
    ],
)
def test_damage_is_located(changes: dict[str, Any], place: str) -> None:
    facts = msgspec.to_builtins(result())
    facts["rows"][0] |= changes
    with pytest.raises(UsageError, match=f"r.json is damaged: .*{place}"):
        results.decoded(json.dumps(facts).encode(), type(result()), "r.json")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"created":"2026-11-16', '"created":"2026-13-45'),
        ("+00:00", ""),
        ("1000000.0", "NaN"),
        ("1000000.0", "Infinity"),
        ("1000000.0", "1e999"),
        ("1000000.0", "9" * 5000),
        ('"tag":""', f'"tag":{"[" * 5000}{"]" * 5000}'),
    ],
)
def test_impossible_values_are_one_sentence(tmp_path: Path, old: str, new: str) -> None:
    text = msgspec.json.encode(result()).decode()
    assert old in text
    path = tmp_path / "r.json"
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(UsageError, match=r"r\.json is damaged") as refused:
        results.load(path)
    assert len(str(refused.value)) < 600
    with pytest.raises(UsageError, match="holds no results"):
        results.all_in(tmp_path)


def test_a_pipe_and_a_huge_file_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    with (tmp_path / "huge.json").open("wb") as file:
        file.truncate(results.MAX_BYTES + 1)
    with pytest.raises(UsageError, match=r"pipe.json is not a regular file\.$"):
        results.load(tmp_path / "pipe.json")
    with pytest.raises(UsageError, match="more than the limit of 256 MiB"):
        results.load(tmp_path / "huge.json")
    with pytest.raises(UsageError, match="holds no results"):
        results.all_in(tmp_path)


def test_rows_that_failed_are_valid(tmp_path: Path) -> None:
    found = result(rows=[row(error="no memory"), row(error="no", status="mismatch")])
    results.write(tmp_path / "r.json", found)
    assert results.load(tmp_path / "r.json") == found


def test_a_new_result_describes_this_machine(tmp_path: Path) -> None:
    new = results.new(result().configuration, "tag", "why")
    results.write(tmp_path / "r.json", new)
    assert (new.rows, new.tag, new.description) == ([], "tag", "why")
    assert new.fingerprint == machine.fingerprint(machine.system())


def test_default_names_hold_the_tag_and_the_time() -> None:
    assert results.default_path(result(tag="main")).name.startswith("benchmark_main_20")
    untagged = results.default_path(result(tag=""))
    assert untagged.name.startswith("benchmark_20")
    results.write(untagged, result(tag=""))
    again = result(tag="")
    later = results.default_path(again)
    assert later != untagged
    assert later.name == results.file_name(again), "the record knows its name"


def test_the_readable_results_of_a_folder_in_time_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results.write(tmp_path / "a.json", result(created="2026-11-17T00:00:00+00:00", tag="new"))
    results.write(tmp_path / "b.json", result(created="2026-11-15T00:00:00+00:00", tag="old"))
    (tmp_path / "c.json").write_text("{", encoding="utf-8")
    found = results.all_in(tmp_path)
    assert [(name, one.tag) for name, one in found.items()] == [("b.json", "old"), ("a.json", "new")]
    assert "bench: skipped: " in capsys.readouterr().err
    with pytest.raises(UsageError, match="is not a folder"):
        results.all_in(tmp_path / "a.json")


# Files that exist stay readable, and the schema is that of the records.

COMMITTED = [
    *sorted((ROOT / "bench" / "baselines").glob("*.json")),
    *(ROOT / "bench" / "evidence").glob("*.json"),
]


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.name)
def test_committed_files_are_read_and_fit_the_schema(path: Path) -> None:
    found = baselines.load(path)
    kind = {"$ref": f"#/$defs/{type(found).__name__}", "$defs": schema.schema()["$defs"]}
    jsonschema.validate(json.loads(path.read_text(encoding="utf-8")), kind)
    jsonschema.validate(msgspec.to_builtins(found), kind)


def test_the_committed_schema_is_that_of_the_records() -> None:
    assert schema.FILE.read_text(encoding="utf-8") == schema.text(), (
        "python -m bench.storage.schema writes it"
    )
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**msgspec.to_builtins(result()), "fingerprint": "x"}, schema.schema())
