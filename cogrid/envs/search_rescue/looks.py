"""How a site looks, from above."""

from __future__ import annotations

from types import MappingProxyType

from cogrid._core.author import look as palette
from cogrid._core.author.look import SHADE
from cogrid.author import INK, ORANGE, WHITE, Look, Thing, bare_floor, box, disk, line, pie, placed, polygon
from cogrid.envs.search_rescue.objects import (
    DOOR,
    DOORWAY,
    GREEN,
    KEY,
    MEDKIT,
    RED,
    RUBBLE,
    YELLOW,
    Tool,
    Victim,
)

STONE, STONE_EDGE, WOOD, STEEL = "#a39a8c", "#6f675b", "#a9814f", "#aab2bd"
BLANKETS = MappingProxyType({GREEN: palette.GREEN, YELLOW: palette.YELLOW, RED: "#d1382b"})


def look(thing: Thing, wait: int) -> Look | None:
    """A thing of the site; a treated victim shows how long it can still wait. None for floor and walls."""
    match thing:
        case Victim(colour, treated_by, left):
            clock = (pie(ORANGE, 0.78, 0.24, 0.16, left / wait),) if treated_by >= 0 else ()
            return (*bare_floor(), *victim(colour), *clock)
        case Tool(name):
            return (*bare_floor(), *placed(tool(name), 0.5, 0.5, 0.72))
        case _ if thing == RUBBLE:
            return (*bare_floor(), *_STONES)
        case _ if thing == DOOR:
            return (
                *bare_floor(),
                box(WOOD, 0.06, 0.06, 0.94, 0.94, 0.06),
                disk(INK, 0.5, 0.44, 0.1),
                _KEYHOLE,
            )
        case _ if thing == DOORWAY:
            return (*bare_floor(), *(box(WOOD, x, 0.0, x + 0.08, 1.0) for x in (0.0, 0.92)))
    return None


def victim(colour: str) -> Look:
    """Somebody under a blanket."""
    return (
        box(SHADE, 0.2, 0.3, 0.86, 0.86, 0.12),
        disk(INK, 0.5, 0.26, 0.15),
        disk("#f0d0b0", 0.5, 0.26, 0.12),
        box(INK, 0.24, 0.38, 0.76, 0.88, 0.12),
        box(BLANKETS[colour], 0.28, 0.42, 0.72, 0.84, 0.09),
    )


def tool(name: str) -> Look:
    """A tool, as large as a cell."""
    if name == MEDKIT:
        case = box(INK, 0.1, 0.2, 0.9, 0.86, 0.1), box(WHITE, 0.16, 0.26, 0.84, 0.8, 0.06)
        return (
            *case,
            line("#d1382b", 0.16, (0.5, 0.36), (0.5, 0.7)),
            line("#d1382b", 0.16, (0.33, 0.53), (0.67, 0.53)),
        )
    if name == KEY:
        ring = disk(INK, 0.3, 0.5, 0.24), disk(ORANGE, 0.3, 0.5, 0.19), disk(WHITE, 0.3, 0.5, 0.09)
        return (*ring, line(INK, 0.16, (0.5, 0.5), (0.9, 0.5)), line(INK, 0.12, (0.8, 0.5), (0.8, 0.68)))
    return line(WOOD, 0.13, (0.3, 0.86), (0.6, 0.3)), line(
        STEEL, 0.16, (0.22, 0.28), (0.6, 0.2), (0.88, 0.46)
    )


_KEYHOLE = polygon(INK, (0.44, 0.72), (0.56, 0.72), (0.5, 0.44))
_STONES: Look = tuple(
    disk(colour, x, y, radius + edge)
    for x, y, radius in ((0.32, 0.66, 0.22), (0.68, 0.68, 0.2), (0.5, 0.38, 0.24))
    for colour, edge in ((STONE_EDGE, 0.04), (STONE, 0.0))
)
