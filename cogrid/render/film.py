"""Films: the pictures of an episode, drawn lazily, and saved as files."""

from __future__ import annotations

import dataclasses
import io
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np

from cogrid._core.author.options import checked_number
from cogrid._core.rules import Rules
from cogrid._io import files, installed
from cogrid.backend.env_state import EnvState
from cogrid.render.picture import TILE, checked_tile, picture, sheet, strip_height
from cogrid.render.raster import Pixels

SUFFIXES = (".gif", ".apng", ".png")
LEAST_FPS, MOST_FPS = 0.02, 100.0  # files store the duration of a picture in 16 bits
MAX_PIXELS = 2**26  # of a picture
_SAMPLES = 12  # pictures from which the colours of a GIF are chosen


class Film(Sequence[Pixels]):
    """The pictures of successive states; a batch of environments becomes one sheet."""

    def __init__(
        self, rules: Rules, states: Sequence[EnvState], scores: Sequence[Any], tile_size: int = TILE
    ) -> None:
        if len(states) != len(scores) or not states:
            raise ValueError(f"a film of {len(states)} states needs as many scores, and at least one.")
        self.rules, self.states, self.scores = rules, states, scores
        self.tile_size = checked_tile(tile_size)
        check_pixels(rules, states[0].clock.size, tile_size)

    def __len__(self) -> int:
        """Number of pictures."""
        return len(self.states)

    @overload
    def __getitem__(self, index: int) -> Pixels: ...
    @overload
    def __getitem__(self, index: slice) -> Film: ...
    def __getitem__(self, index: int | slice) -> Pixels | Film:
        """A picture (height, width, 3), or a part of the film."""
        if isinstance(index, slice):
            return Film(self.rules, self.states[index], self.scores[index], self.tile_size)
        image = picture(self.rules, self.states[index], self.tile_size, self.scores[index])
        return image if image.ndim == 3 else sheet(image.reshape(-1, *image.shape[-3:]))

    def save(self, path: str | os.PathLike[str], fps: float = 8.0) -> None:
        """Write an animated .gif or .apng that loops, or the last picture as a .png.

        An old file is replaced only when the new one is complete.
        """
        suffix = Path(path).suffix.lower()
        if suffix not in SUFFIXES:
            raise ValueError(f"{str(path)!r} is not a picture file: choose a name in {', '.join(SUFFIXES)}.")
        checked_number("fps", fps, LEAST_FPS, MOST_FPS)
        images = _images()
        with files.replacing(path) as file:
            whole = io.BytesIO()  # writing to the file itself, Pillow would not report a full disk
            if suffix == ".png":
                images.fromarray(self[-1]).save(whole, "PNG", optimize=True)
            else:
                self._animate(images, whole, suffix, fps)
            file.write(whole.getbuffer())

    def _animate(self, images: Any, file: io.BytesIO, suffix: str, fps: float) -> None:
        kind, convert = ("GIF", self._limit(images)) if suffix == ".gif" else ("PNG", images.fromarray)
        rest, duration = _Frames(self, convert), 1000 / fps
        convert(self[0]).save(
            file, kind, save_all=True, append_images=rest, duration=duration, loop=0, optimize=True
        )

    def _limit(self, images: Any) -> Callable[[Pixels], Any]:
        """A function that reduces pictures to the 256 colours of a GIF, the same for all."""
        samples = [self[k] for k in sorted({*np.linspace(0, len(self) - 1, _SAMPLES, dtype=int).tolist()})]
        palette = images.fromarray(np.concatenate(samples)).quantize(256, method=images.Quantize.MEDIANCUT)
        return lambda image: images.fromarray(image).quantize(palette=palette, dither=images.Dither.NONE)


def check_pixels(rules: Rules, batch: int, tile: int) -> None:
    """Raise a ValueError if a picture of this many environments would be too large."""
    pixels = batch * (strip_height(tile) + rules.height * tile) * rules.width * tile
    if pixels > MAX_PIXELS:
        boards = "one board" if batch == 1 else f"{batch:,} boards"
        raise ValueError(
            f"a picture of {boards} of {rules.height} × {rules.width} cells, {tile} pixels wide each, has "
            f"{pixels:,} pixels, but at most {MAX_PIXELS:,} fit: choose a smaller tile or fewer environments."
        )


@dataclasses.dataclass(frozen=True)
class _Frames:
    """All but the first picture, made one by one; Pillow iterates over them twice."""

    film: Film
    convert: Callable[[Pixels], Any]

    def __iter__(self) -> Iterator[Any]:
        return (self.convert(self.film[number]) for number in range(1, len(self.film)))


def _images() -> Any:
    try:
        from PIL import Image
    except ModuleNotFoundError:
        raise ValueError(
            f"picture files need Pillow, which is not installed: {installed.remedy('render')}."
        ) from None
    return Image
