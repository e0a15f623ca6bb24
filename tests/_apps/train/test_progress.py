"""Progress of training: plain lines in a pipe."""

from __future__ import annotations

import io
import re
import sys

import pytest

pytest.importorskip("rich")
pytest.importorskip("jax")

from cogrid._apps.train.options import Options
from cogrid._apps.train.progress import TrainingProgress


def test_a_pipe_gets_no_bar_even_if_colours_are_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(sys, "stderr", heard := io.StringIO())
    with TrainingProgress(Options(steps=32, num_envs=2, num_steps=16, chunk=1)) as shown:
        shown.start(0)
        shown.finish(1, [1.0])
    assert re.fullmatch(r"0\.00 M steps, return 1\.0, [\d,]+ steps/s\n*", heard.getvalue())
