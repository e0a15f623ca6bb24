"""Agreement, on simulated machines: noise alone is never called a difference, slow trials are found."""

from __future__ import annotations

import gc
import itertools
import math
import random
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

from cogrid.backend.array import Array
from cogrid.benchmarks import agreement, clock
from cogrid.benchmarks.agreement import LEAK_BYTES, MIN_ROUNDS, MIN_SECONDS, Verdict, differ, judge, measure
from cogrid.benchmarks.benchmark_suite import compute_variance
from cogrid.benchmarks.clock import Pass

BUDGET, THRESHOLD = 35.0, 10.0
PASS = 0.2  # seconds on an undisturbed machine
ROUNDS, TRIALS = 40, 3  # about as many rounds as the budget allows beside busy neighbours

# Whole runs, for the rule alone


def independent(noise: float, draw: np.random.Generator) -> Array:
    return noise * draw.standard_normal((ROUNDS, TRIALS))


def bursts(noise: float, draw: np.random.Generator) -> Array:
    """A neighbour that works for several passes in a row, while they all take longer."""
    switches = draw.random(ROUNDS * TRIALS) < 0.2
    busy = (np.cumsum(switches) + draw.integers(2)) % 2
    return 2 * noise * busy.reshape(ROUNDS, TRIALS) + independent(noise / 4, draw)


def drift(noise: float, draw: np.random.Generator) -> Array:
    """A machine whose speed wanders."""
    return noise * draw.standard_normal(ROUNDS * TRIALS).cumsum().reshape(ROUNDS, TRIALS) / 3


Shape = Callable[[float, np.random.Generator], Array]
MACHINES: tuple[Shape, ...] = (independent, bursts, drift)
NOISES = (0.05, 0.2, 0.5, 0.8)


def passes_of(machine: Shape, noise: float, draw: np.random.Generator) -> Array:
    """The seconds of a whole run, whose trials take their turns in an order drawn for each round."""
    return draw.permuted(np.exp(machine(noise, draw)), axis=1)


def test_identical_trials_are_never_called_different() -> None:
    """4,800 runs, and at most 0.2 % of them, for noise of any shape and size."""
    draw, outcomes = np.random.default_rng(0), Counter[str]()
    for machine, noise, _ in itertools.product(MACHINES, NOISES, range(400)):
        outcomes[judge(passes_of(machine, noise, draw), THRESHOLD).outcome] += 1
    assert outcomes["differ"] <= 0.002 * outcomes.total()
    assert min(outcomes["agree"], outcomes["too noisy"]) > 1000


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("noise", NOISES[:3])
def test_a_trial_that_is_twice_as_slow_is_found(machine: Shape, noise: float) -> None:
    draw, runs = np.random.default_rng(0), 30
    slow = (passes_of(machine, noise, draw) * [1, 1, 2] for _ in range(runs))
    assert sum(judge(passes, THRESHOLD).outcome == "differ" for passes in slow) >= 0.9 * runs


def test_two_reassignments_in_two_thousand_may_reach_what_was_seen() -> None:
    """Of four rounds, 1 in 216 reassignments looks as extreme as the most extreme; of six, 1 in 7,776."""
    slow = np.array([1.0, 1.1, 2.0])
    assert [differ(np.tile(slow, (rounds, 1))) for rounds in (1, 4, 6)] == [False, False, True]


@pytest.mark.parametrize(("trials", "enough"), [(2, 12), (3, 6)])
def test_too_few_rounds_are_said_to_be_too_few(trials: int, enough: int) -> None:
    """No trial can be called different then, however slow it is, so noise need not be the reason."""
    slow = np.tile(np.arange(1.0, trials + 1), (enough, 1))
    few, verdict = judge(slow[:-1], THRESHOLD), judge(slow, THRESHOLD)
    assert (few.outcome, verdict.outcome) == ("too noisy", "differ")
    assert few.reason.endswith(f"after {enough - 1} passes each, too few to rule out chance.")


