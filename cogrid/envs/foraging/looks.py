"""How a field looks, from above."""

from __future__ import annotations

from cogrid.author import INK, WHITE, Look, bare_floor, box, disk, line, text

APPLE, APPLE_EDGE, LEAF = "#d1382b", "#9c2318", "#1f7a4d"


def food(level: int) -> Look:
    """An apple with its level."""
    return (
        *bare_floor(),
        *(disk(APPLE_EDGE, x, 0.56, 0.27) for x in (0.38, 0.62)),
        *(disk(APPLE, x, 0.56, 0.235) for x in (0.38, 0.62)),
        line(INK, 0.05, (0.5, 0.34), (0.54, 0.17)),
        line(LEAF, 0.09, (0.58, 0.24), (0.72, 0.18)),
        *text(WHITE, str(level), 0.5, 0.57, 0.3, 0.2),
    )


def badge(level: int) -> Look:
    """The level of a forager."""
    plate = box(INK, 0.14, 0.14, 0.86, 0.86, 0.16), box(WHITE, 0.21, 0.21, 0.79, 0.79, 0.12)
    return (*plate, *text(INK, str(level), 0.5, 0.5, 0.44, 0.2))
