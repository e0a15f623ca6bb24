"""Progress: a line now and then in a pipe, also while one case takes long."""

from __future__ import annotations

import io
import re
import sys
import time

import pytest

from bench.show import progress
from bench.show.progress import Progress


def test_a_pipe_hears_of_a_case_that_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "IN_A_PIPE", 0.01)
    heard = io.StringIO()
    monkeypatch.setattr(sys, "stderr", heard)
    with Progress() as shown:
        shown.start("CrampedRoom", 2, 10)
        while heard.getvalue().count("\n") < 3:
            time.sleep(0.01)
        shown.finish("CrampedRoom", "9 steps/s")
        time.sleep(0.05)  # the clock goes on, with nothing to tell
    *signs, last = heard.getvalue().splitlines()
    for line in signs:
        assert re.fullmatch(r"\[3/10\] CrampedRoom: \d+ s so far", line)
    assert last == "[3/10] CrampedRoom: 9 steps/s"


def test_a_pipe_gets_no_bar_even_if_colours_are_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(sys, "stderr", heard := io.StringIO())
    with Progress() as shown:
        shown.start("CrampedRoom", 0, 1)
        shown.finish("CrampedRoom", "9 steps/s")
    assert heard.getvalue() == "[1/1] CrampedRoom: 9 steps/s\n"


def test_a_sign_of_life_comes_within_20_seconds() -> None:
    assert progress.IN_A_PIPE < 20


def test_nothing_is_said_after_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "IN_A_PIPE", 0.01)
    with Progress() as shown:
        shown.start("one", 0, 1)
    capsys.readouterr()
    time.sleep(0.05)
    assert capsys.readouterr().err == ""
