"""The observation of an OvercookedV2 cook: named numbers, or its planes for any number of ingredients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from cogrid._core.compile.actions import DOWN, LEFT, RIGHT, UP
from cogrid._core.rules import Rules
from cogrid.author import Agents, Each, Faced, Feature, Item, NearestLying, Paint, Place, Thing
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState
from cogrid.envs.overcooked.objects import DISH, Counter, Pile, Pot, Serving, Soup, kind_of
from cogrid.envs.overcooked_v2.objects import INGREDIENTS, Button, Indicator, Recipe

_WHO = ("own", "other")
_SIDES: Mapping[int, str] = MappingProxyType({UP: "north", DOWN: "south", RIGHT: "east", LEFT: "west"})


def planes(ingredients: int, delivery: bool) -> tuple[str, ...]:
    """Names of the planes, in the order of JaxMARL."""
    names = INGREDIENTS[:ingredients]

    def items(of: str) -> list[str]:
        return [f"{of} {name}" for name in (DISH, "cooked", *names)]

    own, other = (
        [f"{who} position", *(f"{who} {side}" for side in _SIDES.values()), *items(who)] for who in _WHO
    )
    fixed = ["counter", "serving", "pot", "indicator", "button", "dish pile"]
    piles = [f"{name} pile" for name in names]
    last = ["cook time left", *(["delivered"] if delivery else [])]
    return (*own, *other, *fixed, *piles, *items("lying"), *items("recipe"), *last)


def paint(thing: Thing) -> Paint:
    """Values of the planes for a thing."""
    match thing:
        case Pile(item):
            return {f"{item} pile": 1}
        case Serving():
            return {"serving": 1}
        case Indicator():
            return {"indicator": 1}
        case Button():
            return {"button": 1}
        case Counter(item):
            return {"counter": 1, **_paint_item("lying", item)}
        case Pot(items, timer):
            return {
                "pot": 1,
                **_paint_items("lying", items),
                "lying cooked": int(timer == 0),
                "cook time left": max(0, timer),
            }
    return {}


def paint_agent(own: bool, facing: int, held: Item) -> Paint:
    """Values of the planes for an agent and what it holds."""
    who = _WHO[not own]
    return {f"{who} position": 1, f"{who} {_SIDES[facing]}": 1, **_paint_item(who, held)}


def paint_recipe(recipe: Recipe, delivery: bool) -> Paint:
    """Values that the recipe adds where it is shown, and with `delivery` at the servings."""
    served = {"delivered": int(recipe.served == 2)} if delivery else {}
    return {**_paint_items("recipe", recipe.items), **served}


def _paint_item(of: str, item: Item) -> Paint:
    if item is None:
        return {}
    if isinstance(item, Soup):
        return {f"{of} {DISH}": 1, f"{of} cooked": 1, **_paint_items(of, item.items)}
    return {f"{of} {item}": 1}


def _paint_items(of: str, items: tuple[str, ...]) -> Paint:
    return {f"{of} {name}": items.count(name) for name in items}


def renamed(planes: tuple[str, ...], instead: Mapping[str, str]) -> Mapping[str, str]:
    """For every plane of an ingredient, the same plane of the ingredient seen instead."""
    pairs = ((plane, plane.split(" ")) for plane in planes)
    return {plane: " ".join(instead.get(word, word) for word in words) for plane, words in pairs}


def is_shown(thing: Thing) -> bool:
    """Whether the recipe can be read there."""
    return isinstance(thing, Indicator) or (isinstance(thing, Button) and thing.lit > 0)


def features(ingredients: int, longest: int) -> tuple[Feature, ...]:
    """The flat observation; `longest` is the cook time that counts as 1."""
    names = INGREDIENTS[:ingredients]
    items = (*names, DISH, "soup")
    faced = (
        "floor", "wall", "free counter", "laden counter", *(f"{item}_pile" for item in (*names, DISH)),
        "pot", "serving", "indicator", "button",
    )  # fmt: skip

    def label(item: Item) -> int:
        return items.index("soup" if isinstance(item, Soup) else str(item))

    def held(item: Item) -> tuple[float, ...]:
        return tuple(float(item is not None and label(item) == k) for k in range(len(items)))

    def ahead(thing: Thing) -> tuple[float, ...]:
        name = kind_of(thing)
        if isinstance(thing, Counter):
            name = "free counter" if thing.item is None else "laden counter"
        return tuple(float(name == one) for one in faced)

    def pot(thing: Thing) -> tuple[float, ...]:
        if not isinstance(thing, Pot):
            return (0.0,) * (ingredients + 3)
        clock = float(thing.timer > 0), float(thing.timer == 0), max(0, thing.timer) / longest
        return *(thing.items.count(name) / 3 for name in names), *clock

    nearest = (*(f"{item}_pile" for item in (*names, DISH)), "serving", "indicator", "button")
    return (
        Agents(items, held),
        Place(nearest=nearest, each=("pot",)),
        Faced(faced, ahead),
        Each("pot", (*names, "cooking", "ready", "time left"), pot),
        NearestLying(items, label),
        ShownRecipe(names),
    )


@dataclass(frozen=True)
class ShownRecipe:
    """The recipe's ingredients while it is shown anywhere, and whether a delivery was just made."""

    labels: tuple[str, ...]

    def names(self, rules: Rules) -> list[str]:
        """Whether it is shown, the ingredients, the delivery."""
        return ["recipe shown", *(f"recipe {label}" for label in self.labels), "recipe delivered"]

    def compile(self, rules: Rules) -> Callable[[EnvState], Array]:
        """Two tables over the recipes: hidden and shown."""
        assert rules.slots is not None
        recipes = [(shown, thing) for shown in (0, 1) for thing in rules.slots.things]
        numbers = [self._numbers(shown, recipe) for shown, recipe in recipes]
        table, count = np.array(numbers, np.float32), np.int32(len(rules.slots.things))
        shows = rules.symbols(is_shown, bool)
        cells = rules.cells_where(is_shown)

        def see(state: EnvState) -> Array:
            shown = rules.lookup(shows, rules.pick(state.cells, cells)).any(axis=-1, keepdims=True)  # (*B, 1)
            index = state.slots[..., :1].astype(np.int32) + shown.astype(np.int32) * count
            seen = rules.lookup(table, index)  # (*B, 1, numbers)
            return rules.xp.broadcast_to(seen, (*state.pos.shape, seen.shape[-1]))

        return see

    def _numbers(self, shown: int, recipe: Thing) -> tuple[float, ...]:
        if not isinstance(recipe, Recipe):  # the agents' own slots
            return (0.0,) * (len(self.labels) + 2)
        items = (shown * recipe.items.count(label) / 3 for label in self.labels)
        return float(shown), *items, float(recipe.served == 2)
