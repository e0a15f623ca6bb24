"""Chance: answers with integer weights."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

#: A draw is a whole number below this; a probability is a share of it.
SCALE = 2**24

#: (value, the bound below which draws take it); an answer without chance is a single branch.
Branch = tuple[Any, int]


class Chance:
    """One of several values, with whole-number weights: `Chance(("apple", 1), ("soil", 39))`.

    The actual probabilities are k / 2²⁴: the cumulative weights, as shares of 2²⁴, are rounded to integers.
    """

    __slots__ = ("options",)

    def __init__(self, *options: tuple[Hashable, int]) -> None:
        if not options:
            raise ValueError("a Chance needs at least one option: Chance((value, weight), …).")
        for option in options:
            if not isinstance(option, tuple) or len(option) != 2:
                raise TypeError(f"{option!r} is not an option of a Chance: give (value, weight).")
            value, weight = option
            if isinstance(weight, bool) or not isinstance(weight, int) or weight < 1:
                raise ValueError(
                    f"the weight {weight!r} of {value!r} in a Chance is not a whole number of 1 or more."
                )
            if isinstance(value, Chance):
                raise TypeError(f"{value!r} is a Chance in a Chance: multiply the weights.")
        if (total := sum(weight for _, weight in options)) > SCALE:
            raise ValueError(f"the weights of {options!r} add up to {total:,}: at most 2²⁴ is exact.")
        self.options = options

    def __repr__(self) -> str:
        return f"Chance({', '.join(map(repr, self.options))})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Chance) and self.options == other.options

    def __hash__(self) -> int:
        return hash(self.options)


def branches(answer: Any) -> tuple[Branch, ...]:
    """The values of an answer, each with the draws below which it, or one before it, is taken."""
    if not isinstance(answer, Chance):
        return ((answer, SCALE),)
    total, sum_, bounded = sum(weight for _, weight in answer.options), 0, []
    for value, weight in answer.options:
        sum_ += weight
        bounded.append((value, (sum_ * SCALE + total // 2) // total))
    return tuple(bounded)
