"""The command bisect: one case, two commits, a folder, and the exit code of an uncertain answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import bisect
from bench.commands import bisect as command
from bench.storage import evidence
from bench.storage.evidence import ANSWER, Candidate, Culprit
from tests.bench.commands.support import bench

ONLY = ("--only", "CrampedRoom numpy-single")


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Culprit:
    """The answer that is given; git is made up."""
    answer = Culprit(True, ["b" * 40], 0.999, 0.0, [Candidate("b" * 40, 0.999)], {}, 7, 1.1, 1.09, 1.11, 1.1)
    names = {"good": "a" * 40, "bad": "b" * 40}
    monkeypatch.setattr(command, "sha_of", lambda revision, what: names[revision])
    monkeypatch.setattr(command, "commits_between", lambda good, bad: [bad] if good != bad else [])
    monkeypatch.setattr(command, "described", lambda sha: sha[:7])
    monkeypatch.setattr(bisect, "by_time", lambda folder, sought, limit, progress: answer)
    return answer


def test_the_answer_is_printed_and_kept(
    found: Culprit, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench("bisect", "good", "bad", *ONLY, "--folder", tmp_path) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("First commit: bbbbbbb\n")
    assert "1 commit, evidence in" in shown.err
    assert evidence.results.decoded((tmp_path / ANSWER).read_bytes(), Culprit, "answer") == found


@pytest.mark.parametrize(("strict", "code"), [([], 0), (["--strict"], 21)])
def test_an_uncertain_answer_fails_only_if_strict(
    found: Culprit, tmp_path: Path, strict: list[str], code: int
) -> None:
    found.certain, found.first = False, []
    assert bench("bisect", "good", "bad", *ONLY, "--folder", tmp_path, *strict) == code


def test_searches_have_folders_of_their_own(found: Culprit, capsys: pytest.CaptureFixture[str]) -> None:
    for only in ("CrampedRoom numpy-single", "CrampedRoom numpy-batch"):
        assert bench("bisect", "good", "bad", "--only", only) == 0
    places = {line.split()[-1] for line in capsys.readouterr().err.splitlines() if "evidence in" in line}
    assert len(places) == 2
    assert all(Path(place).name.startswith("aaaaaaaaaa-bbbbbbbbbb-CrampedRoom-numpy-") for place in places)


def test_a_search_is_for_one_case(found: Culprit, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("bisect", "good", "bad", "--only", "CrampedRoom jax-vmap@1024 ×16 cooperative") in (0, 2)
    capsys.readouterr()
    assert bench("bisect", "good", "bad", "--only", "numpy") == 2
    said = capsys.readouterr().err
    assert "--only 'numpy' matches several cases, and a search is for one. Choose of:\n" in said
    assert bench("bisect", "good", "bad", "--only", "nowhere") == 2
    assert "matches no case" in capsys.readouterr().err


def test_a_whole_name_is_one_case_though_another_begins_with_it(found: Culprit) -> None:
    pytest.importorskip("jax")
    only = "CrampedRoom jax-scan@1024 ×32 cooperative"
    assert command._case(only, is_counted=False).name == only


def test_one_commit_is_no_search(found: Culprit, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("bisect", "good", "good", *ONLY) == 2
    assert capsys.readouterr().err.endswith("bench: GOOD and BAD are the same commit, aaaaaaaaaa.\n")


def test_an_interrupted_search_says_how_to_go_on(
    found: Culprit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object) -> Culprit:
        raise KeyboardInterrupt

    monkeypatch.setattr(bisect, "by_time", stop)
    assert bench("bisect", "good", "bad", *ONLY, "--folder", tmp_path) == 130
    assert capsys.readouterr().err.endswith("bench: interrupted; the same command goes on.\n")


def test_revisions_that_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("bisect", "no-such-revision", "HEAD", *ONLY) == 2
    assert "GOOD 'no-such-revision' is not a revision of this checkout" in capsys.readouterr().err
