"""Rasters: turns shapes into pixels by their distance from each pixel, so crisp at any size."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from cogrid._core.author.look import Look, Shape

Pixels = np.ndarray[Any, Any]


def draw(look: Look, height: int, width: int, scale: float) -> Pixels:
    """(height, width, 3) uint8: the look on white, `scale` pixels to a cell."""
    canvas = np.full((height, width, 3), 255.0)
    for shape in look:
        _paint(canvas, shape, scale)
    return (canvas + 0.5).astype(np.uint8)


def _paint(canvas: Pixels, shape: Shape, scale: float) -> None:
    points = np.array(shape.points) * scale  # (k, 2) x and y in pixels
    pen = shape.width * scale / 2
    # Only the shape's bounding box is drawn: most shapes are small in their tile.
    x0, y0 = (max(0, math.floor(low - pen - 1)) for low in points.min(axis=0))
    x1, y1 = (math.ceil(high + pen + 1) for high in points.max(axis=0))
    part = canvas[y0:y1, x0:x1]
    if not part.size:
        return
    y, x = np.mgrid[y0 : y0 + part.shape[0], x0 : x0 + part.shape[1]] + 0.5  # middles of the pixels
    rgb, opacity = colour(shape.colour)
    cover = np.clip(0.5 + pen - _distance(points, x, y, shape.filled), 0.0, 1.0) * opacity
    part += cover[..., None] * (rgb - part)


def _distance(points: Pixels, x: Pixels, y: Pixels, filled: bool) -> Pixels:
    """The distance of each pixel from the path; negative inside a filled one."""
    nearest = np.full(x.shape, np.inf)
    inside = np.zeros(x.shape, bool)
    ends = np.roll(points, -1, axis=0) if filled else points[1:]
    if len(points) == 1:
        away: Pixels = np.sqrt((x - points[0, 0]) ** 2 + (y - points[0, 1]) ** 2)
        return away
    for (ax, ay), (bx, by) in zip(points[: len(ends)].tolist(), ends.tolist(), strict=True):
        dx, dy = bx - ax, by - ay
        along = ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy or 1.0)
        along = np.clip(along, 0.0, 1.0)
        nearest = np.minimum(nearest, (x - ax - along * dx) ** 2 + (y - ay - along * dy) ** 2)
        if filled and ay != by:  # a ray to the right crosses this edge
            inside ^= ((ay > y) != (by > y)) & (x < ax + (y - ay) / (by - ay) * dx)
    away = np.sqrt(nearest)
    return np.where(inside, -away, away)


@functools.lru_cache(maxsize=256)
def colour(words: str) -> tuple[Pixels, float]:
    """The (3,) colour of "#rrggbb" or "#rrggbbaa", 0 to 255, and its opacity, 0 to 1."""
    parts = bytes.fromhex(words.removeprefix("#"))
    return np.array(list(parts[:3]), float), parts[3] / 255 if len(parts) == 4 else 1.0
