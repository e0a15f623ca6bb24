"""Planted slowdowns: the commits of a try, and what counts as found."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from bench.experiments import planted
from bench.experiments.planted import Planted
from bench.storage.evidence import Culprit


def shown(clone: Path, sha: str, file: Path) -> str:
    command = ["git", "-C", str(clone), "show", f"{sha}:{file.as_posix()}"]
    return subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8").stdout


def test_the_commits_of_a_try(tmp_path: Path) -> None:
    clone = planted.cloned(tmp_path / "clone")
    made = planted.plant(clone, seed=1, commits=8, turns=500)
    assert len(set(made.commits)) == 8
    assert len({made.slow, made.counted} | made.broken) == 2 + planted.BROKEN
    for place, sha in enumerate(made.commits, 1):
        engine, step = (shown(clone, sha, file) for file in (planted.ENGINE, planted.STEP))
        assert ("for _ in range(500)" in engine) == (place >= made.slow)
        assert ("    len(actions.shape)\n" in step) == (place >= made.counted)
        if place not in made.broken:
            ast.parse(engine)
        else:
            assert "this cannot be imported" in engine
    again = planted.plant(planted.cloned(tmp_path / "other"), seed=1, commits=8, turns=500)
    assert again._replace(commits=[]) == made._replace(commits=[])


def test_a_slowdown_is_a_share_of_a_step() -> None:
    tenth, half = planted.turns_of(0.1), planted.turns_of(0.5)
    assert 20 < tenth < half


def test_what_counts_as_found() -> None:
    commits = ["a" * 40, "b" * 40, "c" * 40]
    made = Planted("0" * 40, commits, slow=3, counted=1, broken=frozenset({2}))

    def found(*first: str) -> Culprit:
        return Culprit(True, list(first), 1.0, 0.0, [], {}, 8)

    assert planted.is_found(made, 3, found(*commits[1:]))
    assert planted.is_found(made, 1, found(commits[0]))
    for wrong in ((), commits, commits[2:], commits[:1]):
        assert not planted.is_found(made, 3, found(*wrong))


def test_tries_are_kept_counted_and_continued(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What `bisect` answers is made up: right, but for the slowdown of the second try."""
    asked: list[str] = []

    def bisected(clone: Path, made: Planted, folder: Path, *options: str) -> tuple[Culprit, float, float]:
        asked.append(folder.name)
        place = made.counted if options else made.slow
        broken = sorted(one for one in made.broken if all(k in made.broken for k in range(one, place)))
        first = [made.commits[one - 1] for one in (*(k for k in broken if k < place), place)]
        return Culprit(True, first[:0] if folder.name == "2-time" else first, 1.0, 0.0, [], {}, 8), 9.0, 5.0

    monkeypatch.setattr(planted, "bisected", bisected)
    options = ["--commits", "8", "--folder", str(tmp_path)]
    for tries, code in ((1, 0), (2, 1)):
        monkeypatch.setattr(sys, "argv", ["planted", "--tries", str(tries), *options])
        assert planted.main() == code
    assert asked == ["1-time", "1-counter", "2-time", "2-counter"]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(
        "try 1: found in 8 comparisons, 9 s (5 s of CPU time); counter found at 8 commits"
    )
    assert lines[2].startswith("try 2: NOT found")
    assert lines[3] == "1 of 2 slowdowns found, in at most 8 comparisons; 2 of 2 counters found."
