"""What a new cook is told: how a soup is made, and which soups score."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from cogrid._io.messages import listed, several
from cogrid.author import Item, Thing
from cogrid.envs.overcooked.objects import DISH, TOMATO, Pile, Soup

if TYPE_CHECKING:
    from cogrid.envs.overcooked.game import AnyKitchen

Soups = Mapping[tuple[str, ...], float]  # by their ingredients, with what they score

_NUMBERS = ("no", "one", "two", "three")


def scoring_soups(kitchen: AnyKitchen, items: Collection[Item]) -> Soups:
    """The soups that can be made and score, the largest first."""
    soups = sorted(
        (item.items for item in items if isinstance(item, Soup)), key=lambda soup: (-len(soup), soup)
    )
    return {soup: value for soup in soups if (value := kitchen.value_of(soup)) > 0}


def described(soup: Sequence[str]) -> str:
    """A soup in words: "two onions and one tomato"."""
    counts = {ingredient: soup.count(ingredient) for ingredient in soup}
    return listed(f"{_NUMBERS[n]} {one if n == 1 else _plural(one)}" for one, n in counts.items())


def points(value: float) -> str:
    """A score in words."""
    return f"{value:g} point{'' if value == 1 else 's'}"


def cooking(kitchen: AnyKitchen, things: Collection[Thing], soups: Soups) -> Iterator[str]:
    """How a soup is made and served."""
    piles = sorted({thing.item for thing in things if isinstance(thing, Pile)} - {DISH})
    choice, times = listed(map(_plural, piles), "or") if piles else "ingredients", _times(kitchen, soups)
    wait = f"wait {times.pop()}" if len(times) == 1 else "wait until it is done"
    yield "Use `interact` on what is in front of you."
    if kitchen.cook_start == "interact":
        yield f"Put up to three {choice} into a pot, use the pot with empty hands to start it, and {wait}."
    else:
        yield f"Put three {choice} into a pot, which then starts by itself, and {wait}."
    yield "Take a dish, fetch the soup with it and bring it to the serving."


def scoring(kitchen: AnyKitchen, soups: Soups) -> str:
    """Which soups score, with their cook times where these differ."""
    alike = len(_times(kitchen, soups)) == 1
    if alike and len({*soups.values()}) == 1:
        each = points(next(iter(soups.values())))
        return f"A soup of {listed(map(described, soups), 'or')} scores {each} for everybody."
    times = {soup: "" if alike else f", {_time(kitchen, soup)}" for soup in soups}
    shown = (f"{described(soup)} ({points(value)}{times[soup]})" for soup, value in soups.items())
    return f"These soups score, for everybody: {'; '.join(shown)}."


def _times(kitchen: AnyKitchen, soups: Soups) -> set[str]:
    return {_time(kitchen, soup) for soup in soups}


def _time(kitchen: AnyKitchen, soup: tuple[str, ...]) -> str:
    return several(kitchen.time_of(soup), "step")


def _plural(ingredient: str) -> str:
    return f"{ingredient}es" if ingredient == TOMATO else f"{ingredient}s"
