"""The self-check: how often an A/B on this machine raises a false alarm, and what it misses."""

from __future__ import annotations

import itertools
import math
import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from scipy import stats
from tabulate import tabulate

from bench.compare.ab_statistics import (
    FIRST_PAIRS,
    SECOND_PAIRS,
    Estimate,
    Evidence,
    Rounds,
    estimate,
    judge_evidence,
    seems_different,
)
from bench.exit_codes import UsageError
from bench.experiments.campaign import CampaignRun
from bench.show.progress import Progress
from bench.units import percent

Seconds = Sequence[float]  # of one process, in the order in which they were taken


class RecordedPair(NamedTuple):
    """A pair of processes: its rounds of every case, and the resulting estimates."""

    rounds: Mapping[str, Rounds]
    estimates: Mapping[str, Estimate]


#: Returns the cases called slower in a resampled suite whose cases are slowed by these factors.
Rule = Callable[[Sequence[RecordedPair], Mapping[str, float], random.Random], list[str]]


def recorded_pairs(runs: Sequence[CampaignRun]) -> list[RecordedPair]:
    pairs = [
        {name: case.first[number] for name, case in run.cases.items()}
        for run in runs
        if run.is_calibration
        for number in range(FIRST_PAIRS)
    ]
    if not pairs:
        raise UsageError("the log holds no A/A run with a hog yet, so no suite can be drawn from it.")
    return [RecordedPair(pair, {name: estimate(pair[name]) for name in pair}) for pair in pairs]


def this_ab(recorded: Sequence[RecordedPair], factors: Mapping[str, float], draw: random.Random) -> list[str]:
    first, second = (draw.choices(recorded, k=count) for count in (FIRST_PAIRS, SECOND_PAIRS))
    slower = []
    for name in recorded[0].estimates:
        shift = math.log(factors.get(name, 1.0))
        look, again = (
            Evidence(tuple(_shifted(p.estimates[name], shift) for p in ps)) for ps in (first, second)
        )
        judged = judge_evidence(look, again if seems_different(look) else None, len(recorded[0].estimates))
        if judged.verdict == "slower":
            slower.append(name)
    return slower


def _shifted(one: Estimate, shift: float) -> Estimate:
    """The estimate if every pass of head had taken longer by a factor."""
    return one._replace(center=one.center + shift)


def one_after_the_other(is_slower: Callable[[Seconds, Seconds], bool]) -> Rule:
    """A rule that measures base in one process and head in a later one."""

    def rule(
        recorded: Sequence[RecordedPair], factors: Mapping[str, float], draw: random.Random
    ) -> list[str]:
        before, after = (pair.rounds for pair in draw.sample(recorded, k=2))
        return [
            name
            for name in before
            if is_slower(
                [base for base, _ in before[name]],
                [head * factors.get(name, 1.0) for _, head in after[name]],
            )
        ]

    return rule


def _samples(seconds: Seconds, count: int) -> list[float]:
    """Longer samples, as these rules use: means of consecutive passes."""
    return [float(np.mean(block)) for block in np.array_split(seconds, count)]


def median_of_three(before: Seconds, after: Seconds) -> bool:
    """Slower by more than 10 %, by the medians of three samples."""
    return statistics.median(_samples(after, 3)) > 1.1 * statistics.median(_samples(before, 3))


def means(before: Seconds, after: Seconds) -> bool:
    """First all of A, then all of B: means that differ by more than 5 %."""
    return statistics.fmean(after) > 1.05 * statistics.fmean(before)


def asv(before: Seconds, after: Seconds) -> bool:
    """As `asv continuous` decides: Mann and Whitney's test at 0.002 over ten samples, and a factor of 1.1."""
    one, two = _samples(before, 10), _samples(after, 10)
    factor = statistics.median(two) / statistics.median(one)
    return factor > 1.1 and bool(stats.mannwhitneyu(one, two).pvalue < 0.002)


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "this A/B": this_ab,
        "median of 3, 10 %": one_after_the_other(median_of_three),
        "A then B, means, 5 %": one_after_the_other(means),
        "asv: Mann–Whitney, 10 %": one_after_the_other(asv),
    }
)
FACTORS = (1.0, 1.1, 1.2)


