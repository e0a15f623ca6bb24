"""The statistics of an A/B: false alarms, power, and evidence that is none."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bench.compare.ab_statistics import (
    FIRST_PAIRS,
    MARGIN,
    ROUNDS,
    SECOND_PAIRS,
    Estimate,
    Evidence,
    Rounds,
    estimate,
    evidence,
    judge_evidence,
    seems_different,
    smallest,
)

CASES = 10


def center(pair: Rounds) -> float:
    return estimate(pair).center


def steady(*centers: float) -> Evidence:
    """Pairs whose rounds do not differ."""
    return Evidence(tuple(Estimate(one, 0.0) for one in centers))


def pairs(factor: float, count: int, seed: int, between: float = 0.01, within: float = 0.05) -> list[Rounds]:
    """Rounds of a head that takes `factor` times as long, in processes that differ for good by themselves."""
    draw = np.random.default_rng(seed)
    found: list[Rounds] = []
    for _ in range(count):
        bias = math.exp(draw.normal(0, between))
        base = np.exp(draw.normal(0, within, ROUNDS))
        head = factor * bias * np.exp(draw.normal(0, within, ROUNDS))
        found.append(list(zip(base.tolist(), head.tolist(), strict=True)))
    return found


def verdict(factor: float, seed: int, **noise: float) -> str:
    """Of a whole comparison: a second look where the first one asks for it."""
    first = evidence(pairs(factor, FIRST_PAIRS, seed, **noise))
    suspect = seems_different(first)
    second = evidence(pairs(factor, SECOND_PAIRS, seed + 10**6, **noise)) if suspect else None
    return judge_evidence(first, second, CASES).verdict


def test_center_is_the_log_ratio_and_ignores_outliers() -> None:
    calm = [(1.0, 1.1)] * 7
    assert center(calm) == pytest.approx(math.log(1.1))
    assert center([*calm, *[(1.0, 50.0)] * 5]) == pytest.approx(math.log(1.1))


def test_center_counts_both_directions_alike() -> None:
    pair = pairs(1.3, 1, seed=1)[0]
    swapped = [(head, base) for base, head in pair]
    assert center(swapped) == pytest.approx(-center(pair))


@pytest.mark.parametrize(
    ("factor", "expected"), [(1.0, "same"), (1.1, "slower"), (1.2, "slower"), (0.9, "faster"), (1.02, "same")]
)
def test_verdicts_of_a_calm_machine(factor: float, expected: str) -> None:
    found = [verdict(factor, seed, between=0.004, within=0.02) for seed in range(50)]
    assert found.count(expected) >= 48


def test_noise_makes_it_inconclusive_and_not_slower() -> None:
    found = [verdict(1.0, seed, between=0.08) for seed in range(200)]
    assert found.count("inconclusive") > 150
    assert found.count("slower") + found.count("faster") <= 2


def test_processes_that_differ_for_good_do_not_look_like_evidence() -> None:
    """Many rounds that agree within a pair must not outweigh pairs that disagree."""
    found = [verdict(1.0, seed, between=0.03, within=0.001) for seed in range(300)]
    assert found.count("slower") == 0


def test_nothing_is_called_slower_without_a_second_look() -> None:
    first = steady(0.5, 0.5001, 0.4999, 0.5)
    assert judge_evidence(first, None, CASES).verdict == "inconclusive"
    second = steady(*(0.0, 0.01, -0.01) * 2)
    assert judge_evidence(first, second, CASES).verdict == "same"


def test_an_effect_within_the_margin_is_no_regression_however_sure() -> None:
    sure = steady(0.04, 0.0401, 0.0399, 0.04)
    assert judge_evidence(sure, sure, CASES).verdict == "same"


def test_more_cases_ask_for_more_evidence() -> None:
    first = steady(*(0.1,) * 4)
    second = steady(0.02, 0.06, 0.1, 0.14, 0.18, 0.1, 0.05, 0.15)
    assert judge_evidence(first, second, 1).verdict == "slower"
    assert judge_evidence(first, second, 10_000).verdict == "inconclusive"


def test_smallest_effect_grows_with_the_noise_and_is_kept_at_that_power() -> None:
    calm, wild = (evidence(pairs(1.0, FIRST_PAIRS, 3, between=b)) for b in (0.001, 0.05))
    assert MARGIN < smallest(calm, CASES) < smallest(wild, CASES)


def test_smallest_effect_is_found_as_often_as_promised() -> None:
    spread, n = 0.02, 400
    error = steady(-spread, spread, -spread, spread)  # pairs differ by about the spread
    effect = 1 + smallest(error, CASES)
    found = [verdict(effect, seed, between=spread, within=0.0) for seed in range(n)]
    assert found.count("slower") >= 0.9 * n


def test_a_pair_whose_rounds_differ_wildly_weighs_less() -> None:
    calm = [Estimate(0.1, 0.002)] * 7
    found = Evidence((*calm, Estimate(-0.6, 0.3)))
    assert found.effect == pytest.approx(0.1, abs=0.005)
    assert judge_evidence(found, found, CASES).verdict == "slower"
    unweighted = Evidence((*calm, Estimate(-0.6, 0.002)))
    assert judge_evidence(unweighted, unweighted, CASES).verdict == "inconclusive"


def test_the_error_of_a_pair_is_that_of_the_median_of_its_rounds() -> None:
    draw = np.random.default_rng(0)
    found = [estimate([(1.0, float(np.exp(x))) for x in draw.normal(0, 0.2, ROUNDS)]) for _ in range(300)]
    spread = float(np.std([one.center for one in found]))
    assert np.mean([one.error for one in found]) == pytest.approx(spread, rel=0.15)
