"""Bisection: what is asked, kept and answered, with made-up comparisons, and with git and real processes."""

from __future__ import annotations

import math
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bench import bisect
from bench.exit_codes import UsageError
from bench.experiments import planted
from bench.storage.evidence import Count, Culprit, Folder, Look
from tests.bench.storage.test_evidence import LOOK, SOUGHT
from tests.bench.test_ab import Quiet

COMMITS = [f"{number:040x}" for number in range(65)]
LONG = replace(SOUGHT, good=COMMITS[0], commits=COMMITS[1:])


class Progress(Quiet):
    def finish(self, name: str, outcome: str) -> None:
        self.looks.append(outcome)


@pytest.fixture
def history(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """64 commits of which the 40th is 10 % slower; comparisons cost nothing, and can be stopped."""
    facts: dict[str, Any] = {"slow": 40, "broken": {}, "asked": [], "stop": -1}

    def look(case: object, checkouts: object, base: str, head: str) -> Look:
        if len(facts["asked"]) == facts["stop"]:
            raise KeyboardInterrupt
        facts["asked"].append((COMMITS.index(base), COMMITS.index(head)))
        for one in (base, head):
            if COMMITS.index(one) in facts["broken"]:
                return replace(LOOK, base=base, head=head, rounds=[], broken=one, error="SyntaxError")
        draw = random.Random(f"{base} {head}")
        steps = (COMMITS.index(one) >= facts["slow"] for one in (base, head))
        levels = [math.log(1.1) * step for step in steps]
        rounds = [tuple(math.exp(level + draw.gauss(0, 0.03)) for level in levels) for _ in range(80)]
        counters = {"operations": (219, 219), "flops": (1, 2)}
        return replace(LOOK, base=base, head=head, rounds=rounds, counters=counters)

    monkeypatch.setattr(bisect, "_look", look)
    return facts


def by_time(place: Path, limit: int = 12) -> Culprit:
    return bisect.by_time(Folder(place, LONG), LONG, limit, Progress())  # type: ignore[arg-type]  # quiet


def test_the_commit_is_found_with_its_neighbour_compared(history: dict[str, Any], tmp_path: Path) -> None:
    found = by_time(tmp_path)
    assert found.first == [COMMITS[40]]
    assert found.certain
    assert (39, 40) in history["asked"]
    assert found.comparisons == len(history["asked"]) <= 12
    assert found.own_ratio == pytest.approx(1.1, abs=0.02)
    assert found.grown == ["flops"]
    assert sum(one.probability for one in found.candidates) + found.nothing == pytest.approx(1)


def test_a_stopped_search_goes_on_and_asks_nothing_twice(history: dict[str, Any], tmp_path: Path) -> None:
    whole = by_time(tmp_path / "whole")
    asked, history["asked"] = history["asked"], []
    for stop in (3, 5):
        history["stop"] = stop
        with pytest.raises(KeyboardInterrupt):
            by_time(tmp_path / "stopped")
        assert history["asked"] == asked[:stop]
    history["stop"] = -1
    assert by_time(tmp_path / "stopped") == whole
    assert history["asked"] == asked
    assert by_time(tmp_path / "stopped") == whole  # once more: nothing is left to ask
    assert history["asked"] == asked


def test_too_few_comparisons_are_uncertain_and_more_go_on(history: dict[str, Any], tmp_path: Path) -> None:
    found = by_time(tmp_path, limit=4)
    assert (found.certain, found.first, found.comparisons) == (False, [], 4)
    assert by_time(tmp_path, limit=12).first == [COMMITS[40]]


def test_broken_commits_are_stepped_over(history: dict[str, Any], tmp_path: Path) -> None:
    history["broken"] = {32, 38, 39}
    found = by_time(tmp_path)
    assert found.first == [COMMITS[38], COMMITS[39], COMMITS[40]]
    assert found.certain
    assert {COMMITS[38], COMMITS[39]} <= found.broken.keys()
    assert found.comparisons == len(history["asked"]) - len(found.broken)


@pytest.mark.parametrize(("place", "name"), [(0, "GOOD"), (64, "BAD")])
def test_the_ends_must_run(history: dict[str, Any], tmp_path: Path, place: int, name: str) -> None:
    history["broken"] = {place}
    with pytest.raises(UsageError, match=f"{name}, {COMMITS[place][:10]}, cannot run the case: SyntaxError"):
        by_time(tmp_path)
    history["broken"] = {}
    assert by_time(tmp_path).certain  # it was not kept


def counted(monkeypatch: pytest.MonkeyPatch, numbers: dict[int, int | None]) -> list[int]:
    """What a counter is from these places on; None if the commit is broken."""
    asked: list[int] = []

    def count(case: object, commit: str) -> Count:
        place = COMMITS.index(commit)
        asked.append(place)
        number = numbers[max(at for at in numbers if at <= place)]
        if number is None:
            return Count(when=LOOK.when, commit=commit, error="SyntaxError")
        return Count(when=LOOK.when, commit=commit, counters={"operations": number})

    monkeypatch.setattr(bisect, "_count", count)
    return asked


def by_counter(place: Path, counter: str = "operations") -> Culprit:
    sought = replace(LONG, counter=counter)
    return bisect.by_counter(Folder(place, sought), sought, Progress())  # type: ignore[arg-type]  # quiet


@pytest.mark.parametrize("place", [1, 2, 31, 32, 33, 63, 64])
def test_a_counter_is_found_exactly(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: int) -> None:
    asked = counted(monkeypatch, {0: 219, place: 220})
    assert by_counter(tmp_path).first == [COMMITS[place]]
    assert len(asked) == len(set(asked)) <= 9
    before = len(asked)
    assert by_counter(tmp_path).counter[COMMITS[place]] == 220
    assert len(asked) == before  # all of it was kept


def test_a_counter_steps_over_broken_commits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    counted(monkeypatch, {0: 219, 31: None, 34: 220})
    assert by_counter(tmp_path).first == [COMMITS[place] for place in (31, 32, 33, 34)]


def test_a_counter_must_exist_and_grow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    counted(monkeypatch, {0: 219, 20: 218})
    with pytest.raises(UsageError, match="operations is 219 at GOOD and 218 at BAD: it did not grow"):
        by_counter(tmp_path / "one")
    with pytest.raises(UsageError, match="fusions is no counter of this case at GOOD, which has operations"):
        by_counter(tmp_path / "two", "fusions")


def test_bad_must_have_the_counter_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def count(case: object, commit: str) -> Count:
        name = "operations" if commit == COMMITS[0] else "flops"
        return Count(when=LOOK.when, commit=commit, counters={name: 219})

    monkeypatch.setattr(bisect, "_count", count)
    for _ in range(2):  # it was not kept
        with pytest.raises(UsageError, match="operations is no counter of this case at BAD, which has flops"):
            by_counter(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be killed with its worktree in use")
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_real_repository_with_a_search_that_is_killed(tmp_path: Path) -> None:
    clone = planted.cloned(tmp_path / "clone")
    made = planted.plant(clone, seed=3, commits=6, turns=500)
    folder = tmp_path / "evidence"
    command = [sys.executable, "-m", "bench", "bisect", made.good, made.commits[-1]]
    command += ["--only", planted.CASE, "--counter", planted.COUNTER, "--folder", str(folder)]
    env = {**os.environ, "PYTHONPATH": ""}
    with subprocess.Popen(command, cwd=clone, env=env, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and not (folder / "002.json").exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    kept = {file: file.stat().st_mtime_ns for file in folder.glob("00*.json")}
    assert kept
    found, _, _ = planted.bisected(clone, made, folder, "--counter", planted.COUNTER)
    assert planted.is_found(made, made.counted, found)
    assert {file: file.stat().st_mtime_ns for file in kept} == kept
