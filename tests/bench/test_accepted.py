"""What a change accepts passes `--against`, with its reason: results, a counter or a slowdown."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bench import ROOT, ab
from bench.exit_codes import Code
from bench.measure.plan import Plan
from bench.processes.pair import Checkout
from bench.processes.worker import WorkerFailed
from bench.records import Configuration, Result, Row
from bench.storage import accepting, baselines, machine, results
from bench.storage.identity import identity
from tests.bench.commands.support import bench
from tests.bench.support import result, row
from tests.bench.test_ab import GIT, FakeWorker, git

pytestmark = pytest.mark.skipif(GIT is None, reason="needs git")
CASE = "CrampedRoom numpy-single ×64 cooperative"
Commit = Callable[[str], str]
Against = Callable[..., tuple[int, str]]


def counted(**changes: Any) -> Row:
    """The row of a baseline, which has more steps than that of an A/B."""
    facts = {"name": "a", "mode": "numpy-single", "batch": 1, "options": {}, "counters": {"operations": 100}}
    found = row(**facts | changes)
    return replace(found, identity=identity(found.case.case, Plan()))


def accept(tmp_path: Path, reason: str, found: Result | Row) -> None:
    if isinstance(found, Row):
        found = result([found], configuration=Configuration.of("quick", Plan(), []))
    path = tmp_path / f"{reason}.json"
    results.write(path, replace(found, fingerprint=machine.fingerprint(found.system)))
    accepting.accept([path], reason, allow_dirty=True)


@pytest.fixture
def commit(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Commit:
    """Commits the baselines to a project that has nothing else; the first commit has a baseline."""
    place = tmp_path / "project"
    (place / "bench" / "baselines").mkdir(parents=True)
    git(place, "init", "-q")
    monkeypatch.setattr(machine, "ROOT", place)
    monkeypatch.setattr(baselines, "FOLDER", place / "bench" / "baselines")
    stamps = (f"2026-11-18T00:00:{second:02}+00:00" for second in range(60))
    monkeypatch.setattr(results, "now", lambda: next(stamps))

    def committed(message: str) -> str:
        git(place, "add", "-A")
        git(place, "commit", "-qm", message)
        return git(place, "rev-parse", "HEAD").strip()

    accept(tmp_path, "at first", counted())
    return committed


@pytest.fixture
def against(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Against:
    """`run --against` with made-up sides; its exit code and output."""

    def run(base: str, slower: float = 1.0, **head: Any) -> tuple[int, str]:
        def start(side: Checkout) -> Any:
            def prepare(_: Any) -> dict[str, Any] | WorkerFailed:
                return {"origins": [str(side.folder)], **(head if side.name == "head" else {})}

            return FakeWorker(prepare, lambda _: 0.003 * (slower if side.name == "head" else 1.0))

        monkeypatch.setattr(Checkout, "start", start)
        monkeypatch.setattr(ab, "checkout_of", lambda _: contextlib.nullcontext(Path("/base")))
        capsys.readouterr()
        (tmp_path / "ab.json").unlink(missing_ok=True)
        code = bench("run", "--against", base, "--only", CASE, "-o", tmp_path / "ab.json")
        return code, capsys.readouterr().out

    return run


OTHER = "1" * 16


def test_other_results(tmp_path: Path, commit: Commit, against: Against) -> None:
    base = commit("base")
    assert against(base, checksum=OTHER)[0] == Code.MISMATCH
    accept(tmp_path, "it cooks faster", counted(checksum=OTHER))
    head = commit("head")
    code, out = against(base, checksum=OTHER)
    assert code == 0
    assert "the same; other results, accepted: it cooks faster" in out
    assert "changes accepted in 1 of 1 cases" in out
    assert against(head, checksum="2" * 16)[0] == Code.MISMATCH, "the acceptance is older than the base"
    assert against(base, slower=1.3, checksum=OTHER)[0] == Code.REGRESSION, "only the results were accepted"


def test_a_counter(tmp_path: Path, commit: Commit, against: Against) -> None:
    base = commit("base")
    more = {"counters": {"operations": 101}}
    assert against(base, **more)[0] == Code.REGRESSION
    accept(tmp_path, "one rule more", counted(**more))
    head = commit("head")
    code, out = against(base, **more)
    assert code == 0
    assert "operations grew 1.0 % (accepted: one rule more)" in out
    assert "no counter grew that was not accepted" in out
    assert against(head, **more)[0] == Code.REGRESSION
    assert against(base, counters={"operations": 101, "peak_bytes": 1})[0] == 0, "a new counter"
    assert against(base, checksum=OTHER, **more)[0] == Code.MISMATCH


def test_a_counter_of_another_mode_or_counted_in_another_way(
    tmp_path: Path, commit: Commit, against: Against
) -> None:
    accept(tmp_path, "b", counted(name="b", mode="numpy-batch", batch=4))
    base = commit("base")
    more = {"counters": {"operations": 101}}
    accept(tmp_path, "for batches", counted(name="b", mode="numpy-batch", batch=4, **more))
    assert against(base, **more)[0] == Code.REGRESSION
    path = next(baselines.FOLDER.glob("counters-numpy-*"))
    other = baselines.load(path)
    for one in other.rows:
        one.identity = "f" * 12
    results.write(path, baselines.sealed(other))
    base = commit("as it was once counted")
    accept(tmp_path, "counted anew", counted(**more))
    assert against(base, **more)[0] == Code.REGRESSION


def test_a_slowdown(tmp_path: Path, commit: Commit, against: Against) -> None:
    base = commit("base")
    code, out = against(base, slower=1.2)
    assert code == Code.REGRESSION
    assert "baseline accept" in out
    assert bench("baseline", "accept", tmp_path / "ab.json", "--reason", "safer", "--allow-dirty") == 0
    head = commit("head")
    code, out = against(base, slower=1.2)
    assert code == 0
    assert "20 % slower, accepted: safer" in out
    assert against(base, slower=1.3)[0] == Code.REGRESSION, "slower than was accepted"
    assert against(head, slower=1.2)[0] == Code.REGRESSION


def test_what_was_accepted_without_a_change_of_the_numbers_allows_nothing(
    tmp_path: Path, commit: Commit, against: Against
) -> None:
    base = commit("base")
    accept(tmp_path, "measured again", counted())
    assert against(base, checksum=OTHER)[0] == Code.MISMATCH
    assert against(base, counters={"operations": 101})[0] == Code.REGRESSION


def test_a_base_without_baselines_or_with_others(tmp_path: Path, commit: Commit, against: Against) -> None:
    folder = baselines.FOLDER
    kept = tmp_path / "kept"
    shutil.copytree(folder, kept)
    for path in folder.iterdir():
        path.write_text("{}", encoding="utf-8")
    base = commit("in another form")
    shutil.copytree(kept, folder, dirs_exist_ok=True)
    accept(tmp_path, "faster", counted(checksum=OTHER))
    assert against(base, checksum=OTHER)[0] == Code.MISMATCH, "what it had is not known"


def test_an_edited_baseline_accepts_nothing(tmp_path: Path, commit: Commit, against: Against) -> None:
    base = commit("base")
    path = next(baselines.FOLDER.glob("counters-numpy-*"))
    path.write_text(path.read_text(encoding="utf-8").replace("100", "101"), encoding="utf-8")
    assert against(base)[0] == Code.USAGE


# A whole copy of the project


@pytest.mark.slow
def test_a_rule_and_a_slowdown_in_a_real_checkout(tmp_path: Path) -> None:
    project = tmp_path / "cogrid"
    without = shutil.ignore_patterns("__pycache__", "results", "baselines")
    for folder in ("cogrid", "bench"):
        shutil.copytree(ROOT / folder, project / folder, ignore=without)
    (project / ".gitignore").write_text("__pycache__/\nbench/results/\n", encoding="utf-8")
    git(project, "init", "-q")
    output = "bench/results/x.json"

    def python_m_bench(*arguments: str) -> tuple[int, str]:
        if "-o" in arguments:
            (project / output).unlink(missing_ok=True)
        command = [sys.executable, "-m", "bench", *arguments]
        env = {**os.environ, "PYTHONPATH": str(project)}
        done = subprocess.run(
            command, cwd=project, env=env, capture_output=True, text=True, encoding="utf-8", check=False
        )
        return done.returncode, done.stdout + done.stderr

    def committed() -> None:
        git(project, "add", "-A")
        git(project, "commit", "-qm", "a change")

    def accepted(reason: str, *measured: str) -> None:
        only = ("--only", "CrampedRoom numpy-single cooperative", "-o", output)
        if measured:
            assert python_m_bench(*measured, *only)[0] in (0, 20, 22)
        code, out = python_m_bench("baseline", "accept", output, "--reason", reason, "--allow-dirty")
        assert code == 0, out

    def against(revision: str) -> tuple[int, str]:
        only = ("--backend", "numpy", "--only", "CrampedRoom numpy-single", "-o", output)
        return python_m_bench("run", "--against", revision, *only)

    committed()
    accepted("at first", "run")
    committed()
    rules = project / "cogrid/envs/overcooked/game.py"
    _edit(rules, "cook_time: int = 20", "cook_time: int = 19")
    committed()
    assert against("HEAD~1")[0] == Code.MISMATCH
    accepted("soups cook faster", "run")
    committed()
    code, out = against("HEAD~2")
    assert (code, "other results, accepted: soups cook faster" in out) == (0, True), out
    _edit(rules, "cook_time: int = 19", "cook_time: int = 18")
    committed()
    assert against("HEAD~1")[0] == Code.MISMATCH
    git(project, "revert", "--no-edit", "HEAD")
    _edit(
        project / "cogrid/_core/step.py", "\n    for phase in", "\n    sum(range(20_000))\n    for phase in"
    )
    committed()
    code, out = against("HEAD~1")
    assert code == Code.REGRESSION
    assert "slower, confirmed" in out
    assert "operations grew" in out
    accepted("it is safer")
    accepted("a sum more", "count")
    committed()
    code, out = against("HEAD~2")
    assert code == 0, out
    assert "slower, accepted: it is safer" in out
    assert "(accepted: a sum more)" in out


def _edit(path: Path, before: str, after: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after, 1), encoding="utf-8")
