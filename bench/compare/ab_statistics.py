"""The statistics of an A/B: whether head is slower than base, from several pairs of processes.

The unit of evidence is a pair of fresh processes: two processes of the same code differ by some per cent for
their whole lifetime, however many samples are taken, so rounds within a pair say nothing about that.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import special  # scipy.stats takes seconds to import

MARGIN = 0.05  # smaller differences are not reported
SUSPECT = 0.03  # a case whose first look differs by more gets a second look
FALSE_ALARMS = 0.01  # highest probability of one in a whole suite in which nothing changed
APART = 0.01  # lifetime difference between two processes of the same code, about
CONFIDENCE = 0.95  # of the interval that is shown
FIRST_PAIRS, SECOND_PAIRS = 4, 8  # of processes, in the first and in the second look
ROUNDS = 40  # of a pair
POWER = 0.95  # with which the smallest effect is found

Round = Sequence[float]  # seconds of base and of head
Rounds = Sequence[Round]  # of a pair of processes


class Estimate(NamedTuple):
    """The estimate of a pair of processes: the log of head's time over base's, and its standard error."""

    center: float
    error: float


class Evidence(NamedTuple):
    """The estimates of all pairs; those whose rounds differ more weigh less."""

    pairs: tuple[Estimate, ...]

    @property
    def effect(self) -> float:
        return float(np.average([pair.center for pair in self.pairs], weights=self._weights))

    @property
    def error(self) -> float:
        """The standard error of the mean, from the actual spread of the pairs."""
        weights, n = self._weights, len(self.pairs)
        apart = np.array([pair.center for pair in self.pairs]) - self.effect
        return math.sqrt(float(weights @ apart**2) / (n - 1) / float(weights.sum()))

    @property
    def _weights(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.array([1 / (pair.error**2 + APART**2) for pair in self.pairs])

    def reach(self, confidence: float) -> float:
        return _quantile((1 + confidence) / 2, len(self.pairs) - 1) * self.error


@functools.cache
def _quantile(share: float, freedom: int) -> float:
    return float(special.stdtrit(freedom, share))


def evidence(pairs: Sequence[Rounds]) -> Evidence:
    return Evidence(tuple(estimate(pair) for pair in pairs))


def estimate(pair: Rounds) -> Estimate:
    """The median of the rounds' log ratios, and its standard error from their quartiles.

    Other processes come and go within a round, which can then be off by as much as a half either way; most
    rounds are undisturbed. Means, the Hodges-Lehmann estimator and ratios of minima have a spread two to five
    times as wide.
    """
    ratios = np.log([head / base for base, head in pair])
    low, middle, high = np.quantile(ratios, (0.25, 0.5, 0.75))
    # Of a normal distribution: its deviation from its quartiles, and the error of a median of n.
    deviation = (high - low) / (2 * special.ndtri(0.75))
    return Estimate(float(middle), float(math.sqrt(math.pi / 2 / len(pair)) * deviation))


def is_suspect(first: Sequence[Rounds]) -> bool:
    """Whether a first look calls for a second one; it decides nothing else."""
    return seems_different(evidence(first))


def seems_different(first: Evidence) -> bool:
    return abs(first.effect) > SUSPECT


class Judged(NamedTuple):
    verdict: str  # slower, faster, same or inconclusive
    ratio: float
    low: float
    high: float
    smallest: float  # a slowdown of this share would have been found
    confirmed: bool


def judge(first: Sequence[Rounds], second: Sequence[Rounds], cases: int) -> Judged:
    return judge_evidence(evidence(first), evidence(second) if second else None, cases)


def judge_evidence(first: Evidence, second: Evidence | None, cases: int) -> Judged:
    """The verdict on one of `cases` cases.

    "Slower" and "faster" rest on the second look alone, whose pairs are fresh: the effect must be beyond the
    margin, at a confidence that bounds the false alarms of the whole suite (Bonferroni).
    """
    shown = second or first
    confidence = 1 - FALSE_ALARMS / cases
    low, high = (shown.effect + sign * shown.reach(CONFIDENCE) for sign in (-1, 1))
    if second and abs(second.effect) > math.log1p(MARGIN) and abs(second.effect) > second.reach(confidence):
        verdict = "slower" if second.effect > 0 else "faster"
    else:
        verdict = "same" if -math.log1p(MARGIN) < low and high < math.log1p(MARGIN) else "inconclusive"
    ratio, least, most = (math.exp(value) for value in (shown.effect, low, high))
    return Judged(verdict, ratio, least, most, smallest(first, cases), verdict in ("slower", "faster"))


def smallest(first: Evidence, cases: int) -> float:
    """The smallest slowdown that a second look would have confirmed with the given power."""
    error = first.error * math.sqrt(len(first.pairs) / SECOND_PAIRS)
    needed = _quantile(1 - FALSE_ALARMS / cases / 2, SECOND_PAIRS - 1) * error
    slack = _quantile(POWER, SECOND_PAIRS - 1) * error
    return math.expm1(max(math.log1p(MARGIN), needed) + slack)
