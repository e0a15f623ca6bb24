"""The command history: what is read, printed and drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.storage import results
from tests.bench.commands.support import bench
from tests.bench.compare.test_nights import night, stepped


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Artifacts as they are downloaded: a folder for each night, with other files in it."""
    for number, one in enumerate(stepped(25)):
        results.write(tmp_path / str(number) / "bench" / f"benchmark_history_{number}.json", one)
    (tmp_path / "0" / "other.json").write_text("[]", encoding="utf-8")
    return tmp_path


def test_a_change_is_printed_with_the_command_that_finds_its_commit(
    kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench("history", kept) == 0
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert lines[0].startswith("1 series of up to 40 A/B runs, 1 change (if nothing changed, ")
    assert "10 % slower" in lines[4]
    assert "2026-01-25 … 2026-01-26" in lines[4]
    assert lines[-1].startswith(f"  python -m bench bisect {24:040x}"[:30])
    assert shown.err == ""


def test_without_a_change_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results.write(tmp_path / "benchmark_1.json", night(1, 1.0))
    results.write(tmp_path / "benchmark_2.json", night(2, 1.0, counters={"equations": 1}))
    assert bench("history", tmp_path) == 0
    out = capsys.readouterr().out
    assert "0 changes (if" in out
    assert "Counters that changed:" in out


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_it_is_drawn_on_request(kept: Path, tmp_path: Path, ending: str) -> None:
    assert bench("history", kept, "--plot", tmp_path / f"h.{ending}") == 0
    start = (tmp_path / f"h.{ending}").read_bytes()[:20]
    assert start.startswith(b"\x89PNG" if ending == "png" else b"<?xml")


@pytest.mark.parametrize("plot", ["h.jpg", "h"])
def test_other_pictures_are_refused(kept: Path, plot: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("history", kept, "--plot", plot) == 2
    assert "ends neither in .png nor in .svg" in capsys.readouterr().err
