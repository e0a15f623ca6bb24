"""Agreement: whether trials that take turns are equally fast, judged so that noise alone cannot fail them."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from cogrid.backend.array import Array
from cogrid.benchmarks import clock
from cogrid.benchmarks.clock import Pass

# There are two looks, or luck would choose the moment: after this many rounds and seconds, and at the end.
MIN_ROUNDS, MIN_SECONDS = 20, 1.0
REASSIGNMENTS, REACHED = 1999, 1  # together with the assignment seen, 2 of 2,000 are 0.1 %
LEAK_BYTES = 32 << 20

Conclusion = Literal["agree", "differ", "too noisy", "leaks"]


class Verdict(NamedTuple):
    """Whether the trials agree, with the reason in one sentence."""

    outcome: Conclusion
    reason: str
    seconds: list[float]  # of a pass of each trial
    trend_pct: float  # how much longer passes took in the last third of the run than in the first


def measure(trials: Sequence[Pass], budget: float, threshold: float) -> Verdict:
    """Let the trials take turns until they agree or the budget, in seconds, is spent."""
    rounds: list[list[float]] = []
    peaks: list[int] = []
    order = np.random.default_rng(0)
    start, looked = time.perf_counter(), False
    with clock.guarded(any(work.transfers for work in trials)):
        while True:
            taken = {trial: _seconds(trials[trial]) for trial in order.permutation(len(trials))}
            rounds.append([taken[trial] for trial in range(len(trials))])
            peaks.append(clock.peak_memory())
            passed = time.perf_counter() - start
            last = passed >= budget
            if last or (not looked and len(rounds) >= MIN_ROUNDS and passed >= MIN_SECONDS):
                looked = True
                verdict = judge(np.array(rounds), threshold, peaks, last)
                if last or verdict.outcome in ("agree", "leaks"):
                    return verdict


def judge(passes: Array, threshold: float, peaks: Sequence[int] = (), last: bool = True) -> Verdict:
    """The verdict on the seconds of all passes, (rounds, trials), and the peak memory after each round."""
    third = max(1, len(passes) // 3)
    trend = 100 * float(np.median(passes[-third:]) / np.median(passes[:third]) - 1)
    seconds = np.median(passes, axis=0)
    spread = 100 * float(np.ptp(1 / seconds) / np.median(1 / seconds))
    # A benchmark that allocates more and more slows all trials down alike, but memory has no noise.
    grown = peaks[-1] - peaks[third - 1] if peaks else 0
    outcome: Conclusion = "too noisy"
    reason = f"the trials spread by {spread:.1f} % after {len(passes)} passes each"
    if grown > LEAK_BYTES:
        outcome = "leaks"
        reason = f"the peak memory still grew by {grown >> 20} MiB after the first third of the run"
    elif spread <= threshold:
        outcome = "agree"
    elif math.factorial(passes.shape[1]) ** (len(passes) - 1) * REACHED < REASSIGNMENTS:
        reason += ", too few to rule out chance"  # one reassignment in so many is as extreme as can be
    elif last and differ(passes):
        outcome, reason = "differ", f"{reason}, more than chance explains"
    return Verdict(outcome, f"{reason}.", seconds.tolist(), trend)


def differ(passes: Array) -> bool:
    """A randomisation test within rounds: at most 0.1 % false alarms, whatever the machine did.

    If the trials are identical, the seconds of a round might as well have come in any other order. A slow
    round adds the same to the mean of every trial.
    """
    logs, draw = np.log(passes), np.random.default_rng(1)
    seen = np.ptp(logs.mean(axis=0))
    others = (np.ptp(draw.permuted(logs, axis=1).mean(axis=0)) for _ in range(REASSIGNMENTS))
    reached = itertools.islice((other for other in others if other >= seen), REACHED + 1)
    return len(list(reached)) <= REACHED


def _seconds(work: Pass) -> float:
    if work.prepare:
        work.prepare()
    return clock.timed(work.run)[0]
