"""Planted slowdowns: the commits of a try, and what counts as found."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

from bench.experiments import planted
from bench.experiments.planted import Planted
from bench.storage.evidence import Found


def shown(clone: Path, sha: str, file: Path) -> str:
    command = ["git", "-C", str(clone), "show", f"{sha}:{file.as_posix()}"]
    return subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8").stdout


def test_the_commits_of_a_try(tmp_path: Path) -> None:
    clone = planted.cloned(tmp_path / "clone")
    made = planted.plant(clone, seed=1, commits=8, slowdown=0.1)
    assert len(set(made.commits)) == 8
    assert len({made.slow, made.counted} | made.broken) == 2 + planted.BROKEN
    for place, sha in enumerate(made.commits, 1):
        engine, step = (shown(clone, sha, file) for file in (planted.ENGINE, planted.STEP))
        assert ("_sometimes_twice" in engine) == (place >= made.slow)
        assert ("    len(actions.shape)\n" in step) == (place >= made.counted)
        if place not in made.broken:
            ast.parse(engine)
        else:
            assert "this cannot be imported" in engine
    again = planted.plant(planted.cloned(tmp_path / "other"), seed=1, commits=8, slowdown=0.1)
    assert again._replace(commits=[]) == made._replace(commits=[])


def test_what_counts_as_found() -> None:
    commits = ["a" * 40, "b" * 40, "c" * 40]
    made = Planted("0" * 40, commits, slow=3, counted=1, broken=frozenset({2}))

    def found(*first: str) -> Found:
        return Found(True, list(first), 1.0, 0.0, [], {}, 8)

    assert planted.is_found(made, 3, found(*commits[1:]))
    assert planted.is_found(made, 1, found(commits[0]))
    for wrong in ((), commits, commits[2:], commits[:1]):
        assert not planted.is_found(made, 3, found(*wrong))
