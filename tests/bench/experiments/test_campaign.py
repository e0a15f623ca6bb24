"""The campaign: its kinds, its runs, and a log that survives a crash."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench import ROOT, ab
from bench.compare.ab_statistics import FIRST_PAIRS, ROUNDS
from bench.exit_codes import UsageError
from bench.experiments import campaign
from bench.experiments.campaign import RunKind
from bench.processes.pair import CaseSamples
from bench.show.progress import Progress
from bench.storage import machine
from bench.suites import standard
from tests.bench.experiments.support import run


def test_kinds_say_what_they_are() -> None:
    assert RunKind(1.0, 0.5, 20).name == "A/A, 50 % CPU hog"
    assert RunKind(1.1, 0.0, 2).name == "10 % slower, no hog"


def test_a_log_survives_a_crash_in_its_last_line_and_nothing_else(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    first, second = run(0), run(1)
    campaign.append(log, first)
    with log.open("ab") as file:
        file.write(msgspec.json.encode(second)[:50])
    assert campaign.load(log) == [first]
    campaign.append(log, second)  # in the place of what was cut off
    assert campaign.load(log) == [first, second]
    log.write_bytes(b"{\n" + log.read_bytes())
    with pytest.raises(UsageError, match=r"line 1 of .* is damaged"):
        campaign.load(log)
    with pytest.raises(UsageError, match="cannot be read"):
        campaign.load(tmp_path / "none")


def test_the_committed_log_can_be_read() -> None:
    runs = campaign.load(ROOT / "bench" / "evidence" / "selfcheck.jsonl")
    assert len(runs) == 23
    assert {len(one.cases) for one in runs} == {10}
    assert sum(one.is_calibration for one in runs) == 20


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, float]]:
    """What is slowed in each comparison; none is really made."""
    slowed: list[dict[str, float]] = []

    def compare(base: Path, cases: Any, progress: Progress, slow: dict[str, float]) -> list[CaseSamples]:
        slowed.append(slow)
        found = [CaseSamples(case) for case in cases]
        for samples in found:
            factor = slow.get(samples.case.name, 1.0)
            samples.first = [[(0.01, 0.01 * factor)] * ROUNDS] * FIRST_PAIRS
            samples.second = samples.first * 2 if factor > 1 else []
        return found

    monkeypatch.setattr(ab, "compare", compare)
    monkeypatch.setattr(campaign, "clean_sha", lambda: "0" * 40)
    monkeypatch.setattr(campaign, "checkout_of", lambda sha: nullcontext(Path()))
    monkeypatch.setattr(machine, "_device", lambda: ("cpu", "cpu"))
    return slowed


def test_a_campaign_is_continued_and_slows_one_case_after_the_other(
    compared: list[dict[str, float]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, cases = tmp_path / "log.jsonl", standard()[:2]
    for kinds in ([RunKind(1.0, 0.0, 1), RunKind(1.1, 0.0, 1)], [RunKind(1.0, 0.0, 1), RunKind(1.1, 0.0, 2)]):
        campaign.run(log, kinds, cases, Progress())
    assert compared == [{}, {cases[0].name: 1.1}, {cases[1].name: 1.1}]
    runs = campaign.load(log)
    assert [one.slower for one in runs] == [[], [cases[0].name], [cases[1].name]]
    assert runs[1].cases[cases[0].name].first[0][0] == (10_000, 11_000)
    assert "10 % slower, no hog: 1 slower, 1 same, 0 s" in capsys.readouterr().err
    log.write_text(log.read_text(encoding="utf-8").replace(runs[0].fingerprint, "f" * 16), encoding="utf-8")
    with pytest.raises(UsageError, match="started on another machine"):
        campaign.run(log, [RunKind(1.0, 0.0, 1)], cases, Progress())


def test_a_case_that_fails_ends_the_campaign_with_the_reason(
    compared: list[dict[str, float]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = CaseSamples(standard()[0])
    broken.failure = ("failed", "head stopped: boom")
    monkeypatch.setattr(ab, "compare", lambda *arguments: [broken])
    with pytest.raises(UsageError, match=r"cannot be judged against itself \(failed\): head stopped: boom"):
        campaign.run(tmp_path / "log", [RunKind(1.0, 0.0, 1)], [broken.case], Progress())