def test_only_the_last_look_tests_for_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement, "differ", None)
    slow = np.tile([1.0, 1.1, 2.0], (MIN_ROUNDS, 1))
    assert judge(slow, THRESHOLD, last=False).outcome == "too noisy"


def test_a_round_that_is_slow_for_all_trials_changes_nothing() -> None:
    passes = passes_of(independent, 0.05, np.random.default_rng(0)) * [1, 1, 1.2]
    slowed = passes * np.random.default_rng(1).lognormal(0, 0.8, (ROUNDS, 1))
    assert differ(passes)
    assert differ(slowed)


def test_trials_spread_as_their_rates_do() -> None:
    passes = np.exp(independent(0.3, np.random.default_rng(0)))
    verdict = judge(passes, THRESHOLD)
    spread = compute_variance([1 / seconds for seconds in verdict.seconds])
    assert verdict.seconds == np.median(passes, axis=0).tolist()
    assert verdict.reason.startswith(f"the trials spread by {spread:.1f} % after 40 passes each")
    assert judge(passes, spread + 0.01).outcome == "agree"
    assert judge(passes, spread - 0.01).outcome == "too noisy"


def test_the_trend_is_reported_and_is_no_difference() -> None:
    growing = np.linspace(1, 3, 30)[:, None] * np.ones(3)
    verdict = judge(growing, THRESHOLD)
    assert verdict.outcome == "agree"
    assert verdict.trend_pct == pytest.approx(100 * (growing[20:, 0].mean() / growing[:10, 0].mean() - 1))
    assert judge(growing[:2], THRESHOLD).trend_pct > 0


def test_a_benchmark_that_allocates_more_and_more_is_found_however_noisy_the_machine_is() -> None:
    passes = np.random.default_rng(0).lognormal(0, 0.8, (9, 3))
    steady = [500 << 20] * 9
    warming = [(500 + 40 * min(number, 2)) << 20 for number in range(9)]
    allowed = [*steady[:-1], steady[-1] + LEAK_BYTES]
    growing = [(500 + 24 * number) << 20 for number in range(9)]
    found = [judge(passes, THRESHOLD, peaks) for peaks in (steady, warming, allowed, growing)]
    assert [verdict.outcome == "leaks" for verdict in found] == [False, False, False, True]
    assert found[-1].reason == "the peak memory still grew by 144 MiB after the first third of the run."


# Taking turns


class Machine:
    """Its clock only advances when something runs on it, for a time that is partly chance."""

    def __init__(self, noise: float, seed: int = 0) -> None:
        self.now, self.noise, self.random = 0.0, noise, random.Random(seed)
        self.turns: list[int] = []

    def work(self, trial: int, seconds: float) -> Pass:
        def run() -> None:
            self.turns.append(trial)
            self.now += seconds * math.exp(self.random.gauss(0, self.noise))

        return Pass(run)

    def measure(self, *seconds: float, budget: float = BUDGET) -> Verdict:
        """Trials that would take so long on an undisturbed machine."""
        return measure([self.work(*each) for each in enumerate(seconds)], budget, THRESHOLD)

    @property
    def rounds(self) -> int:
        return self.turns.count(0)


QUIET, NOISY = 0.01, 0.5


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Machine]:
    """Makes machines, whose clock is the one that everybody reads."""

    def made(noise: float, seed: int = 0) -> Machine:
        made = Machine(noise, seed)
        fake = SimpleNamespace(perf_counter=lambda: made.now, perf_counter_ns=lambda: round(made.now * 1e9))
        monkeypatch.setattr(clock, "time", fake)
        monkeypatch.setattr(agreement, "time", fake)
        monkeypatch.setattr(gc, "collect", lambda: 0)  # a tenth of a second for each of many runs
        return made

    return made


