"""`diff`: exit codes, formats, and files that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from bench.records import Row
from bench.storage import results
from tests.bench.commands.support import Measured, bench
from tests.bench.support import around, paired, result, row

SLOW, SHAKY = row(speed=0.5e6), row(samples=around(1e6, 0.5))
GROWN = row(counters={"equations": 153, "flops": 1020, "bytes_accessed": 2000})
WRONG, BROKEN = row(checksum="f" * 16), row(error="broken")
ELSEWHERE = row(identity="f" * 12)


@pytest.mark.parametrize(
    ("rows", "plain", "strict"),
    [
        ([row()], 0, 0),
        ([SLOW], 0, 21),
        ([SHAKY], 0, 21),
        ([ELSEWHERE], 0, 23),
        ([SHAKY, ELSEWHERE], 0, 23),
        ([BROKEN, ELSEWHERE, SHAKY], 1, 1),
        ([GROWN], 20, 20),
        ([GROWN, BROKEN, ELSEWHERE, SHAKY], 20, 20),
        ([row(ab=paired(1.2, "slower")), SHAKY], 20, 20),
        ([WRONG], 22, 22),
        ([SHAKY, WRONG, GROWN, BROKEN, ELSEWHERE], 22, 22),
        ([replace(SHAKY, checksum="f" * 16)], 22, 22),
    ],
)
def test_exit_codes_of_a_diff(tmp_path: Path, rows: list[Row], plain: int, strict: int) -> None:
    names = [f"case {number}" for number in range(len(rows))]
    before = [row(name=name) for name in names]
    after = [replace(found, name=name) for found, name in zip(rows, names, strict=True)]
    results.write(tmp_path / "a.json", result(before))
    results.write(tmp_path / "b.json", result(after))
    assert bench("diff", tmp_path / "a.json", tmp_path / "b.json") == plain
    assert bench("diff", tmp_path / "a.json", tmp_path / "b.json", "--strict") == strict


def test_a_diff_of_one_file_is_against_the_baselines(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results.write(folder / "mine.json", result([row(name="a", speed=2e6)]))
    results.write(tmp_path / "b.json", result([row(name="a"), row(name="b")]))
    assert bench("diff", tmp_path / "b.json") == 0
    first = capsys.readouterr().out
    assert "100 % slower" in first
    assert bench("diff", tmp_path / "b.json") == 0
    assert capsys.readouterr().out == first
    assert bench("diff", *[tmp_path / "b.json"] * 3) == 2
    assert "takes one or two files, not 3" in capsys.readouterr().err


@pytest.mark.parametrize(("style", "start"), [("json", "{"), ("github", "| case"), ("terminal", "case")])
def test_formats_of_a_diff(
    tmp_path: Path, style: str, start: str, capsys: pytest.CaptureFixture[str]
) -> None:
    results.write(tmp_path / "a.json", result())
    assert bench("diff", tmp_path / "a.json", tmp_path / "a.json", "--format", style) == 0
    assert capsys.readouterr().out.startswith(start)


def test_another_machine_is_reported_and_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results.write(tmp_path / "a.json", result(cpu="another"))
    results.write(tmp_path / "b.json", result([row(speed=1.0)]))
    assert bench("diff", tmp_path / "a.json", tmp_path / "b.json") == 0
    out = capsys.readouterr().out
    assert "not comparable: other cpu" in out
    assert "% slower" not in out
    assert bench("diff", tmp_path / "a.json", tmp_path / "b.json", "--strict") == 23


@pytest.mark.parametrize("text", ["{", '{"schema": 0}', '{"schema": 1}'])
def test_a_damaged_or_older_file_is_a_sentence_and_left_untouched(
    tmp_path: Path, text: str, measured: Measured, capsys: pytest.CaptureFixture[str]
) -> None:
    bad, good = tmp_path / "bad.json", tmp_path / "good.json"
    bad.write_text(text, encoding="utf-8")
    results.write(good, result())
    run = ("run", "--backend", "numpy", "-o", tmp_path / "new.json")
    for arguments in (("diff", bad, good), ("diff", good, bad), (*run, "--baseline", bad)):
        assert bench(*arguments) == 2
        assert f"{bad} " in capsys.readouterr().err
    assert bad.read_text(encoding="utf-8") == text
    assert not measured, "a run says it before it measures"
    assert not (tmp_path / "new.json").exists()
