"""The noisy binary search in simulation: with the noise of two machines, planted steps and broken commits."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Collection, Sequence

import numpy as np
import pytest

from bench import ROOT
from bench.compare.ab_statistics import Estimate, estimate
from bench.compare.bisection import SURE, Compared, Search
from bench.experiments import campaign

COMMITS = 64
Noise = Callable[[random.Random], Estimate]


def recorded(name: str) -> Noise:
    """Pairs of identical processes from a campaign, most of them beside a process that works in bursts."""
    runs = [run for run in campaign.load(ROOT / "bench/evidence" / name) if run.is_calibration]
    pairs = [pair for run in runs for case in run.cases.values() for pair in (*case.first, *case.second)]
    estimates = [estimate(pair) for pair in pairs]

    def noise(draw: random.Random) -> Estimate:
        one = draw.choice(estimates)
        return one._replace(center=one.center * draw.choice((-1, 1)))

    return noise


def normal(deviation: float) -> Noise:
    return lambda draw: Estimate(draw.gauss(0, deviation), deviation / 2)


def searched(
    levels: Sequence[float],
    noise: Noise,
    draw: random.Random,
    broken: Collection[int] = (),
    limit: int = 12,
) -> Search:
    """The search among commits with these logs of their times; the first is the good one."""
    search = Search(len(levels) - 1)
    while len(search.compared) < limit and (pair := search.next()):
        cannot = [place for place in pair if place in broken]
        if cannot:
            search.leave_out(cannot[0])
            continue
        base, head = pair
        one = noise(draw)
        search.add(Compared(base, head, one._replace(center=one.center + levels[head] - levels[base])))
    return search


def stepped(steps: dict[int, float], commits: int = COMMITS) -> list[float]:
    return [sum(math.log(factor) for at, factor in steps.items() if at <= k) for k in range(commits + 1)]


def outcome(search: Search, place: int) -> str:
    answer = search.answer()
    if not answer.is_certain:
        return "nothing" if answer.is_nothing else "uncertain"
    return "right" if answer.before < place <= answer.first else "wrong"


def outcomes(factor: float, noise: Noise, times: int, broken: float = 0.05) -> tuple[Counter[str], list[int]]:
    draw, found, compared = random.Random(1), Counter[str](), []
    for _ in range(times):
        place = draw.randint(1, COMMITS)
        cannot = {k for k in range(1, COMMITS) if draw.random() < broken}
        search = searched(stepped({place: factor}), noise, draw, cannot)
        found[outcome(search, place)] += 1
        compared.append(len(search.compared))
    return found, compared


@pytest.mark.parametrize(
    ("factor", "log", "right"),
    [
        (1.1, "", 0.995),  # CPU time on a machine with a load of 7 on two cores
        (1.05, "", 0.9),
        (1.1, "selfcheck-short.jsonl", 0.96),  # the clock's time, beside a process in bursts
        (1.1, "selfcheck.jsonl", 0.94),  # the same, in parts with a second A/B on the same core
    ],
    ids=["cpu", "cpu, 5 %", "bursts", "crowd"],
)
def test_planted_slowdowns_are_found_and_nothing_else(factor: float, log: str, right: float) -> None:
    times = 600
    found, compared = outcomes(factor, recorded(log) if log else normal(0.01), times)
    assert found["right"] >= right * times, found
    assert found["wrong"] <= (1 - SURE) / 2 * times, found
    assert found["nothing"] <= (1 - SURE) * times, found
    assert max(compared) <= 12


@pytest.mark.parametrize("name", ["selfcheck.jsonl", "selfcheck-short.jsonl"])
def test_where_nothing_became_slower_nothing_is_found(name: str) -> None:
    draw, noise, found = random.Random(2), recorded(name), Counter[str]()
    for _ in range(600):
        found[outcome(searched(stepped({}), noise, draw), 0)] += 1
    assert found["wrong"] <= 3, found
    assert found["nothing"] > 500, found


def test_a_slow_drift_is_no_commit() -> None:
    draw, found = random.Random(3), Counter[str]()
    for _ in range(100):
        found[outcome(searched(stepped(dict.fromkeys(range(1, 65), 1.0016)), normal(0.01), draw), 0)] += 1
    assert set(found) == {"uncertain"}


def test_of_two_steps_one_is_found_or_none() -> None:
    draw = random.Random(4)
    for _ in range(100):
        answer = searched(stepped({20: 1.05, 45: 1.05}), normal(0.01), draw).answer()
        assert not answer.is_certain or answer.first in (20, 45)


def test_broken_neighbours_are_answered_together() -> None:
    search = searched(stepped({30: 1.1}), normal(0.005), random.Random(5), broken=(28, 29))
    assert (search.answer().before, search.answer().first) == (27, 30)
    assert search.answer().is_certain


def test_an_answer_rests_on_a_comparison_of_two_neighbours() -> None:
    search = searched(stepped({30: 1.1}), normal(0.005), random.Random(6))
    asked = [(one.base, one.head) for one in search.compared]
    assert asked[0] == (0, 64)
    assert asked[1] in [(0, place) for place in range(30, 36)]  # about half
    assert (29, 30) in asked


def test_the_slowdown_is_told_with_its_interval() -> None:
    median, low, high = searched(stepped({30: 1.1}), normal(0.005), random.Random(7)).answer().slowdown
    assert low < 1.1 < high
    assert low < median < high
    assert high - low < 0.03


def test_probabilities_are_those_of_bayes_rule() -> None:
    """Of two commits, after one comparison of the first; by summation over all that is not known."""
    search = Search(2)
    search.add(Compared(0, 1, Estimate(0.08, 0.01)))

    def density(center: float, noise: float) -> float:
        scale = math.hypot(0.01, 0.01) * noise
        return float((1 + ((0.08 - center) / scale) ** 2 / 4) ** -2.5 / scale)

    noises = (0.5, 1, 2, 4)
    slower = np.mean([[density(x, n) for n in noises] for x in np.geomspace(math.log(1.02), math.log(4), 80)])
    same = np.mean([density(0.0, n) for n in noises])
    shares = np.array([0.2 * same, 0.4 * slower, 0.4 * same])
    assert search.probabilities == pytest.approx(shares / shares.sum())


def test_one_commit_is_compared_with_the_good_one() -> None:
    search = searched(stepped({1: 1.1}, commits=1), normal(0.005), random.Random(8))
    assert search.answer().is_certain
    assert search.next() is None
