"""Agreement: whether trials that take turns are equally fast, compared with a control that never changes.

The trials take turns pass by pass, and after every pass a control is timed: a fixed piece of NumPy work. The
rate of a trial is one over the lower quartile of the seconds of its passes. Trials *agree* if their rates
spread by no more than the threshold. Single passes scatter, so a spread is known only within bounds: what it
would be if all quartiles were off by 1.5 standard errors, in the directions that make it smallest or largest.

The rule, with spreads in per cent of the median rate:

0. *differ*, if the peak memory of the process still grows after the first part of the run, by more than
   `LEAK_BYTES`: a benchmark that allocates more and more. Noise cannot cause this.
1. *differ*, at once, if the passes spread by more than the threshold on top of the control, even at their
   lower bound: between the trials (one of them is slower), or between the first, middle and last part of the
   run (the benchmark gets slower as it runs, which affects all trials alike, since they take turns).
   Because the trials take turns, the machine affects them alike, so between trials the control counts with
   its lower bound. A machine that changes its speed does move the parts, and the control with them: there
   the control counts with its measured value plus a quarter, since the benchmark may react more strongly.
2. *agree*, at once, if both spreads are within the threshold even at their upper bound. The measured value
   alone is not enough to stop: with several looks, one of them would be within the threshold by luck.
3. Otherwise there are more passes, until the time budget is spent. Then all passes decide. Trials that spread
   by more than the threshold *differ* if the control, judged like them, is within it even at its upper bound;
   otherwise the machine is *too noisy*. In all other cases they *agree*.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, NamedTuple

import numpy as np

from cogrid.backend.array import Array
from cogrid.benchmarks import clock
from cogrid.benchmarks.clock import Pass

# On a busy machine the lower quartile scatters less than the median, which moves with the load, and less
# than the minimum, since hardly any pass runs undisturbed.
QUARTILE = 0.25
STANDARD_ERRORS = 1.5  # of each of two rates, which makes two of their difference
FEW = 14  # with fewer passes than this, the bounds are the fastest and the slowest
PARTS = 3
MACHINE_SHARE = 1.25
LEAK_BYTES = 32 << 20
# The first look is taken after this many passes of each trial, and at least this many seconds.
MIN_PASSES, TRIAL_SECONDS = 20, 1.0
NEXT_LOOK = 1.5  # times as many passes: few looks, and little time lost after the last that was needed

Outcome = Literal["agree", "differ", "too noisy"]


class Spread(NamedTuple):
    """How far apart the rates of several groups of passes are, in per cent of their median."""

    low: float  # lower bound, barring bad luck
    value: float  # what was measured
    high: float  # upper bound, barring bad luck


class Turns(NamedTuple):
    """The seconds of all passes, and of the control after each of them, in chronological order."""

    passes: Array  # (rounds, trials)
    control: Array  # (rounds, trials)
    memory: Sequence[int] = ()  # (rounds,) the peak of the process so far, in bytes


class Verdict(NamedTuple):
    """The outcome for the trials, with the reason in one sentence."""

    outcome: Outcome
    reason: str
    final: bool  # more passes would hardly change it
    spread_pct: float
    control_spread_pct: float


class TrialTimes(NamedTuple):
    """The seconds of a pass of each trial, and whether they agree."""

    seconds: list[float]
    verdict: Verdict


def measure(trials: Sequence[Pass], control: Pass, budget: float, threshold: float) -> TrialTimes:
    """Let the trials take turns until the verdict is clear or the budget, in seconds, is spent."""
    rounds: list[list[tuple[float, float]]] = []
    memory: list[int] = []
    start, look = time.perf_counter(), 0.0
    with clock.guarded(any(work.transfers for work in trials)):
        while True:
            rounds.append([(_seconds(work), _seconds(control)) for work in trials])
            memory.append(clock.peak_memory())
            passed = time.perf_counter() - start
            if passed < budget and (len(rounds) < max(look, MIN_PASSES) or passed < TRIAL_SECONDS):
                continue
            passes, between = np.moveaxis(np.array(rounds), -1, 0)
            taken = Turns(passes, between, memory)
            verdict = judge(taken, threshold)
            if verdict.final or passed >= budget:
                return TrialTimes([_quartile(seconds) for seconds in taken.passes.T], verdict)
            look = NEXT_LOOK * len(rounds)


def judge(turns: Turns, threshold: float) -> Verdict:
    """The verdict by the rule of this module."""
    trials, control = spread(turns.passes.T), spread(turns.control.T)
    parts, control_parts = (spread(_parts(seconds)) for seconds in (turns.passes, turns.control))

    def verdict(outcome: Outcome, reason: str, final: bool) -> Verdict:
        return Verdict(outcome, reason, final, trials.value, control.value)

    if (grown := _growth(turns.memory)) > LEAK_BYTES:
        reason = f"the peak memory still grew by {grown >> 20} MiB after the first part of the run."
        return verdict("differ", reason, final=True)
    for what, found, beside, allowed in (
        (f"{len(turns.passes.T)} trials", trials, control, control.low),
        (f"{PARTS} parts of the run", parts, control_parts, MACHINE_SHARE * control_parts.value),
    ):
        if found.low > threshold + allowed:
            reason = (
                f"the {what} spread by {found.value:.1f} %, at least {found.low:.1f} %, "
                f"while the control spreads by {beside.value:.1f} %."
            )
            return verdict("differ", reason, final=True)
    passes = f"after {len(turns.passes)} passes each"
    if trials.value > threshold:
        reason = f"the trials spread by {trials.value:.1f} % {passes}"
        if control.high > threshold:
            reason += f", but the control, which never changes, by up to {control.high:.1f} % beside them."
            return verdict("too noisy", reason, final=False)
        reason += f", while the control spreads by {control.high:.1f} % at most."
        return verdict("differ", reason, final=False)
    reason = f"the trials spread by {trials.value:.1f} %, within {threshold:g} %."
    return verdict("agree", reason, final=trials.high <= threshold and parts.high <= threshold)


def spread(groups: Sequence[Array]) -> Spread:
    """The spread of the rates of several groups of passes, given their seconds."""
    slow, measured, fast = (
        np.array([1 / _quartile(seconds, errors) for seconds in groups])
        for errors in (STANDARD_ERRORS, 0.0, -STANDARD_ERRORS)
    )
    scale = 100 / float(np.median(measured))
    return Spread(
        low=max(0.0, scale * float(slow.max() - fast.min())),
        value=scale * float(measured.max() - measured.min()),
        high=scale * float(fast.max() - slow.min()),
    )


@contextlib.contextmanager
def control_work() -> Iterator[Pass]:
    """Lookups in small NumPy tables, some 40 ms, by two threads that wait for each other as those of XLA do.

    It uses none of the benchmark's code. A single thread would only notice load on its own core.
    """
    indices = np.arange(1 << 15, dtype=np.int32)
    table = indices[::-1].copy()

    def look_up(start: Array) -> Array:
        return table[table[start]]

    with ThreadPoolExecutor(2) as pool:

        def run() -> None:
            halves = [indices, indices]
            for _ in range(130):
                halves = list(pool.map(look_up, halves))

        run()  # starts the threads
        yield Pass(run)


def _seconds(work: Pass) -> float:
    if work.prepare:
        work.prepare()
    return clock.timed(work.run)[0]


def _quartile(seconds: Array, errors: float = 0.0) -> float:
    """The lower quartile shifted by `errors` standard errors; with few passes, to the fastest or slowest."""
    scale = math.sqrt(QUARTILE * (1 - QUARTILE) / len(seconds)) if len(seconds) > FEW else 1.0
    return float(np.quantile(seconds, min(1.0, max(0.0, QUARTILE + errors * scale))))


def _growth(memory: Sequence[int]) -> int:
    """Bytes by which the peak memory grew after the first part of the run."""
    return memory[-1] - memory[len(memory) // PARTS] if memory else 0


def _parts(seconds: Array) -> list[Array]:
    """The passes of all trials, (rounds, trials), split by time into a few parts."""
    return [part.ravel() for part in np.array_split(seconds, PARTS) if part.size]
