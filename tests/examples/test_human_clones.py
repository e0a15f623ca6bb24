"""Clones of recorded players: one command makes them from a recording, and they say what they are."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cogrid.policies import policy_file
from tests._apps.humans.recordings import played, write
from tests.episodes import ROOT

jax: Any = pytest.importorskip("jax")
NAME = "Overcooked-CrampedRoom-V0.npz"


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    small = ("--epochs", "1", "--hidden", "8", "--episodes", "1")
    monkeypatch.setattr(sys, "argv", ["behaviour_cloning.py", *arguments, *small])
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        runpy.run_path(str(ROOT / "examples" / "behaviour_cloning.py"), run_name="__main__")


def test_one_command_makes_the_dataset_and_a_clone_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    games, out = write(tmp_path / "games.pickle", played(30)), tmp_path / "humans"
    out.mkdir()
    (out / "earlier.npz").write_bytes(b"not one of these games")
    run(monkeypatch, str(games), "--out", str(out))
    with np.load(out / NAME, allow_pickle=False) as dataset:
        assert len(dataset["people"]) == 30
    assert policy_file.load(out / "clones" / NAME).about["cloned from"] == NAME
    assert "with the zoo: " in capsys.readouterr().out
    run(monkeypatch, str(out / NAME), "--out", str(tmp_path / "again"))  # from the dataset alone
    first, again = (policy_file.load(folder / "clones" / NAME) for folder in (out, tmp_path / "again"))
    np.testing.assert_array_equal(first.layers[-1][0], again.layers[-1][0])
    assert not (tmp_path / "again" / NAME).exists()


def test_games_that_cannot_be_read_end_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        run(monkeypatch, str(tmp_path / "none.pickle"), "--out", str(tmp_path / "humans"))
    assert "none.pickle: No such file or directory." in capsys.readouterr().err
