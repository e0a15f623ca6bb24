"""Progress: a bar on a terminal, plain lines in a pipe; on stderr, and never while the clock runs."""

from __future__ import annotations

import sys
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar


class Progress:
    """Shows which case is being measured, and what came of it; leaves the terminal as it was."""

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

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        if self._task is not None:
            self._bar.stop()

    def start(self, name: str, number: int, total: int) -> None:
        self._where = f"[{number + 1}/{total}]"
        if not self._console.is_terminal:
            return
        if self._task is None:
            self._bar.start()
            self._task = self._bar.add_task(name, total=total)
        self._bar.update(self._task, description=name, completed=number, refresh=True)

    def finish(self, name: str, outcome: str) -> None:
        line = f"{self._where} {name}: {outcome}"
        if self._task is None:
            print(line, file=sys.stderr, flush=True)
        else:
            self._bar.update(self._task, advance=1, refresh=True)
            self._console.print(line, markup=False, highlight=False)
