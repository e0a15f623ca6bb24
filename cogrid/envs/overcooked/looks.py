"""How a kitchen looks, from above."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from cogrid._core.author.look import GRID, SHADE, Point
from cogrid.author import (
    GREEN,
    INK,
    ORANGE,
    VERMILLION,
    WHITE,
    Item,
    Look,
    Thing,
    arc,
    box,
    disk,
    figure,
    line,
    pie,
    placed,
    polygon,
)
from cogrid.envs.overcooked.objects import (
    CARROT,
    DISH,
    MUSHROOM,
    ONION,
    TOMATO,
    Counter,
    Pile,
    Pot,
    Serving,
    Soup,
)

WOOD, WOOD_EDGE, WOOD_DARK = "#dcc29a", "#c9aa7c", "#a9814f"
STEEL, STEEL_DARK = "#aab2bd", "#3f4650"
ONION_SKIN, ONION_LINE, TOMATO_SKIN, LEAF = "#f4d58a", "#b5792a", "#d1382b", "#1f7a4d"
PLATE, PLATE_EDGE = "#ffffff", "#7e8794"
_BROTHS = ("#e0a63c", "#de8336", "#d86432", "#c8442e")


def look(thing: Thing, clock: float) -> Look | None:
    """A thing of the kitchen; `clock` is the share of a pot's cooking; None for floor and walls."""
    match thing:
        case Counter():
            return counter()
        case Pile(item):
            return (*counter(), *_PILES[item])
        case Pot(items, timer):
            return (*counter(), *pot(items, timer, clock))
        case Serving():
            return (*counter(), *CLOCHE)
    return None


def item(item: Item) -> Look:
    """An item in a hand or on a counter."""
    if isinstance(item, Soup):
        return soup(item.items)
    return _ITEMS[str(item)]


def counter() -> Look:
    """A worktop."""
    return box(WOOD_EDGE, 0, 0, 1, 1), box(WOOD, 0.015, 0.015, 0.985, 0.93, 0.03)


ONION_LOOK: Look = (
    line(LEAF, 0.07, (0.5, 0.2), (0.43, 0.06)),
    line(LEAF, 0.07, (0.5, 0.2), (0.58, 0.05)),
    polygon(ONION_LINE, (0.5, 0.17), (0.62, 0.36), (0.5, 0.5), (0.38, 0.36), width=0.06),
    line(ONION_LINE, 0.72, (0.46, 0.58), (0.54, 0.58)),
    polygon(ONION_SKIN, (0.5, 0.22), (0.6, 0.38), (0.5, 0.5), (0.4, 0.38), width=0.02),
    line(ONION_SKIN, 0.6, (0.46, 0.58), (0.54, 0.58)),
    line(ONION_LINE, 0.045, (0.5, 0.3), (0.4, 0.42), (0.36, 0.58), (0.41, 0.76)),
    line(ONION_LINE, 0.045, (0.5, 0.3), (0.6, 0.42), (0.64, 0.58), (0.59, 0.76)),
)

TOMATO_LOOK: Look = (
    disk("#7d1a12", 0.5, 0.55, 0.4),
    disk(TOMATO_SKIN, 0.5, 0.55, 0.35),
    line("#ffffff70", 0.14, (0.35, 0.44), (0.33, 0.52)),
    *(line(LEAF, 0.09, (0.5, 0.25), end) for end in ((0.26, 0.28), (0.4, 0.4), (0.6, 0.4), (0.74, 0.28))),
    line(LEAF, 0.09, (0.5, 0.25), (0.54, 0.08)),
)

DISH_LOOK: Look = (
    disk(PLATE_EDGE, 0.5, 0.5, 0.44),
    disk(PLATE, 0.5, 0.5, 0.39),
    disk("#c3cad3", 0.5, 0.5, 0.27),
    disk("#f1f3f6", 0.5, 0.5, 0.235),
)

