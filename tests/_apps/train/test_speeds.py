"""The log of speeds: a line for each chunk, also after a resume."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("equinox")

from cogrid._apps.train.options import Options
from cogrid._apps.train.speeds import HEADER, SpeedLog

OPTIONS = Options(num_envs=4, num_steps=8, chunk=2, seeds=3)


def test_a_line_for_each_chunk(tmp_path: Path) -> None:
    log = SpeedLog(tmp_path, OPTIONS, 0)
    log.add(1, 0.5, [1.0, 2.0, 6.0])
    log.add(2, 0.25, [0.0, 0.0, 1.5])
    assert log.path.read_text(encoding="utf-8").splitlines() == [
        HEADER,
        "2,192,0.500000,384.0,3.0000",
        "4,192,0.250000,768.0,0.5000",
    ]


def test_a_resumed_run_keeps_the_lines_that_its_checkpoint_has(tmp_path: Path) -> None:
    log = SpeedLog(tmp_path, OPTIONS, 0)
    for done in (1, 2, 3):
        log.add(done, 1.0, [0.0])
    log = SpeedLog(tmp_path, OPTIONS, 2)
    log.add(3, 0.5, [0.0])
    lines = log.path.read_text(encoding="utf-8").splitlines()[1:]
    assert [line.split(",")[0] for line in lines] == ["2", "4", "6"]
    assert lines[-1].split(",")[2] == "0.500000"


def test_a_new_run_begins_anew_and_a_lost_log_is_no_error(tmp_path: Path) -> None:
    SpeedLog(tmp_path, OPTIONS, 0).add(1, 1.0, [0.0])
    assert SpeedLog(tmp_path, OPTIONS, 0).path.read_text(encoding="utf-8") == f"{HEADER}\n"
    log = SpeedLog(tmp_path, OPTIONS, 0)
    log.path.unlink()
    SpeedLog(tmp_path, OPTIONS, 5).add(6, 1.0, [0.0])
    assert log.path.read_text(encoding="utf-8").count("\n") == 2
