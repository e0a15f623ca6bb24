"""A/B: what both checkouts answer becomes rows, verdicts and exit codes; with made-up and real processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench import ROOT, ab
from bench.compare import findings
from bench.compare.ab_statistics import FIRST_PAIRS, ROUNDS, SECOND_PAIRS
from bench.exit_codes import Code, UsageError
from bench.measure.plan import Plan
from bench.processes import pair
from bench.processes.pair import CaseSamples, Checkout
from bench.processes.setting import NONE, Setting
from bench.processes.worker import WorkerFailed
from bench.records import Comparison, Row
from bench.storage import results
from bench.storage.baselines import Baselines
from cogrid.benchmarks.case import Case
from tests.bench.support import result

ONE = Case("Overcooked-CrampedRoom-V0", "numpy-single", steps=8)
TWO = Case("Overcooked-CrampedRoom-V0", "numpy-batch", 4, steps=8)
Answer = dict[str, Any]
Prepare = Callable[[Answer], Answer | WorkerFailed]


class Quiet:
    """A progress that only counts."""

    def __init__(self) -> None:
        self.looks: list[str] = []

    def start(self, name: str, number: int, total: int) -> None:
        self.looks.append(name)


class FakeWorker:
    """Answers as a worker does; what it says of a case is made up by `prepare`."""

    def __init__(
        self, prepare: Callable[[Answer], Answer | WorkerFailed], seconds: Callable[[str], float]
    ) -> None:
        self._prepare, self._seconds = prepare, seconds
        self._mode = ""
        self.is_alive = True

    def ask(self, request: Answer | None = None) -> Answer:
        if request is None:
            return self._sample()
        self._mode = request["parameters"]["mode"]
        answer = self._prepare(request)
        if isinstance(answer, WorkerFailed):
            raise answer
        return {"steps": 8, "checksum": "0" * 16, "counters": {"operations": 100}, **answer}

    def _sample(self) -> Answer:
        seconds = self._seconds(self._mode)
        if seconds < 0:
            self.is_alive = False
            raise WorkerFailed("killed.", "out of memory", self)  # type: ignore[arg-type]  # stands for a Worker
        return {"value": seconds}

    def close(self) -> None:
        self.is_alive = False


Play = Callable[..., tuple[list[CaseSamples], list[str]]]


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Play:
    """An A/B of two cases with made-up sides."""

    def run(
        times: Callable[[str, str], float],
        answers: Callable[[str, Answer], Answer | WorkerFailed] = lambda side, request: {},
        setting: Setting = NONE,
    ) -> tuple[list[CaseSamples], list[str]]:
        def start(side: Checkout) -> Any:
            def prepare(request: Answer) -> Answer | WorkerFailed:
                answer = answers(side.name, request)
                return (
                    answer if isinstance(answer, WorkerFailed) else {"origins": [str(side.folder)], **answer}
                )

            return FakeWorker(prepare, lambda mode: times(side.name, mode))

        monkeypatch.setattr(Checkout, "start", start)
        progress = Quiet()
        return ab.compare(Path("/base"), [ONE, TWO], progress, {}, setting), progress.looks  # type: ignore[arg-type]

    return run


def row(samples: CaseSamples) -> Row:
    return ab.ab_row(samples, Plan(ROUNDS), 2)


def compared(samples: CaseSamples) -> Comparison:
    found = row(samples).ab
    assert found is not None
    return found


def codes(found: list[CaseSamples]) -> set[Code]:
    return findings.codes(findings.judge(result([row(samples) for samples in found]), Baselines()))


def test_equal_sides_need_one_look(play: Play) -> None:
    found, looks = play(lambda side, mode: 0.003)
    assert len(looks) == FIRST_PAIRS
    assert [len(taken.first) for taken in found] == [FIRST_PAIRS, FIRST_PAIRS]
    assert [len(pair) for pair in found[0].first] == [ROUNDS] * FIRST_PAIRS
    assert [compared(taken).verdict for taken in found] == ["same", "same"]
    assert codes(found) == {Code.FINE}


def test_only_the_suspect_gets_a_second_look_and_is_a_regression(play: Play) -> None:
    found, looks = play(lambda side, mode: 0.0033 if (side, mode) == ("head", ONE.mode) else 0.003)
    assert len(looks) == FIRST_PAIRS + SECOND_PAIRS
    assert [len(taken.second) for taken in found] == [SECOND_PAIRS, 0]
    ours, other = (compared(taken) for taken in found)
    assert (ours.verdict, ours.confirmed, other.verdict) == ("slower", True, "same")
    assert ours.ratio == pytest.approx(1.1)
    assert codes(found) == {Code.FINE, Code.REGRESSION}


def test_faster_is_confirmed_and_fine(play: Play) -> None:
    found, _ = play(lambda side, mode: 0.0027 if side == "head" else 0.003)
    assert [compared(taken).verdict for taken in found] == ["faster", "faster"]
    assert codes(found) == {Code.FINE}


def test_a_first_look_that_a_second_one_does_not_confirm_is_no_regression(play: Play) -> None:
    turns: dict[str, int] = {}

    def times(side: str, mode: str) -> float:
        turns[side + mode] = turns.get(side + mode, 0) + 1
        first = turns[side + mode] <= FIRST_PAIRS * ROUNDS
        return 0.004 if first and side == "head" and mode == ONE.mode else 0.003

    found, looks = play(times)
    assert len(looks) == FIRST_PAIRS + SECOND_PAIRS
    assert compared(found[0]).verdict == "same"
    assert codes(found) == {Code.FINE}


def test_a_grown_counter_is_a_regression_without_any_time(play: Play) -> None:
    grown = {"counters": {"operations": 103}}
    found, _ = play(lambda side, mode: 0.003, lambda side, request: grown if side == "head" else {})
    assert compared(found[0]).counters == {"operations": (100, 103)}
    assert codes(found) == {Code.FINE, Code.REGRESSION}


def test_what_base_cannot_run_is_new_and_measured_alone(play: Play) -> None:
    def answers(side: str, request: Answer) -> Answer | WorkerFailed:
        unknown = side == "base" and request["parameters"]["mode"] == ONE.mode
        return WorkerFailed("ValueError: it is unknown.") if unknown else {}

    found, _ = play(lambda side, mode: 0.003, answers)
    new = row(found[0])
    assert (compared(found[0]).verdict, new.status) == ("new", "ok")
    assert "it is unknown" in compared(found[0]).why_new
    assert len(new.samples) == FIRST_PAIRS * ROUNDS
    assert codes(found) == {Code.FINE}


def only_in(look: int, side: str) -> Callable[[str, Answer], Answer | WorkerFailed]:
    """One preparation of the first case that fails, counted from 0."""
    asked: dict[str, int] = {}

    def answers(who: str, request: Answer) -> Answer | WorkerFailed:
        if request["parameters"]["mode"] != ONE.mode:
            return {}
        number = asked[who] = asked.get(who, -1) + 1
        return WorkerFailed("a passing fault.") if (who, number) == (side, look) else {}

    return answers


def test_what_is_new_once_stays_new(play: Play) -> None:
    found, _ = play(lambda side, mode: 0.003, only_in(0, "base"))
    assert [compared(taken).verdict for taken in found] == ["new", "same"]
    assert len(found[0].alone) == FIRST_PAIRS * ROUNDS


def test_a_base_that_stops_running_a_case_fails_it(play: Play) -> None:
    found, _ = play(lambda side, mode: 0.003, only_in(1, "base"))
    first = row(found[0])
    assert (first.status, first.error) == ("failed", "base stopped: a passing fault.")
    assert codes(found) == {Code.FAILED, Code.FINE}


def test_counters_that_grew_are_not_hidden_by_a_failure(play: Play) -> None:
    def answers(side: str, request: Answer) -> Answer | WorkerFailed:
        return {"counters": {"operations": 110}} if side == "head" else {}

    found, _ = play(lambda side, mode: -1.0 if (side, mode) == ("head", ONE.mode) else 0.003, answers)
    assert Code.REGRESSION in findings.judge_pair(row(found[0]), compared(found[0])).codes


def test_another_trajectory_is_a_mismatch_and_not_timed(play: Play) -> None:
    found, _ = play(
        lambda side, mode: 0.003, lambda side, request: {"checksum": "1" * 16} if side == "head" else {}
    )
    assert [row(taken).status for taken in found] == ["mismatch", "mismatch"]
    assert found[0].first == []
    assert codes(found) == {Code.MISMATCH}


@pytest.mark.parametrize("dying", ["base", "head"])
def test_a_side_that_dies_fails_its_case_alone(play: Play, dying: str) -> None:
    found, _ = play(lambda side, mode: -1.0 if (side, mode) == (dying, ONE.mode) else 0.003)
    first, second = map(row, found)
    assert (first.status, second.status) == ("out of memory", "ok")
    assert first.error == f"{dying} stopped: killed."
    assert compared(found[1]).verdict == "same"


# Settings


def test_an_option_is_head_s_alone_and_may_play_another_game(play: Play) -> None:
    asked: list[tuple[str, Any]] = []

    def answer(side: str, request: Answer) -> Answer:
        asked.append((side, request["parameters"]["options"]))
        return {"checksum": ("0" if side == "base" else "1") * 16}

    found, _ = play(lambda side, mode: 0.003, answer, Setting("cook_time", 5, "cook_time=5"))
    assert {(side, str(options)) for side, options in asked} == {("base", "{}"), ("head", "{'cook_time': 5}")}
    assert [compared(taken).verdict for taken in found] == ["same", "same"]
    assert row(found[0]).name == "CrampedRoom numpy-single ×8 cook_time=5"


def test_a_variable_must_not_change_the_game(play: Play) -> None:
    def answer(side: str, request: Answer) -> Answer:
        return {"checksum": ("0" if side == "base" else "1") * 16}

    found, _ = play(lambda side, mode: 0.003, answer, Setting("NPROC", 2, "NPROC=2"))
    assert [taken.failure and taken.failure[0] for taken in found] == ["mismatch", "mismatch"]


@pytest.mark.parametrize(
    ("setting", "env"),
    [
        (Setting("NPROC", 2, "NPROC=2"), {"NPROC": "2"}),
        (Setting("JAX_FLAG", True, "JAX_FLAG=a=b"), {"JAX_FLAG": "a=b"}),
        (Setting("xla_fast", True, "xla_fast=true"), {"XLA_FLAGS": "--before --xla_fast=true"}),
        (Setting("--xla_fast", True, "--xla_fast=true"), {"XLA_FLAGS": "--before --xla_fast=true"}),
        (Setting("cook_time", 5, "cook_time=5"), {}),
        (NONE, {}),
    ],
)
def test_settings_of_a_process(
    setting: Setting, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--before")
    assert setting.env == env
    assert (setting.applied(ONE) == ONE) == (setting.name != "cook_time")


def test_code_of_another_tree_is_refused() -> None:
    side = Checkout("base", ROOT, {})
    side.prove(pair.Answer(1, [str(ROOT)]))
    for origins in ([str(ROOT), "/elsewhere"], ["/elsewhere"], []):
        with pytest.raises(UsageError, match="worker of base runs code from"):
            side.prove(pair.Answer(1, origins))


# Real processes, on a copy of the project with a history of its own.

GIT = shutil.which("git")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("project") / "cogrid"  # the folder has the package's name
    without = shutil.ignore_patterns("__pycache__", "results")
    for folder in ("cogrid", "bench"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=without)
    (copy / ".gitignore").write_text("__pycache__/\nbench/results/\n", encoding="utf-8")
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "as it is"]):
        git(copy, *command)
    return copy


def git(folder: Path, *arguments: str) -> str:
    assert GIT
    who = ["-c", "user.name=Somebody", "-c", "user.email=somebody@localhost"]
    return subprocess.run(
        [GIT, *who, *arguments], cwd=folder, check=True, capture_output=True, text=True, encoding="utf-8"
    ).stdout


def against(project: Path, revision: str) -> tuple[subprocess.CompletedProcess[str], Path]:
    output = project / "bench" / "results" / "ab.json"
    output.unlink(missing_ok=True)
    command = [sys.executable, "-m", "bench", "run", "--against", revision, "--output", str(output)]
    command += ["--backend", "numpy", "--only", "CrampedRoom numpy-single"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}  # a path that leads to another tree
    return subprocess.run(
        command, cwd=project, env=env, capture_output=True, text=True, check=False, encoding="utf-8"
    ), output


@pytest.mark.skipif(GIT is None, reason="needs git")
class TestWithRealProcesses:
    def test_a_checkout_against_itself(self, project: Path) -> None:
        done, output = against(project, "HEAD")
        (found,) = results.load(output).rows
        assert found.status == "ok", done.stderr
        assert found.ab is not None
        assert found.ab.verdict not in ("new", "mismatch")
        assert len(found.ab.pairs) == FIRST_PAIRS
        assert all(before == after for before, after in found.ab.counters.values())
        assert git(project, "worktree", "list").count("\n") == 1  # nothing is left behind

    @pytest.mark.slow  # the verdict itself is tested above with made-up processes
    def test_a_changed_game_is_a_mismatch(self, project: Path) -> None:
        rewards = project / "cogrid/_core/phases/rewards.py"
        text = rewards.read_text(encoding="utf-8")
        rewards.write_text(text.replace("def score(", "def _score(", 1) + DOUBLED, encoding="utf-8")
        assert rewards.read_text(encoding="utf-8") != text
        done, _ = against(project, "HEAD")
        rewards.write_text(text, encoding="utf-8")
        assert done.returncode == Code.MISMATCH, done.stdout + done.stderr
        assert "the game has changed" in done.stdout

    def test_an_unknown_revision_is_refused_before_any_work(self, project: Path) -> None:
        done, output = against(project, "no-such-branch")
        assert done.returncode == Code.USAGE
        assert "'no-such-branch' is not a revision" in done.stderr
        assert not output.exists()


DOUBLED = '''


def score(*arguments: object) -> object:
    """Twice of what it should be."""
    return _score(*arguments) * 2
'''
