"""Pictures: turns states into images, a whole batch in one call."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from cogrid._core.author.look import GRID, INK, PAPER, VERMILLION, box, text
from cogrid._core.author.options import checked_integer
from cogrid._core.rules import Rules
from cogrid.backend.env_state import EnvState
from cogrid.render.raster import Pixels, colour, draw
from cogrid.render.tiles import MAX_TILE, tiles_of, views_of

TILE = 32  # default size of a cell in pixels
RENDER_FPS = 8  # default steps per second


def picture(rules: Rules, state: EnvState, tile_size: int = TILE, score: Any = None) -> Pixels:
    """(*B, height, width, 3) uint8: the boards, with a strip of score and time above them if given a score.

    `score` is one number per environment, (*B,), or one per agent, (*B, n).
    """
    tile = checked_tile(tile_size)
    if state.rules is not rules and state.rules.spec != rules.spec:
        raise ValueError("this state belongs to another environment: draw it with the rules that made it.")
    drawn = ("cells", "pos", "pose", "clock", *(("slots",) if state.slots is not None else ()))
    state = state.evolve(
        **{name: np.asarray(getattr(state, name)) for name in drawn}
    )  # one transfer to the host
    time = state.time
    batch, tiles = time.shape, tiles_of(rules, tile)
    if score is not None and np.shape(score) not in (batch, (*batch, rules.n_agents)):
        raise ValueError(
            f"score has shape {np.shape(score)}, but this state takes {batch} or {(*batch, rules.n_agents)}."
        )
    views = views_of(rules, state).reshape(-1, rules.height, rules.width)
    strip = 0 if score is None else strip_height(tile)
    image = np.empty((len(views), strip + rules.height * tile, rules.width * tile, 3), np.uint8)
    board = image[:, strip:].reshape(len(views), rules.height, tile, rules.width, tile, 3)
    board[...] = tiles.pictures(views).swapaxes(2, 3)
    if strip:
        points = np.asarray(score).reshape(len(views), -1)
        image[:, :strip] = _strips(rules, time.reshape(-1), points, strip, image.shape[2])
    return image.reshape(*batch, *image.shape[1:])


def checked_tile(tile: int) -> int:
    """The size of a tile in pixels; raises an error if it is invalid."""
    return checked_integer("tile_size", tile, 4, MAX_TILE)


def strip_height(tile: int) -> int:
    """Pixels of the strip above a board."""
    return max(11, round(tile * 0.625))


def _strips(rules: Rules, time: Pixels, score: Pixels, height: int, width: int) -> Pixels:
    """(B, height, width, 3) score on the left, time on the right, and a bar of the elapsed time."""
    glyphs = _glyphs(height)  # (128, height, advance, 3)
    columns = max(0, width // glyphs.shape[2] - 1)  # half a character stays free on either side
    most = rules.spec.max_steps
    lines = [_words(one, now, most, columns) for one, now in zip(score.tolist(), time.tolist(), strict=True)]
    codes = np.frombuffer("".join(lines).encode("ascii"), np.uint8).reshape(len(lines), columns)
    strips = np.empty((len(lines), height, width, 3), np.uint8)
    strips[...] = colour(PAPER)[0].astype(np.uint8)
    margin, used = (width - columns * glyphs.shape[2]) // 2, columns * glyphs.shape[2]
    words = glyphs[codes].swapaxes(1, 2).reshape(len(lines), height, used, 3)
    strips[:, :, margin : margin + used] = words
    over = np.arange(width) < (time.astype(np.int64) * width // most)[:, None]  # (B, width)
    bar = np.where(over[..., None], colour(VERMILLION)[0], colour(GRID)[0]).astype(np.uint8)
    strips[:, height - max(1, height // 10) :] = bar[:, None]
    return strips


def _words(score: list[float], time: int, most: int, columns: int) -> str:
    """The longest version of the line that fits."""
    points = score_words(score)
    spare = len(str(most)) - len(str(time))  # so that the same version fits for the whole episode
    choices = (
        (f"SCORE {points}", f"TIME {time}/{most}"),
        (f"SCORE {points}", f"{time}/{most}"),
        (f"SCORE {points}", str(time)),
        (points, f"{time}/{most}"),
        (points, str(time)),
        ("", str(time)),
    )
    for left, right in choices:
        if len(left) + 1 + len(right) + spare <= columns:
            return left + right.rjust(columns - len(left))
    return " " * columns


def score_words(score: list[float]) -> str:
    """One number if all agents have the same, else one for each agent."""
    return " ".join(f"{one:.5g}" for one in (score if len(set(score)) > 1 else score[:1]))


@functools.lru_cache(maxsize=32)
def _glyphs(height: int) -> Pixels:
    """(128, height, advance, 3) a picture of every ASCII character."""
    advance = max(5, round(height * 0.4))
    pictures = np.zeros((128, height, advance, 3), np.uint8)
    for code in range(32, 127):
        look = (box(PAPER, 0, 0, 1, 1), *text(INK, chr(code), advance / height / 2, 0.47, 0.44, 0.15))
        pictures[code] = draw(look, height, advance, height)
    return pictures


def sheet(images: Pixels, columns: int | None = None, gap: int = 8) -> Pixels:
    """(height, width, 3) many pictures, (B, h, w, 3), arranged in rows in one; about square by default."""
    count, height, width, _ = images.shape
    if columns is None:
        columns = min(count, max(1, round(math.sqrt(count * (height + gap) / (width + gap)))))
    rows = -(-count // columns)
    paper = np.empty((rows * columns, height + gap, width + gap, 3), np.uint8)
    paper[...] = 255
    paper[:count, :height, :width] = images
    grid = paper.reshape(rows, columns, height + gap, width + gap, 3).swapaxes(1, 2)
    return grid.reshape(rows * (height + gap), columns * (width + gap), 3)[: -gap or None, : -gap or None]
