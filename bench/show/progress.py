"""Progress: a bar with a clock on a terminal, plain lines in a pipe; on stderr."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

#: Seconds between two updates. Their cost is negligible, since other processes do the measuring.
ON_A_TERMINAL, IN_A_PIPE = 1.0, 15.0


class Progress:
    """Shows which case is being measured, for how long, and the outcome."""

    def __init__(self) -> None:
        # FORCE_COLOR would make rich take a pipe for a terminal.
        self._console = Console(stderr=True, force_terminal=sys.stderr.isatty())
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._console,
            auto_refresh=False,
        )
        self._task: Any = None
        self._where = self._name = ""
        self._began, self._over = time.monotonic(), threading.Event()
        self._writing = threading.Lock()  # the clock and the caller take turns
        self._clock = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Progress:
        self._clock.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._clock.join()
        if self._task is not None:
            self._bar.stop()

    def _tick(self) -> None:
        while not self._over.wait(ON_A_TERMINAL if self._console.is_terminal else IN_A_PIPE):
            with self._writing, contextlib.suppress(OSError):  # the reader is gone
                if self._task is not None:
                    self._bar.refresh()
                elif self._name:
                    seconds = time.monotonic() - self._began
                    print(f"{self._where} {self._name}: {seconds:.0f} s so far", file=sys.stderr, flush=True)

    def start(self, name: str, number: int, total: int) -> None:
        with self._writing:
            self._where, self._name, self._began = f"[{number + 1}/{total}]", name, time.monotonic()
            if not self._console.is_terminal:
                return
            if self._task is None:
                self._bar.start()
                self._task = self._bar.add_task(name, total=total)
            self._bar.update(self._task, description=name, completed=number, refresh=True)

    def finish(self, name: str, outcome: str) -> None:
        with self._writing:
            line = f"{self._where} {name}: {outcome}"
            self._name = ""  # nothing is being measured until the next start
            if self._task is None:
                print(line, file=sys.stderr, flush=True)
            else:
                self._bar.update(self._task, advance=1, refresh=True)
                self._console.print(line, markup=False, highlight=False)
