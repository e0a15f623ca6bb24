"""Looks: the drawings of things, items and agents, as plain data that any renderer can read."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from cogrid._core.author.lettering import strokes
from cogrid._core.author.values import Item, Thing
from cogrid._io.messages import brief

Point = tuple[float, float]

# The palette of Okabe and Ito, which is distinguishable with every kind of colour vision.
BLUE, VERMILLION, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
ORANGE, SKY, YELLOW, BLACK = "#e69f00", "#56b4e9", "#f0e442", "#000000"
#: Of agents, in their order.
AGENTS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, YELLOW)

PAPER, INK, WHITE = "#f6f3ec", "#2b2f36", "#ffffff"
GRID, WALL, WALL_TOP = "#e6e1d6", "#5d6470", "#7b8391"
SHADE = "#2b2f3626"  # the last two digits are the opacity


class Shape(NamedTuple):
    """A path in its cell, (0, 0) top left and (1, 1) bottom right: filled or not, thickened by a round pen.

    A disk is a single point with a wide pen, a bar is two points, a rounded box is a filled path.
    """

    colour: str  # "#rrggbb" or "#rrggbbaa"
    points: tuple[Point, ...]
    width: float = 0.0  # of the pen
    filled: bool = False


Look = tuple[Shape, ...]  # bottom first


@dataclass(frozen=True)
class Looks:
    """How a game is drawn. Each function may return None for the look that a game without it has."""

    #: The drawing of a thing; what lies there is drawn over it.
    thing: Callable[[Thing], Look | None] | None = None
    #: The drawing of an item at the size of a cell; it is drawn smaller in hands and on things.
    item: Callable[[Item], Look | None] | None = None
    #: The drawing of an agent that faces right; it is rotated for other facings.
    agent: Callable[[int], Look | None] | None = None
    #: `slot(thing, name, inside)`: what a slot adds to a thing that shows it (see `Planes.shows`). Round
    #: clocks to a few looks.
    slot: Callable[[Thing, str, Thing], Look | None] | None = None
    #: Two characters for a thing in text: the letter of the legend, and what lies there, by default.
    glyph: Callable[[Thing], str | None] | None = None
    _asks: ClassVar[tuple[str, ...]] = ("thing", "item", "agent", "slot", "glyph")

    def __post_init__(self) -> None:
        for name in self._asks:
            if (value := getattr(self, name)) is not None and not callable(value):
                raise TypeError(f"Looks.{name} is {brief(value)}: give a function.")


def disk(colour: str, x: float, y: float, radius: float) -> Shape:
    """A disk around (x, y)."""
    return Shape(colour, ((x, y),), 2 * radius)


def line(colour: str, width: float, *points: Point) -> Shape:
    """A line with round ends and corners."""
    return Shape(colour, points, width)


def polygon(colour: str, *points: Point, width: float = 0.0) -> Shape:
    """A filled polygon, its corners rounded by the pen."""
    return Shape(colour, points, width, filled=True)


def box(colour: str, left: float, top: float, right: float, bottom: float, radius: float = 0.0) -> Shape:
    """A box with round corners."""
    x0, y0, x1, y1 = left + radius, top + radius, right - radius, bottom - radius
    return polygon(colour, (x0, y0), (x1, y0), (x1, y1), (x0, y1), width=2 * radius)


def pie(colour: str, x: float, y: float, radius: float, share: float) -> Shape:
    """The share of a disk, clockwise from the top."""
    if share >= 1:
        return disk(colour, x, y, radius)
    return polygon(colour, (x, y), *arc(x, y, radius, radius, 0.0, share))


def arc(
    x: float, y: float, rx: float, ry: float, begin: float, end: float, steps: int | None = None
) -> Iterable[Point]:
    """Points of an ellipse between two fractions of a turn, clockwise from the top."""
    steps = steps or max(2, math.ceil(32 * (end - begin)))
    for k in range(steps + 1):
        angle = 2 * math.pi * (begin + (end - begin) * k / steps)
        # Rounded, so that pictures do not depend on the last bit of a machine's sine.
        yield round(x + rx * math.sin(angle), 5), round(y - ry * math.cos(angle), 5)


def text(colour: str, words: str, x: float, y: float, height: float, weight: float = 0.16) -> Look:
    """Text centred at (x, y); a character is `height` high and, with its gap, five sevenths of that wide."""
    unit = height / 6
    left = x - unit * (6 * len(words) - 2) / 2
    return tuple(
        line(
            colour,
            height * weight,
            *((left + unit * (6 * k + px), y + unit * (py - 3)) for px, py in stroke),
        )
        for k, character in enumerate(words)
        for stroke in strokes(character)
    )


def placed(look: Look, x: float, y: float, scale: float) -> Look:
    """A scaled look, centred at (x, y)."""
    return tuple(
        shape._replace(
            points=tuple((x + (px - 0.5) * scale, y + (py - 0.5) * scale) for px, py in shape.points),
            width=shape.width * scale,
        )
        for shape in look
    )


def turned(look: Look, quarters: int) -> Look:
    """A look rotated clockwise around its centre."""
    for _ in range(quarters):
        look = tuple(shape._replace(points=tuple((1 - y, x) for x, y in shape.points)) for shape in look)
    return look


def tint(name: str) -> str:
    """A colour for a name, always the same."""
    return AGENTS[(zlib.crc32(name.encode()) >> 8) % len(AGENTS)]


def bare_floor() -> Look:
    """Bare floor."""
    return box(GRID, 0, 0, 1, 1), box(PAPER, 0.015, 0.015, 0.985, 0.985)


def closed_wall() -> Look:
    """A wall."""
    return box(WALL, 0, 0, 1, 1), box(WALL_TOP, 0.02, 0.02, 0.98, 0.86, 0.05)


def plate(name: str, letter: str) -> Look:
    """Any other thing: its letter on a plate in the colour of its name."""
    edge = box(tint(name), 0.08, 0.08, 0.92, 0.92, 0.14)
    face = box(WHITE, 0.14, 0.14, 0.86, 0.86, 0.1)
    return (*bare_floor(), edge, face, *text(INK, letter, 0.5, 0.5, 0.42))


def token(name: str) -> Look:
    """Any item: the initial of its name on a coin."""
    coin = disk(INK, 0.5, 0.5, 0.42), disk(tint(name), 0.5, 0.5, 0.36), disk("#ffffffb0", 0.5, 0.5, 0.28)
    return (*coin, *text(INK, name[:1], 0.5, 0.5, 0.34))


def figure(agent: int) -> Look:
    """An agent that faces right, seen from above: hands and eyes in front."""
    colour = AGENTS[agent % len(AGENTS)]
    return (
        disk(SHADE, 0.41, 0.5, 0.385),
        *(disk(INK, 0.7, y, 0.11) for y in (0.27, 0.73)),
        *(disk(colour, 0.7, y, 0.075) for y in (0.27, 0.73)),
        disk(INK, 0.41, 0.5, 0.35),
        disk(colour, 0.41, 0.5, 0.31),
        *(disk(WHITE, 0.585, y, 0.085) for y in (0.385, 0.615)),
        *(disk(INK, 0.62, y, 0.048) for y in (0.385, 0.615)),
    )
