"""A noisy binary search: which of several commits made a case slower, from a few uncertain comparisons.

Every comparison of two commits says, with an error, how much longer the later one takes. Bayes' rule turns
this into a probability of every commit, and the next comparison is the one whose outcome is least certain.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from bench.compare.ab_statistics import APART, Estimate

Floats = np.ndarray[Any, np.dtype[np.float64]]

SURE = 0.99  # an answer of this probability is certain
LIKELY = 0.95  # commits of this probability are compared with the one before them
NOTHING = 0.2  # the probability, before any comparison, that there is no slowdown
#: Logs of the slowdowns that are considered: from 2 % to four times as long.
SLOWDOWNS: Floats = np.geomspace(math.log(1.02), math.log(4.0), 80)
#: How much larger the error of a comparison may be than it seems.
NOISES: Floats = np.array([0.5, 1.0, 2.0, 4.0])
FREEDOM = 4.0  # of Student's t, which fits the long tails of pairs of identical processes


class Compared(NamedTuple):
    """Two commits by their places, 0 for the good one, and how much longer the later one takes."""

    base: int
    head: int
    estimate: Estimate


class Likeliest(NamedTuple):
    """The likeliest commits: `before` < commit ≤ `first`; several if those between cannot run the case."""

    before: int
    first: int
    probability: float
    nothing: float  # the probability that there is no slowdown
    slowdown: tuple[float, float, float]  # from the good commit to the bad one: median, 95 % interval

    @property
    def is_nothing(self) -> bool:
        return self.nothing >= SURE

    @property
    def is_certain(self) -> bool:
        return self.probability >= SURE


class Search:
    """The commits 1 … `last` after the good one, 0, and what is known of them."""

    def __init__(self, last: int) -> None:
        self.last = last
        self.compared: list[Compared] = []
        self.broken: set[int] = set()  # commits that cannot run the case
        prior = np.full(last + 1, (1 - NOTHING) / last)
        prior[0] = NOTHING  # place 0 stands for no slowdown
        shape = (last + 1, len(SLOWDOWNS), len(NOISES))
        self._logs: Floats = np.broadcast_to(np.log(prior)[:, None, None], shape).copy()
        self._joint: Floats = _normal(self._logs)

    def add(self, one: Compared) -> None:
        self.compared.append(one)
        scale = math.hypot(one.estimate.error, APART) * NOISES
        same, slower = (
            -(FREEDOM + 1) / 2 * np.log1p(((one.estimate.center - expected) / scale) ** 2 / FREEDOM)
            - np.log(scale)
            for expected in (np.zeros((len(SLOWDOWNS), 1)), SLOWDOWNS[:, None])
        )  # (slowdowns, noises): if the two commits are equally fast, and if the slowdown is between them
        places = np.arange(self.last + 1)
        between = (one.base < places) & (places <= one.head)
        self._logs += np.where(between[:, None, None], slower, same)
        self._joint = _normal(self._logs)

    def leave_out(self, place: int) -> None:
        """A commit that cannot run the case."""
        self.broken.add(place)

    @property
    def probabilities(self) -> Floats:
        """Of no slowdown, and of every commit."""
        shares: Floats = self._joint.sum(axis=(1, 2))
        return shares

    def next(self) -> tuple[int, int] | None:
        """The places to compare: first the ends, then what halves the probability, at last two neighbours.

        None if the answer is certain and the neighbours have been compared.
        """
        if not self.compared:
            return 0, self.last
        answer = self.answer()
        neighbours = answer.before, answer.first
        seen = any((one.base, one.head) == neighbours for one in self.compared)
        if answer.is_nothing or (answer.is_certain and seen):
            return None
        if answer.probability >= LIKELY and not seen:
            return neighbours
        slow = np.cumsum(self.probabilities[1:])  # the probability that the k-th commit is slow
        return 0, min(self._testable, key=lambda place: float(abs(slow[place - 1] - 0.5)))

    @property
    def _testable(self) -> list[int]:
        return [place for place in range(1, self.last + 1) if place not in self.broken]

    def answer(self) -> Likeliest:
        shares = self.probabilities
        groups = list(itertools.pairwise([0, *self._testable]))
        sums = np.add.reduceat(shares[1:], [before for before, _ in groups])
        best = int(np.argmax(sums))
        return Likeliest(*groups[best], float(sums[best]), float(shares[0]), self._slowdown())

    def _slowdown(self) -> tuple[float, float, float]:
        """Ratios of the times at the two ends, if there is a slowdown at all."""
        below = np.cumsum(self._joint[1:].sum(axis=(0, 2)))
        median, low, high = (
            math.exp(float(np.interp(share * below[-1], below, SLOWDOWNS))) for share in (0.5, 0.025, 0.975)
        )
        return median, low, high


def _normal(logs: Floats) -> Floats:
    shares: Floats = np.exp(logs - logs.max())
    shares /= shares.sum()
    return shares