class Score(NamedTuple):
    rule: str
    factor: float
    suites: int
    hits: int  # A/A: suites with an alarm; else: suites in which the slowed case was found

    @property
    def text(self) -> str:
        """The share, and the bound that follows with 95 % confidence."""
        exact = stats.binomtest(self.hits, self.suites).proportion_ci(0.9, "exact")  # one-sided 95 %
        bound = f"≤ {100 * exact.high:.2f}" if self.factor == 1.0 else f"≥ {100 * exact.low:.1f}"
        return f"{100 * self.hits / self.suites:.1f} % ({bound} %)"


def redraw(recorded: Sequence[RecordedPair], suites: int, progress: Progress, seed: int = 0) -> list[Score]:
    """Judge resampled suites by every rule, with and without a slowed case; each case is slowed in turn."""
    names = list(recorded[0].rounds)
    scores: list[Score] = []
    for (title, rule), factor in itertools.product(RULES.items(), FACTORS):
        change = f"one case {percent(factor - 1)} slower" if factor > 1 else "no case slower"
        label = f"{title}: {suites} suites, {change}"
        progress.start(label, len(scores), len(RULES) * len(FACTORS))
        draw = random.Random(seed)
        hits = 0
        for number in range(suites):
            slowed = names[number % len(names)]
            slower = rule(recorded, {slowed: factor}, draw)
            hits += bool(slower) if factor == 1.0 else slowed in slower
        scores.append(Score(title, factor, suites, hits))
        progress.finish(label, scores[-1].text)
    return scores


REAL = ("real runs", "runs", "slowed case found", "with a false alarm", "left open", "time of a run")
NOISE = ("case, beside a hog", "rounds differ by", "pairs of processes by", "smallest effect (median)")
DRAWN = ("A/A suites with an alarm", "10 % found", "20 % found")


def summary(runs: Sequence[CampaignRun], suites: int, progress: Progress) -> str:
    runs = [run.judged_again() for run in runs]
    recorded = recorded_pairs(runs)
    tables = (
        (_real(runs), REAL),
        (_noise(runs, recorded), NOISE),
        (_drawn(redraw(recorded, suites, progress)), (f"{suites} drawn suites each", *DRAWN)),
    )
    return "\n\n".join(tabulate(rows, headers, "github", disable_numparse=True) for rows, headers in tables)


def _real(runs: Sequence[CampaignRun]) -> list[list[str]]:
    rows = []
    for kind in dict.fromkeys(run.kind for run in runs):
        chosen = [run for run in runs if run.kind == kind]
        detected = sum(run.slowed in run.slower for run in chosen)
        false = sum(bool(set(run.slower) - {run.slowed}) for run in chosen)
        left_open = sum(any(case.is_open for case in run.cases.values()) for run in chosen)
        seconds = [run.seconds for run in chosen]
        longest = f"{statistics.median(seconds):.0f} s, at most {max(seconds):.0f} s"
        numbers = (len(chosen), detected if chosen[0].slowed else "–", false, left_open)
        rows.append([kind, *map(str, numbers), longest])
    return rows


def _noise(runs: Sequence[CampaignRun], recorded: Sequence[RecordedPair]) -> list[list[str]]:
    rows = []
    for name in recorded[0].rounds:
        rounds = [math.log(head / base) for pair in recorded for base, head in pair.rounds[name]]
        centers = [pair.estimates[name].center for pair in recorded]
        smallest = [run.cases[name].smallest for run in runs if run.is_calibration]
        figures = (float(np.std(rounds)), float(np.std(centers)), statistics.median(smallest))
        rows.append([name, *map(percent, figures)])
    return rows


def _drawn(scores: Sequence[Score]) -> list[list[str]]:
    return [[rule, *(score.text for score in scores if score.rule == rule)] for rule in RULES]
