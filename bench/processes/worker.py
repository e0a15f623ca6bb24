"""Our half of the protocol: start a process, send requests, and get the reason if it fails."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import ROOT
from bench.records import Status

#: Seconds to wait for an answer before giving up; the longest case takes some minutes.
PATIENCE = 3600.0
#: What XLA writes before a message: severity and date, time, thread, file and line.
LOGGED = re.compile(r"^[IWEF]\d{4} [\d:.]+ +\d+ \S+:\d+\] ")


class WorkerFailed(Exception):
    """A process gave no answer; `status` is that of its row, `worker` is None if it never started."""

    def __init__(self, reason: str, status: Status = "failed", worker: Worker | None = None) -> None:
        super().__init__(reason)
        self.status, self.worker = status, worker


class Worker:
    """A process that answers every line of JSON with another."""

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str] | None = None,
        cwd: Path = ROOT,
        *,
        shows_errors: bool = False,
        patience: float = PATIENCE,
    ) -> None:
        self._patience = patience
        # A file takes any amount while nobody reads; its last line is the reason for a crash.
        self._errors = (
            None if shows_errors else tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115  # closed below
        )
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                text=True,
                encoding="utf-8",
                cwd=cwd,
                env={**os.environ, **(env or {})},
                process_group=0,  # Ctrl-C reaches only us: we end the process, and it prints nothing
            )
        except OSError as error:
            if self._errors:
                self._errors.close()
            raise WorkerFailed(f"{command[0]} cannot be started: {error.strerror}.") from None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: Any = None) -> dict[str, Any]:
        """The answer to a request; raises WorkerFailed with the reason if there is none."""
        assert self._process.stdin
        assert self._process.stdout
        with contextlib.suppress(BrokenPipeError):  # the missing answer shows it
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        if not select.select([self._process.stdout], [], [], self._patience)[0]:
            self._process.kill()
            self._process.wait()  # so that it gets no further requests
            raise WorkerFailed(f"the process gave no answer for {self._patience:.0f} s.", worker=self)
        line = self._process.stdout.readline()
        if not line:
            raise self._death()
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise WorkerFailed(f"the process answered {line.strip()[:200]!r}.", worker=self)
        if "failed" in answer:
            raise WorkerFailed(answer["error"], answer["failed"], self)
        return answer

    def _death(self) -> WorkerFailed:
        code = self._process.wait()
        if code == -signal.SIGKILL:
            reason = "the process was killed, most likely because memory ran out."
            return WorkerFailed(reason, "out of memory", self)
        how = f"by signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        last = ""
        if self._errors:
            self._errors.seek(0)
            last = LOGGED.sub("", (self._errors.read().strip().splitlines() or [""])[-1])
        return WorkerFailed(f"the process ended {how}{f': {last}' if last else '.'}", worker=self)

    def close(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()
        if self._errors:
            self._errors.close()
