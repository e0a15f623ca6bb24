"""The self-check's tables: of made-up runs, and those that are documented."""

from __future__ import annotations

from msgspec.structs import replace

from bench import ROOT
from bench.experiments import campaign, selfcheck
from tests.bench.experiments.support import run


def test_summary_counts_found_cases_and_false_alarms() -> None:
    slower = run(3, kind="10 % slower", factor=1.1, slowed="one")
    for name in ("one", "two"):
        first = [[(base, round(head * 1.2)) for base, head in pair] for pair in slower.cases[name].first]
        slower.cases[name] = replace(slower.cases[name], first=first, second=first * 2)
    text = selfcheck.summary([run(0), run(1), slower], suites=50)
    real = next(line for line in text.splitlines() if line.startswith("| 10 % slower"))
    assert [cell.strip() for cell in real.split("|")][2:5] == ["1", "1", "1"]
    assert text == selfcheck.summary([run(0), run(1), slower], suites=50)


def test_the_documented_tables_are_those_of_the_committed_log() -> None:
    runs = campaign.load(ROOT / "bench" / "evidence" / "selfcheck.jsonl")
    text = selfcheck.summary(runs, 2000)
    page = (ROOT / "docs" / "selfcheck.md").read_text(encoding="utf-8")
    assert len(text.split("\n\n")) == 3
    for table in text.split("\n\n"):
        assert table in page
