"""Progress: a bar on a terminal, plain lines in a pipe; on stderr, and never while the clock runs."""

from __future__ import annotations

import sys
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from bench.words import reading


class Progress:
    """Says which case is under way, and what came of it."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        # Drawn only when a case begins or ends: a refreshing thread would run beside the clock.
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._console,
            auto_refresh=False,
        )
        self._task: Any = None
        self._where = ""

    def start(self, name: str, number: int, total: int) -> None:
        """A case begins."""
        self._where = f"[{number + 1}/{total}]"
        if not self._console.is_terminal:
            return
        if self._task is None:
            self._bar.start()
            self._task = self._bar.add_task(name, total=total)
        self._bar.update(self._task, description=name, completed=number, refresh=True)

    def finish(self, row: dict[str, Any]) -> None:
        """Its row is there."""
        line = f"{self._where} {row['name']}: {reading(row)}"
        if self._task is None:
            print(line, file=sys.stderr, flush=True)
        else:
            self._bar.update(self._task, advance=1, refresh=True)
            self._console.print(line, markup=False, highlight=False)

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._task is not None:
            self._bar.stop()
