"""Odds: the tables that turn a random draw into one of a rule's answers, and which draws a step makes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from cogrid._core.author.chance import SCALE, Branch
from cogrid.backend.array import Array

#: More bounds than this are searched by bisection.
MANY = 8


def probability(branch: int, answer: tuple[Branch, ...]) -> int:
    """k of the actual probability k / 2²⁴."""
    return answer[branch][1] - (answer[branch - 1][1] if branch else 0)


#: The purpose of a draw, in the upper eight bits of its number; the lower 24 are the agent, the cell …
PURPOSES = (
    "interact",
    "tick",
    "start",
    "one cell",
    "tick hand",
    "hand",
    "reply",
    "tick slot",
    "slot",
    "board",
    "placed",
    "return",
)


class Draws:
    """The draws of a step, all made in one call: their numbers, and the slice of each purpose."""

    def __init__(self, wanted: Mapping[str, np.ndarray[Any, Any]]) -> None:
        if unknown := [purpose for purpose in wanted if purpose not in PURPOSES]:
            raise ValueError(
                f"a phase draws for {unknown[0]!r}, which has no number: add it at the end of PURPOSES in "
                "compile/odds.py."
            )
        numbers = [PURPOSES.index(purpose) * SCALE + which for purpose, which in wanted.items()]
        self.numbers = np.concatenate([np.zeros(0, int), *numbers]).astype(np.uint32)  # (draws,)
        ends = np.cumsum([len(which) for which in numbers]).tolist()
        self._slices = {
            purpose: slice(end - len(which), end)
            for purpose, which, end in zip(wanted, numbers, ends, strict=True)
        }

    @classmethod
    def of_all(cls, wanted: Iterable[Mapping[str, np.ndarray[Any, Any]]]) -> Draws:
        """Those of several phases; two that want the same draws share them."""
        return cls({purpose: which for each in wanted for purpose, which in each.items()})

    def of(self, purpose: str, drawn: Array) -> Array:
        """The draws for one purpose, (*B, draws) -> (*B, k)."""
        return drawn[..., self._slices[purpose]]

    def some(self, purpose: str, drawn: Array, which: slice) -> Array:
        """Some of the draws for one purpose, in a single operation."""
        first = self._slices[purpose].start
        return drawn[..., first + which.start : first + which.stop]


class Odds(NamedTuple):
    """Tables over the cases of a rule, each with the same number of branches."""

    n_branches: int
    n_cases: int
    bounds: tuple[
        np.ndarray[Any, Any], ...
    ]  # (cases,) uint32 each; a draw at or above it takes a later branch
    values: tuple[Any, ...]  # (branches · cases,) the first branch of every case, then the second …
    sorted: np.ndarray[Any, Any] | None = None  # (cases · bounds,) by case, where there are many

    def table(self, number: Callable[[Any], int], dtype: Any) -> np.ndarray[Any, Any]:
        """The values as numbers, (branches · cases,)."""
        return np.array([number(value) for value in self.values], dtype)


def odds(cases: Sequence[tuple[Branch, ...]]) -> Odds:
    """The tables of a rule's answers; a case with fewer branches repeats its last one."""
    most = max(map(len, cases))
    full = [case + case[-1:] * (most - len(case)) for case in cases]
    bounds = np.array([[below for _, below in case[:-1]] for case in full], np.uint32)  # (cases, most − 1)
    values = tuple(case[k][0] for k in range(most) for case in full)
    many = bounds.reshape(-1) if most - 1 > MANY else None
    return Odds(most, len(cases), tuple(bounds.T), values, many)


def one_of(drawn: Array, count: Array) -> Array:
    """⌊draw · count / 2²⁴⌋ in uint32, for counts below 2¹⁵: a uniform number below the count."""
    low = (drawn & np.uint32(0xFFF)) * count  # the product has up to 39 bits, so in two parts
    return ((drawn >> np.uint32(12)) * count + (low >> np.uint32(12))) >> np.uint32(12)


def realised(lookup: Callable[[Any, Any], Array], odds: Odds, case: Array, drawn: Array) -> Array:
    """The index into tables over branches and cases, for a case and a draw; in the case's own type."""
    if odds.sorted is not None:
        return _sought(lookup, odds, case, drawn)
    index = case
    for bound in odds.bounds:
        later = drawn >= lookup(bound, case)
        index = index + later.astype(case.dtype) * case.dtype.type(odds.n_cases)
    return index


def _sought(lookup: Callable[[Any, Any], Array], odds: Odds, case: Array, drawn: Array) -> Array:
    """The same by bisection: how many of the case's bounds the draw has reached."""
    size = odds.n_branches - 1
    before = case.astype(np.int32) * np.int32(size) - np.int32(1)  # the bound before its first
    found = before
    for k in reversed(range(size.bit_length())):
        probe = found + np.int32(2**k)
        inside = probe - before <= size
        place = probe * inside.astype(np.int32) + (before + np.int32(1)) * (~inside).astype(np.int32)
        reached = inside & (drawn >= lookup(odds.sorted, place))
        found = found + reached.astype(np.int32) * np.int32(2**k)
    return case + (found - before).astype(case.dtype) * case.dtype.type(odds.n_cases)
