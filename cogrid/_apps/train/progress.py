"""Progress of training: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from cogrid._apps.train.options import Options

MOST_SHOWN = 10  # seeds whose scores fit into a line


class TrainingProgress:
    """Reports after every chunk the progress of the run, its score and its speed."""

    def __init__(self, options: Options) -> None:
        """Prepare the bar; it is shown on entering the context."""
        self.options = options
        self.chunks = options.updates // options.chunk
        # FORCE_COLOR would make rich take a pipe for a terminal.
        self.console = Console(stderr=True, force_terminal=sys.stderr.isatty())
        self.bar = Progress(
            TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(), console=self.console
        )
        self.every = max(1, self.chunks // 20)  # chunks between plain lines

    def __enter__(self) -> TrainingProgress:
        """Show the bar."""
        if self.console.is_terminal:
            self.bar.start()
        self.task = self.bar.add_task("compiling", total=self.chunks)
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the bar as it is."""
        self.bar.stop()

    def start(self, done: int) -> None:
        """Start the clock of a chunk, with so many done before it."""
        self.began = time.perf_counter()
        self.bar.update(self.task, completed=done)

    def finish(self, done: int, scores: Sequence[float]) -> None:
        """A chunk has ended. The first one includes compilation, so its speed says little."""
        each = self.options.steps_of_chunk
        speed = self.options.seeds * each / (time.perf_counter() - self.began)
        seeds = f" ({', '.join(f'{score:.1f}' for score in scores)})" if 1 < len(scores) <= MOST_SHOWN else ""
        line = f"{done * each / 1e6:.2f} M steps, return {np.mean(scores):.1f}{seeds}, {speed:,.0f} steps/s"
        self.bar.update(self.task, completed=done, description=line)
        if not self.console.is_terminal and (done % self.every == 0 or done == self.chunks):
            print(line, file=sys.stderr, flush=True)
