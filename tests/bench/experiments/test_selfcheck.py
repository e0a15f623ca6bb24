"""The self-check: its tables, those that are documented, and what the rules say of drawn suites."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from bench import ROOT
from bench.compare.ab_statistics import FIRST_PAIRS, ROUNDS
from bench.exit_codes import UsageError
from bench.experiments import campaign, selfcheck
from bench.experiments.campaign import CampaignRun
from bench.show.progress import Progress
from tests.bench.experiments.support import run


def test_summary_counts_found_cases_and_false_alarms() -> None:
    slower = run(3, kind="10 % slower", factor=1.1, slowed="one")
    for name in ("one", "two"):
        first = [[(base, round(head * 1.2)) for base, head in pair] for pair in slower.cases[name].first]
        slower.cases[name] = replace(slower.cases[name], first=first, second=first * 2)
    text = selfcheck.summary([run(0), run(1), slower], 50, Progress())
    real = next(line for line in text.splitlines() if line.startswith("| 10 % slower"))
    assert [cell.strip() for cell in real.split("|")][2:5] == ["1", "1", "1"]
    assert text == selfcheck.summary([run(0), run(1), slower], 50, Progress())


@pytest.mark.slow
def test_the_documented_tables_are_those_of_the_committed_log() -> None:
    runs = campaign.load(ROOT / "bench" / "evidence" / "selfcheck.jsonl")
    text = selfcheck.summary(runs, 2000, Progress())
    page = (ROOT / "docs" / "selfcheck.md").read_text(encoding="utf-8")
    assert len(text.split("\n\n")) == 3
    for table in text.split("\n\n"):
        assert table in page


def shares(runs: list[CampaignRun]) -> dict[tuple[str, float], float]:
    scores = selfcheck.redraw(selfcheck.recorded_pairs(runs), 200, Progress())
    return {(score.rule, score.factor): score.hits / score.suites for score in scores}


def test_on_a_calm_machine_all_is_found_without_alarms() -> None:
    found = shares([run(seed) for seed in range(5)])
    assert found["this A/B", 1.0] == 0
    assert found["this A/B", 1.1] == found["this A/B", 1.2] == 1


def test_rules_that_measure_one_after_the_other_raise_false_alarms_where_the_machine_drifts() -> None:
    found = shares([run(seed, drift=0.1) for seed in range(5)])
    assert found["this A/B", 1.0] == 0
    assert found["this A/B", 1.1] == 1
    for rule in ("median of 3, 10 %", "A then B, means, 5 %", "asv: Mann–Whitney, 10 %"):
        assert found[rule, 1.0] > 0.2, rule


def test_rules_judge_by_their_own_limits() -> None:
    before, after = [1.0] * ROUNDS, [1.08] * ROUNDS
    assert not selfcheck.median_of_three(before, after)
    assert selfcheck.means(before, after)
    assert not selfcheck.asv(before, after)
    assert selfcheck.asv(before, [1.2] * ROUNDS)
    assert selfcheck.median_of_three(before, [1.2] * 3 + [9.0] * 5)


def test_suites_are_drawn_from_a_a_runs_beside_the_hog_only() -> None:
    runs = [run(0), run(1, factor=1.1, slowed="one"), run(2, hog=0.0)]
    assert len(selfcheck.recorded_pairs(runs)) == FIRST_PAIRS
    with pytest.raises(UsageError, match="no A/A run"):
        selfcheck.recorded_pairs(runs[1:])


def test_a_drawn_suite_slows_the_named_case_only() -> None:
    recorded = selfcheck.recorded_pairs([run(seed) for seed in range(3)])
    assert selfcheck.this_ab(recorded, {"two": 1.3}, random.Random(1)) == ["two"]


def test_a_score_has_its_bound() -> None:
    assert selfcheck.Score("a", 1.0, 2000, 0).text == "0.0 % (≤ 0.15 %)"
    assert selfcheck.Score("a", 1.1, 2000, 2000).text == "100.0 % (≥ 99.9 %)"
