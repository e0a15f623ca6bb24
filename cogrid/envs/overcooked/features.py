"""A cook's observation: named numbers, or the 26 planes of overcooked_ai."""

from __future__ import annotations

from cogrid._core.compile.actions import DOWN, LEFT, RIGHT, UP
from cogrid.author import Agents, Each, Faced, Feature, Item, NearestLying, Paint, Place, Thing
from cogrid.envs.overcooked.objects import DISH, ONION, TOMATO, Counter, Pile, Pot, Serving, Soup, kind_of

ITEMS = (ONION, TOMATO, DISH, "soup")
_PILES = tuple(Pile(item) for item in (ONION, TOMATO, DISH))
_FACED = ("floor", "wall", "free counter", "laden counter", *(pile.kind for pile in _PILES), "pot", "serving")

PLANES = (
    "own position", "other position",
    "own north", "own south", "own east", "own west",
    "other north", "other south", "other east", "other west",
    "pot", "counter", "onion pile", "tomato pile", "dish pile", "serving",
    "onions in pot", "tomatoes in pot", "onions in soup", "tomatoes in soup",
    "cook time left", "soup ready", "dish", "onion", "tomato", "urgent",
)  # fmt: skip


def features(longest: int) -> tuple[Feature, ...]:
    """The flat observation; `longest` is the cook time that counts as 1."""

    def pot(thing: Thing) -> tuple[float, ...]:
        if not isinstance(thing, Pot):
            return (0.0,) * 5
        onions, tomatoes = thing.items.count(ONION) / 3, thing.items.count(TOMATO) / 3
        return (
            onions,
            tomatoes,
            float(thing.timer > 0),
            float(thing.timer == 0),
            max(0, thing.timer) / longest,
        )

    return (
        Agents(ITEMS, _held),
        Place(nearest=("onion_pile", "tomato_pile", "dish_pile", "serving"), each=("pot",)),
        Faced(_FACED, _faced),
        Each("pot", ("onions", "tomatoes", "cooking", "ready", "time left"), pot),
        NearestLying(ITEMS, _label),
    )


def _label(item: Item) -> int:
    return ITEMS.index("soup" if isinstance(item, Soup) else item)


def _held(item: Item) -> tuple[float, ...]:
    return tuple(float(item is not None and _label(item) == k) for k in range(len(ITEMS)))


def _faced(thing: Thing) -> tuple[float, ...]:
    if isinstance(thing, Counter):
        name = "free counter" if thing.item is None else "laden counter"
    else:
        name = kind_of(thing)
    return tuple(float(name == label) for label in _FACED)


def paint(thing: Thing) -> Paint:
    """Values of the planes for a thing."""
    match thing:
        case Pile(item):
            return {f"{item} pile": 1}
        case Serving():
            return {"serving": 1}
        case Counter(item):
            return {"counter": 1, **_paint_item(item)}
        case Pot(items, -1):
            return {"pot": 1, "onions in pot": items.count(ONION), "tomatoes in pot": items.count(TOMATO)}
        case Pot(items, timer):
            return {
                "pot": 1,
                **_paint_soup(items),
                "cook time left": min(timer, 255),
                "soup ready": int(timer == 0),
            }
    return {}


def paint_agent(own: bool, facing: int, held: Item) -> Paint:
    """Values of the planes for an agent and what it holds."""
    who = "own" if own else "other"
    side = {UP: "north", DOWN: "south", RIGHT: "east", LEFT: "west"}[facing]
    return {f"{who} position": 1, f"{who} {side}": 1, **_paint_item(held)}


def _paint_item(item: Item) -> Paint:
    if item is None:
        return {}
    if isinstance(item, Soup):
        return {**_paint_soup(item.items), "soup ready": 1}
    return {str(item): 1}


def _paint_soup(items: tuple[str, ...]) -> Paint:
    return {"onions in soup": items.count(ONION), "tomatoes in soup": items.count(TOMATO)}
