"""`baseline`: accepted, shown and checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.storage import machine
from tests.bench.commands.support import Measured, bench
from tests.bench.support import around


def test_baselines_are_accepted_shown_and_checked(
    measured: Measured, tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured.planted = {"samples": around(1000.0), "counters": {"operations": 100}}
    path = tmp_path / "r.json"
    assert bench("run", "--backend", "numpy", "-o", path) == 0
    assert bench("baseline", "accept", path, "--reason", "a first set", "--allow-dirty") == 0
    written = capsys.readouterr().out.splitlines()[-2:]
    assert {Path(line).name for line in written} == {file.name for file in folder.iterdir()}
    assert bench("baseline", "check") == 0
    assert capsys.readouterr().out.count(" is fine.") == 2
    assert bench("baseline", "show") == 0
    out = capsys.readouterr().out
    assert out.count("  fits  ") == 2
    assert out.count("a first set") == 2
    assert bench("diff", path, "--strict") == 0
    (folder / "damaged.json").write_text("{", encoding="utf-8")
    assert bench("baseline", "check") == 23
    assert "is damaged" in capsys.readouterr().out
    assert bench("diff", path) == 2


def test_a_baseline_needs_a_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        bench("baseline", "accept", tmp_path / "r.json")
    assert ended.value.code == 2
    assert "--reason" in capsys.readouterr().err


def test_the_fingerprint_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("baseline", "show") == 0
    out = capsys.readouterr().out
    assert f"fingerprint   {machine.fingerprint(machine.system())}\n" in out
    assert out.splitlines()[-1] == "No baseline is committed."
    assert "memory_bytes" in out
