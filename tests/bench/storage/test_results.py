"""Result files: valid, written whole, refused in words, and identities that notice what was measured."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from bench import results
from bench.results import ResultError
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.measures import Plan
from tests.bench.support import result, row

CASE = Case("Overcooked-CrampedRoom-V0", "numpy-single")


def test_a_written_result_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "result.json"
    results.write(path, result())
    assert results.load(path) == result()
    assert [file.name for file in path.parent.iterdir()] == ["result.json"]


def test_what_cannot_be_written_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    results.write(path, result())
    with pytest.raises(TypeError):
        results.write(path, result(tag=object()))
    assert results.load(path) == result()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, r"cannot be read: No such file"),
        ('{"schema": 1, "rows', r"is damaged, it holds no JSON"),
        ("[1, 2]", r"has schema version None and this program reads 1: measure anew\.$"),
        ('{"schema": 0}', r"has schema version 0 and this program reads 1"),
        ('{"schema": 1}', r"is damaged at top: 'created' is a required property"),
    ],
)
def test_what_is_no_result_is_refused_in_a_sentence(tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "result.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ResultError, match=message):
        results.load(path)
    assert text is None or path.read_text() == text


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"samples": [1.0, -2.0]}, "rows/0/samples/1"),
        ({"samples": []}, "rows/0/"),
        ({"status": "failed"}, "rows/0/error"),
        ({"identity": "x"}, "rows/0/identity"),
        ({"counters": {"flops": 1.5}}, "rows/0/counters/flops"),
        ({"status": "splendid"}, "rows/0/"),
    ],
)
def test_damage_is_located(changes: dict[str, Any], place: str) -> None:
    results.validate(result())
    with pytest.raises(ResultError, match=f"is damaged at {place}"):
        results.validate(result(rows=[row(**changes)] if "status" not in changes else [row() | changes]))


def test_rows_that_failed_are_valid() -> None:
    results.validate(result(rows=[row(error="no memory"), row(error="no", status="mismatch")]))


def test_a_new_result_describes_this_machine() -> None:
    new = results.new(result()["configuration"], "tag", "why")
    results.validate(new)
    assert new["rows"] == []
    assert (new["tag"], new["description"]) == ("tag", "why")
    assert new["fingerprint"] == results.fingerprint(results.system())


def test_fingerprint_changes_with_what_matters() -> None:
    machine = result()["system"]
    same = results.fingerprint(machine)
    for name in machine:
        other = results.fingerprint({**machine, name: "other"})
        assert (other == same) == (name in ("os", "memory_bytes")), name


def test_identity_changes_with_the_case_and_with_the_measuring_code(monkeypatch: pytest.MonkeyPatch) -> None:
    before = results.identity(CASE, Plan())
    assert before == results.identity(Case.of(json.loads(json.dumps(CASE.parameters()))), Plan(samples=99))
    assert before != results.identity(CASE, Plan(seconds=1.0))
    changes: list[dict[str, Any]] = [
        {"mode": "jax-single"},
        {"steps": 7},
        {"workload": "noop"},
        {"seed": 1},
        {"options": (("window", 3),)},
        {"measure": "latency"},
    ]
    others = {results.identity(dataclasses.replace(CASE, **change), Plan()) for change in changes}
    assert len(others - {before}) == len(changes)
    code = results.measuring_code()
    assert b"def take(" in code
    assert b"class ScriptedCooks" in code
    monkeypatch.setattr(results, "measuring_code", lambda: code + b"#")
    assert results.identity(CASE, Plan()) != before


def test_statistics_of_known_samples() -> None:
    found = results.summarise([float(n) for n in range(1, 101)])
    assert found is not None
    assert (found["median"], found["mean"], found["min"], found["max"]) == (50.5, 50.5, 1.0, 100.0)
    assert (found["p95"], found["p99"]) == pytest.approx((95.05, 99.01))
    assert found["cv"] == pytest.approx(29.011 / 50.5, rel=1e-4)
    assert results.summarise([]) is None
    one = results.summarise([3.0])
    assert one is not None
    assert (one["std"], one["p99"]) == (0.0, 3.0)


def test_default_names_hold_the_tag_and_the_time() -> None:
    assert results.default_path("main").name.startswith("benchmark_main_20")
    assert results.default_path().name.startswith("benchmark_20")