CARROT_LOOK: Look = (
    *(line(LEAF, 0.08, (0.5, 0.28), end) for end in ((0.34, 0.08), (0.5, 0.05), (0.66, 0.08))),
    polygon("#8a4a12", (0.3, 0.3), (0.7, 0.3), (0.5, 0.93), width=0.08),
    polygon("#e8862e", (0.32, 0.32), (0.68, 0.32), (0.5, 0.88)),
    line("#b5611a", 0.04, (0.36, 0.44), (0.5, 0.46)),
    line("#b5611a", 0.04, (0.62, 0.56), (0.5, 0.58)),
)

MUSHROOM_LOOK: Look = (
    box("#5c4636", 0.38, 0.5, 0.62, 0.92, 0.08),
    box("#f1e6d6", 0.42, 0.5, 0.58, 0.88, 0.06),
    polygon("#5c4636", *arc(0.5, 0.56, 0.4, 0.42, -0.25, 0.25)),
    polygon("#a9744f", *arc(0.5, 0.54, 0.35, 0.36, -0.25, 0.25)),
    disk("#e7d3bd", 0.38, 0.38, 0.06),
    disk("#e7d3bd", 0.58, 0.32, 0.07),
)

_ITEMS: Mapping[str, Look] = MappingProxyType(
    {
        ONION: ONION_LOOK,
        TOMATO: TOMATO_LOOK,
        CARROT: CARROT_LOOK,
        MUSHROOM: MUSHROOM_LOOK,
        DISH: DISH_LOOK,
    }
)


def board(lit: bool, button: bool) -> Look:
    """A board that can show a recipe, with or without a button; scribbles until it is lit."""
    lines = ((0.26, 0.24, 0.62), (0.42, 0.24, 0.76), (0.58, 0.24, 0.54))
    written = (line(STEEL, 0.06, (left, y), (right, y)) for y, left, right in lines)
    knob = disk(INK, 0.72, 0.68, 0.15), disk(ORANGE if lit else STEEL, 0.72, 0.68, 0.11)
    return (
        *counter(),
        box(STEEL_DARK, 0.08, 0.08, 0.92, 0.88, 0.08),
        box(WHITE if lit else "#6b7480", 0.14, 0.14, 0.86, 0.82, 0.05),
        *(() if lit else written),
        *(knob if button else ()),
    )


def recipe(items: tuple[str, ...], button: bool) -> Look:
    """What is on a lit board; the knob of a button stays free."""
    beside_knob = ((0.31, 0.31), (0.69, 0.31), (0.31, 0.66))
    return _at(items, beside_knob if button else ((0.5, 0.3), (0.31, 0.65), (0.69, 0.65)), 0.36)


