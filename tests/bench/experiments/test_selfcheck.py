from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import selfcheck
from bench.results import ResultError
from bench.selfcheck import Kind
from bench.verdicts import FIRST_PAIRS, ROUNDS

NAMES = ("one", "two", "three")


def run(seed: int, noise: float = 0.01, drift: float = 0.0, **changes: Any) -> dict[str, Any]:
    """A line of a log: every process has its own speed, and the machine changes by `drift` between pairs."""
    draw = np.random.default_rng(seed)
    cases = {}
    for name in NAMES:
        first = []
        for _ in range(FIRST_PAIRS):
            pace = float(np.exp(draw.normal(0, drift)))
            rounds = pace * np.exp(draw.normal(0, noise, (ROUNDS, 2)))
            first.append(rounds.tolist())
        cases[name] = {"verdict": "same", "smallest": 0.06, "first": first, "second": []}
    line = {"kind": "A/A", "factor": 1.0, "hog": 0.5, "slowed": None, "seconds": 60.0, "cases": cases}
    return line | changes


def drawn(runs: list[dict[str, Any]]) -> dict[tuple[str, float], float]:
    return {(one.rule, one.factor): one.hits / one.suites for one in selfcheck.redraw(runs, suites=200)}


def test_calm_machine_finds_all_and_alarms_never() -> None:
    shares = drawn([run(seed) for seed in range(5)])
    assert shares["this A/B", 1.0] == 0
    assert shares["this A/B", 1.1] == shares["this A/B", 1.2] == 1


def test_older_rules_cry_wolf_where_the_machine_drifts_and_ours_does_not() -> None:
    shares = drawn([run(seed, drift=0.1) for seed in range(5)])
    assert shares["this A/B", 1.0] == 0
    assert shares["this A/B", 1.1] == 1
    for rule in ("median of 3, 10 %", "A then B, means, 5 %", "asv: Mann–Whitney, 10 %"):
        assert shares[rule, 1.0] > 0.2, rule


def test_rules_judge_by_their_own_limits() -> None:
    before, after = [1.0] * ROUNDS, [1.08] * ROUNDS
    assert not selfcheck.median_of_three(before, after)
    assert selfcheck.means(before, after)
    assert not selfcheck.asv(before, after)
    assert selfcheck.asv(before, [1.2] * ROUNDS)
    assert selfcheck.median_of_three(before, [1.2] * 3 + [9.0] * 5)


def test_only_calm_pairs_beside_the_hog_are_drawn_from() -> None:
    runs = [run(0), run(1, factor=1.1, slowed="one"), run(2, hog=0.0)]
    assert len(selfcheck.pool(runs)) == FIRST_PAIRS
    with pytest.raises(ResultError, match="no A/A run"):
        selfcheck.redraw(runs[1:], suites=10)


def test_a_drawn_suite_slows_the_named_case_only() -> None:
    recorded = selfcheck.pool([run(seed) for seed in range(3)])
    assert selfcheck.ours(recorded, {"two": 1.3}, random.Random(1)) == ["two"]


def test_summary_counts_found_cases_and_false_alarms() -> None:
    slower = run(3, kind="10 % slower", factor=1.1, slowed="one")
    for name in ("one", "two"):
        line = slower["cases"][name]
        line["first"] = [[(base, head * 1.2) for base, head in pair] for pair in line["first"]]
        line["second"] = line["first"] * 2
    text = selfcheck.summary([run(0), run(1), slower], suites=50)
    real = next(line for line in text.splitlines() if line.startswith("10 % slower"))
    assert real.split()[3:6] == ["1", "1", "1"]
    assert text == selfcheck.summary([run(0), run(1), slower], suites=50)


def test_log_survives_a_crash_in_its_last_line_and_nothing_else(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    lines = [json.dumps(run(0)), json.dumps(run(1))]
    log.write_text("\n".join([*lines, lines[0][:50]]))
    assert len(selfcheck.load(log)) == 2
    log.write_text("\n".join([lines[0][:50], *lines]))
    with pytest.raises(ResultError, match="damaged in line 1"):
        selfcheck.load(log)
    with pytest.raises(ResultError, match="cannot be read"):
        selfcheck.load(tmp_path / "none")


def test_kinds_say_what_they_are() -> None:
    assert Kind(1.0, 0.5, 20).name == "A/A, 50 % CPU hog"
    assert Kind(1.1, 0.0, 2).name == "10 % slower, no hog"