def test_trials_of_a_quiet_machine_agree_at_the_first_look(machine: Callable[..., Machine]) -> None:
    quiet = machine(QUIET)
    verdict = quiet.measure(PASS, PASS, PASS)
    assert (verdict.outcome, quiet.rounds) == ("agree", MIN_ROUNDS)
    assert verdict.seconds == pytest.approx([PASS] * 3, rel=0.02)


def test_short_passes_fill_a_second_before_the_first_look(machine: Callable[..., Machine]) -> None:
    quiet = machine(QUIET)
    quiet.measure(0.001)
    assert MIN_SECONDS <= quiet.now < 1.1 * MIN_SECONDS


def test_every_round_has_an_order_of_its_own(machine: Callable[..., Machine]) -> None:
    quiet = machine(QUIET)
    quiet.measure(PASS, PASS, PASS)
    orders = Counter(tuple(quiet.turns[start : start + 3]) for start in range(0, len(quiet.turns), 3))
    assert set(orders) == set(itertools.permutations(range(3)))
    assert max(orders.values()) < MIN_ROUNDS / 2


@pytest.mark.parametrize(("noise", "slow"), [(QUIET, 1.2), (QUIET, 2), (NOISY, 2)])
def test_slow_trials_differ_after_the_whole_budget(
    machine: Callable[..., Machine], noise: float, slow: float
) -> None:
    made = machine(noise)
    verdict = made.measure(PASS, slow * PASS, PASS)
    assert verdict.outcome == "differ"
    assert verdict.reason.endswith("more than chance explains.")
    assert made.now >= BUDGET
    assert verdict.seconds[1] == max(verdict.seconds), "the times are those of the trials, in their order"


def test_a_noisy_machine_takes_the_whole_budget_and_no_benchmark_is_blamed(
    machine: Callable[..., Machine],
) -> None:
    outcomes = Counter[str]()
    for seed in range(20):
        noisy = machine(NOISY, seed)
        verdict = noisy.measure(PASS, PASS, PASS)
        outcomes[verdict.outcome] += 1
        if verdict.outcome == "too noisy":
            assert BUDGET <= noisy.now < 1.5 * BUDGET
    assert set(outcomes) == {"agree", "too noisy"}


def test_the_trials_are_looked_at_twice(
    machine: Callable[..., Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a look after every round, trials 12 % apart would pass as soon as luck brings them together."""
    looks: list[int] = []

    def seen(passes: Array, *about: object) -> Verdict:
        looks.append(len(passes))
        return Verdict("differ", "", [], 0.0)

    monkeypatch.setattr(agreement, "judge", seen)
    made = machine(QUIET)
    made.measure(PASS, PASS)
    assert looks == [MIN_ROUNDS, made.rounds]
    assert made.now >= BUDGET


@pytest.mark.parametrize("seconds", [1.0, 5.0, 100.0])
def test_the_budget_ends_a_run_of_any_length(machine: Callable[..., Machine], seconds: float) -> None:
    quiet = machine(0)
    assert quiet.measure(seconds, seconds, budget=10.0).outcome == "agree"
    assert quiet.rounds == max(1, math.ceil(10 / (2 * seconds)))


def test_a_leak_ends_a_run_at_the_first_look(
    machine: Callable[..., Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    peaks = itertools.count(500 << 20, 8 << 20)
    monkeypatch.setattr(clock, "peak_memory", lambda: next(peaks))
    noisy = machine(NOISY)
    assert (noisy.measure(PASS, PASS).outcome, noisy.rounds) == ("leaks", MIN_ROUNDS)


def test_preparation_is_not_timed_and_no_garbage_is_collected(machine: Callable[..., Machine]) -> None:
    made, collects = machine(QUIET), []

    def prepare() -> None:
        made.now += 0.3
        collects.append(gc.isenabled())

    work = made.work(0, PASS)._replace(prepare=prepare)
    assert measure([work], BUDGET, THRESHOLD).seconds == pytest.approx([PASS], rel=0.02)
    assert len(collects) == MIN_ROUNDS
    assert not any(collects)
    assert gc.isenabled()