def order(soup: tuple[str, ...], left: float, place: int, places: int) -> Look:
    """A card in one of several places of a cell: the soup's ingredients, and a bar of the time left."""
    rows = 1 if places <= 3 else 2
    columns = -(-places // rows)
    width, height = 0.9 / columns, 0.86 / rows
    x, y = 0.05 + width * (place % columns), 0.05 + height * (place // columns)
    middle, end = x + width / 2, x + width - 0.04
    size = min(width, 0.27 * height) * 1.1
    colour = GREEN if left > 0.5 else ORANGE if left > 0.25 else VERMILLION
    spots = [(middle, y + height * (0.2 + 0.25 * k)) for k in range(len(soup))]
    bar = y + height * 0.9
    return (
        box(INK, x + 0.01, y + 0.01, x + width - 0.01, y + height - 0.01, 0.03),
        box(WHITE, x + 0.03, y + 0.03, x + width - 0.03, y + height - 0.03, 0.02),
        *_at(soup, spots, size),
        box(GRID, x + 0.04, bar - 0.05 * height, end, bar + 0.05 * height),
        box(colour, x + 0.04, bar - 0.05 * height, x + 0.04 + (end - x - 0.04) * left, bar + 0.05 * height),
    )


def _at(items: tuple[str, ...], places: Sequence[Point], size: float) -> Look:
    """Items, each at its place."""
    pairs = zip(items, places, strict=False)
    return tuple(shape for kind, (x, y) in pairs for shape in placed(item(kind), x, y, size))


_PLACES = ((0.5, 0.36), (0.37, 0.59), (0.63, 0.59))


def soup(items: tuple[str, ...]) -> Look:
    """A soup on its dish, with its ingredients."""
    return (
        *DISH_LOOK[:2],
        disk("#8a5a1e", 0.5, 0.5, 0.33),
        disk(_broth(items), 0.5, 0.5, 0.3),
        *_at(items, _PLACES, 0.29),
    )


def _broth(items: tuple[str, ...]) -> str:
    """Redder with every tomato."""
    return _BROTHS[round(3 * items.count(TOMATO) / len(items))]


def pot(items: tuple[str, ...], timer: int, clock: float) -> Look:
    """A pot on its stove, its contents, and around its rim the progress of the cooking."""
    cooks, ready = timer > 0, timer == 0
    inside = _broth(items) if cooks or ready else "#6b7480"
    rim: Look = ()
    if cooks:
        rim = disk(WHITE, 0.5, 0.48, 0.4), pie(ORANGE, 0.5, 0.48, 0.4, clock)
    elif ready:
        rim = (disk(GREEN, 0.5, 0.48, 0.4),)
    return (
        box(STEEL_DARK, 0.05, 0.04, 0.95, 0.9, 0.1),
        box(STEEL, 0.01, 0.41, 0.99, 0.55, 0.05),
        disk(INK, 0.5, 0.48, 0.43),
        disk(STEEL, 0.5, 0.48, 0.4),
        *rim,
        disk(INK, 0.5, 0.48, 0.32),
        disk(inside, 0.5, 0.48, 0.29),
        *_at(items, _POT_PLACES, 0.34),
        *(CHECK if ready else ()),
    )


_POT_PLACES = ((0.5, 0.345), (0.37, 0.575), (0.63, 0.575))
CHECK: Look = (
    disk(WHITE, 0.82, 0.19, 0.17),
    disk(GREEN, 0.82, 0.19, 0.145),
    line(WHITE, 0.055, (0.75, 0.19), (0.8, 0.25), (0.89, 0.13)),
)

_CRATE: Look = (
    box(WOOD_DARK, 0.08, 0.1, 0.92, 0.9, 0.07),
    box("#7c5a30", 0.14, 0.16, 0.86, 0.84, 0.04),
)


def _heap(one: Look) -> Look:
    places = ((0.32, 0.34), (0.68, 0.34), (0.32, 0.66), (0.68, 0.66), (0.5, 0.48))
    return (*_CRATE, *(shape for x, y in places for shape in placed(one, x, y, 0.4)))


_PILES: Mapping[str, Look] = MappingProxyType(
    {
        ONION: _heap(ONION_LOOK),
        TOMATO: _heap(TOMATO_LOOK),
        CARROT: _heap(CARROT_LOOK),
        MUSHROOM: _heap(MUSHROOM_LOOK),
        DISH: (
            disk(SHADE, 0.5, 0.58, 0.38),
            *(shape for y in (0.54, 0.49, 0.44) for shape in placed(DISH_LOOK, 0.5, y, 0.8)),
        ),
    }
)

CLOCHE: Look = (
    box(GREEN, 0.05, 0.05, 0.95, 0.9, 0.1),
    polygon(WHITE, *arc(0.5, 0.62, 0.3, 0.31, -0.25, 0.25)),
    disk(WHITE, 0.5, 0.26, 0.06),
    line(WHITE, 0.07, (0.16, 0.71), (0.84, 0.71)),
)


def cook(agent: int) -> Look:
    """A cook with a hat, facing right."""
    puffs = (disk(colour, x, y, r) for colour, r in ((INK, 0.1), (WHITE, 0.073)) for x, y in _HAT)
    folds = (line("#cfd5dc", 0.03, (0.31 + 0.3 * (x - 0.31), 0.5 + 0.3 * (y - 0.5)), (x, y)) for x, y in _HAT)
    return (*figure(agent), *puffs, disk(WHITE, 0.31, 0.5, 0.13), *folds)


# The puffs around the middle of a hat.
_HAT = tuple(arc(0.31, 0.5, 0.125, 0.125, 0.0, 1.0, 7))[:-1]
