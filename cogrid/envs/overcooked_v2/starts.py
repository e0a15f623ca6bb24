"""A random reset: what hands, counters and pots start with, and how likely."""

from __future__ import annotations

import itertools
import math
from collections import Counter as Tally
from collections.abc import Iterable
from fractions import Fraction

from cogrid.author import Chance, Item, Thing
from cogrid.envs.overcooked.objects import DISH, Counter, Pot, Soup

Recipes = tuple[tuple[str, ...], ...]
Likely = tuple[Thing, Fraction]


def hand(ingredients: tuple[str, ...], recipes: Recipes) -> Chance:
    """Nothing, a dish, an ingredient or a soup of some recipe."""
    return _chance(_items((50, 10, 25, 15), ingredients, recipes))


def counter(ingredients: tuple[str, ...], recipes: Recipes) -> Chance:
    """The same items, with other odds, on a counter."""
    likely = _items((50, 10, 30, 10), ingredients, recipes)
    return _chance((Counter(item), share) for item, share in likely)  # type: ignore[arg-type]


def pot(ingredients: tuple[str, ...], cook_time: int, partial: bool) -> Chance:
    """Empty, not started, cooking or ready; `partial` if fewer than three items can cook."""
    some = [(items, share / 3) for n in (1, 2, 3) for items, share in _contents(ingredients, n)]
    soups = some if partial else _contents(ingredients, 3)
    idle = ((Pot(items, -1), share * Fraction(35, 100)) for items, share in some)
    cooking = (
        (Pot(items, left), share * Fraction(15, 100) / cook_time)
        for items, share in soups
        for left in range(1, cook_time + 1)
    )
    ready = ((Pot(items, 0), share * Fraction(10, 100)) for items, share in soups)
    return _chance([(Pot((), -1), Fraction(40, 100)), *idle, *cooking, *ready])


def _items(
    percents: tuple[int, int, int, int], ingredients: tuple[str, ...], recipes: Recipes
) -> list[tuple[Item, Fraction]]:
    nothing, dish, ingredient, soup = (Fraction(percent, 100) for percent in percents)
    return [
        (None, nothing),
        (DISH, dish),
        *((item, ingredient / len(ingredients)) for item in ingredients),
        *((Soup(items), soup / len(recipes)) for items in recipes),
    ]


def _contents(ingredients: tuple[str, ...], number: int) -> list[tuple[tuple[str, ...], Fraction]]:
    """The contents after this many draws of an ingredient, and their probabilities."""
    every = itertools.product(ingredients, repeat=number)
    counts = Tally(tuple(sorted(items)) for items in every)
    return [(items, Fraction(count, len(ingredients) ** number)) for items, count in counts.items()]


def _chance(likely: Iterable[Likely]) -> Chance:
    """Fractions converted to whole-number weights."""
    options = list(likely)
    scale = math.lcm(*(share.denominator for _, share in options))
    return Chance(*((thing, int(share * scale)) for thing, share in options))
