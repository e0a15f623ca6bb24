"""Draws and their odds: how often each value was drawn, judged by the exact binomial distribution."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from cogrid._core.author.chance import SCALE, Branch
from cogrid._core.compile.odds import Odds, probability

#: Counts less likely than this are a fault; low, since there are many counts and any seed may be chosen.
TAIL = 1e-9


class Drawn(NamedTuple):
    """How often one value of a `Chance` was drawn, and its probability."""

    hook: str
    about: str
    value: Any
    hits: int
    draws: int
    share: int  # the probability is share / 2²⁴
    tail: float  # the probability of this few hits, or this many, whichever is smaller

    def __str__(self) -> str:
        expected = self.share / SCALE
        return (
            f"{self.hook}({self.about}) -> {self.value!r}: {self.hits} of {self.draws}, odds {expected:.6f}"
        )


class DrawnCase(NamedTuple):
    """A hook's answer to some arguments, and how often each of its values was drawn."""

    answer: tuple[Branch, ...]
    counts: Counter[Any]


class DrawCounts:
    """What was drawn, by hook and arguments."""

    def __init__(self) -> None:
        self._cases: dict[tuple[str, str], DrawnCase] = {}

    def note(self, hook: str, about: str, answer: tuple[Branch, ...], value: Any, times: int = 1) -> None:
        """Count a value that was drawn; answers without chance are ignored."""
        if len(answer) > 1:
            self._cases.setdefault((hook, about), DrawnCase(answer, Counter())).counts[value] += times

    def note_choice(self, hook: str, about: str, cells: list[int], chosen: int) -> None:
        """Count a cell that was drawn uniformly from several: from their first or their second half."""
        if len(cells) % 2 == 0:  # then both halves are exactly equally likely
            half = "first half" if cells.index(chosen) < len(cells) // 2 else "second half"
            self.note(hook, about, (("first half", SCALE // 2), ("second half", SCALE)), half)

    def all(self) -> Iterable[Drawn]:
        """Every value of every `Chance` that was drawn; then the sums of cases with the same odds.

        A thing with a clock makes a separate case of every tick, each drawn too rarely to show anything.
        """
        alike: dict[tuple[str, tuple[int, ...]], list[list[int]]] = {}
        for (hook, about), (answer, counts) in self._cases.items():
            shares = Counter[Any]()
            for branch, (value, _) in enumerate(answer):
                shares[value] += probability(branch, answer)
            hits = [counts[value] for value in shares]
            alike.setdefault((hook, tuple(shares.values())), []).append(hits)
            for value, share, hit in zip(shares, shares.values(), hits, strict=True):
                yield _drawn(hook, about, value, hit, sum(hits), share)
        for (hook, odds), cases in alike.items():
            if len(cases) > 1:
                totals = np.sum(cases, axis=0).tolist()
                for number, (share, hit) in enumerate(zip(odds, totals, strict=True), 1):
                    about = f"all {len(cases)} cases with these odds"
                    yield _drawn(hook, about, f"answer {number}", hit, sum(totals), share)


def _drawn(hook: str, about: str, value: Any, hits: int, draws: int, share: int) -> Drawn:
    return Drawn(hook, about, value, hits, draws, share, tail_of(draws, share, hits))


def cases_of(odds: Odds) -> list[tuple[Branch, ...]]:
    """The branches of every case."""
    return [case_of(odds, case) for case in range(odds.n_cases)]


def case_of(odds: Odds, case: int) -> tuple[Branch, ...]:
    """The branches of one case, without those that repeat the last one."""
    bounds = [int(bound[case]) for bound in odds.bounds] + [SCALE]
    values = odds.values[case :: odds.n_cases]
    branches: list[Branch] = []
    for value, bound in zip(values, bounds, strict=True):
        if not branches or bound > branches[-1][1]:
            branches.append((value, bound))
    return tuple(branches)


def tail_of(draws: int, share: int, hits: int) -> float:
    """The smaller of the exact binomial probabilities of at most, and of at least, this many hits."""
    if share in (0, SCALE):
        return float(hits == (draws if share else 0))
    p = share / SCALE
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, draws + 1)))))  # of the factorials
    k = np.arange(draws + 1)
    mass = np.exp(logs[draws] - logs - logs[::-1] + k * np.log(p) + (draws - k) * np.log1p(-p))
    return float(min(mass[: hits + 1].sum(), mass[hits:].sum()))
