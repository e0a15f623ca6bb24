"""speed.csv: how fast training was, a line for each chunk of updates."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

import jax

from cogrid._apps.train.options import Options

SPEED = "speed.csv"
HEADER = "update,steps,seconds,steps_per_second,score"


class SpeedLog:
    """Appends a line after each chunk; a resumed run keeps those of the chunks that its checkpoint has."""

    def __init__(self, folder: Path, options: Options, done: int) -> None:
        """Begin the file, or cut it to the first `done` chunks."""
        self.path, self.options = folder / SPEED, options
        self.is_writer = jax.process_index() == 0
        if self.is_writer:
            known = (
                self.path.read_text(encoding="utf-8").splitlines()[1:] if done and self.path.is_file() else []
            )
            self.path.write_text("\n".join([HEADER, *known[:done]]) + "\n", encoding="utf-8")

    def add(self, chunks: int, seconds: float, scores: Sequence[float]) -> None:
        """A line: updates done; of this chunk, the environment steps of all seeds, its seconds, its score."""
        if self.is_writer:
            steps = self.options.seeds * self.options.steps_of_chunk
            update, speed = chunks * self.options.chunk, steps / seconds
            with self.path.open("a", encoding="utf-8") as file:
                file.write(f"{update},{steps},{seconds:.6f},{speed:.1f},{statistics.fmean(scores):.4f}\n")
