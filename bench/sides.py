"""Sides at work: a process for each, made ready once, then asked for one sample at a time."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.results import ROOT
from bench.rivals.ours import lanes, own_tapes
from bench.targets import Side
from cogrid.backend.array import Array

LIMIT = ROOT / "bench" / "limit.c"
FLAGS = ("-O3", "-march=native")


class Unable(Exception):
    """A side that cannot be run, and why; the status is that of its row, `of` is who stopped at work."""

    def __init__(self, reason: str, status: str = "failed", of: Worker | None = None) -> None:
        super().__init__(reason)
        self.status, self.of = status, of


class Worker:
    """A process that answers every line with one of JSON."""

    def __init__(self, command: Sequence[str], env: dict[str, str] | None = None, cwd: Path = ROOT) -> None:
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  # lives as long as the process
        started = time.perf_counter()
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                text=True,
                cwd=cwd,
                env={**os.environ, **(env or {})},
            )
        except OSError as error:
            self._errors.close()
            raise Unable(f"{command[0]} cannot be started: {error.strerror}.") from None
        try:
            self.ready = self._answer()
        except BaseException:
            self.close()
            raise
        self.start_seconds = time.perf_counter() - started

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    def sample(self) -> dict[str, Any]:
        """The next one: its value, and what disturbed it."""
        return self.ask(None)

    def ask(self, request: Any) -> dict[str, Any]:
        """The answer to a line of JSON."""
        assert self._process.stdin
        with contextlib.suppress(BrokenPipeError):  # the missing answer says it
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise self._death()
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError:
            raise Unable(f"the process answered {line.strip()!r}.", of=self) from None
        if "error" in answer:
            raise Unable(answer["error"], answer["status"], self)
        return answer

    def _death(self) -> Unable:
        code = self._process.wait()
        if code == -signal.SIGKILL:
            return Unable("the process was killed, most likely for want of memory.", "out of memory", self)
        self._errors.seek(0)
        last = (self._errors.read().strip().splitlines() or [""])[-1]
        return Unable(last or f"the process ended with exit code {code}.", of=self)

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin
        assert self._process.stdout
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()
        self._errors.close()


class Sides:
    """Knows how to start every kind of side; files that they need are in a folder that ends with it."""

    def __init__(self, folder: Path, older: str | None = None) -> None:
        self.folder, self.older = folder, older

    def start(self, side: Side) -> Worker:
        """A process that is ready."""
        command, cwd = {"C": self._c, "older": self._older}.get(side.who, self._python)(side)
        return Worker(command, dict(side.env), cwd)

    def _python(self, side: Side) -> tuple[list[str], Path]:
        return [sys.executable, "-m", "bench.rivals", side.who, json.dumps(self._job(side))], ROOT

    def _older(self, side: Side) -> tuple[list[str], Path]:
        """Our folder is the last of its path: the cogrid that is installed there goes before."""
        if self.older is None:
            raise Unable("no Python that has cogrid 0.3.2 was named: --older PYTHON, or nox -s bench-peers.")
        program = f"import sys; sys.path.append({str(ROOT)!r}); from bench.rivals.older import main; main()"
        job = self._job(side) | {"tape": str(self._file(side, lanes(side.case))), "lanes": side.case.lanes}
        return [self.older, "-c", program, json.dumps(job)], self.folder

    def _c(self, side: Side) -> tuple[list[str], Path]:
        case = side.case
        path = self._file(side, own_tapes(case))
        return [str(self.limit()), str(path), str(case.steps), str(case.batch), side.how], self.folder

    def _job(self, side: Side) -> dict[str, Any]:
        return {"how": side.how, "case": side.case.parameters()}

    def _file(self, side: Side, actions: Array) -> Path:
        """A tape as its bare bytes."""
        path = self.folder / f"{side.who}.tape"
        path.write_bytes(np.ascontiguousarray(actions, np.int8).tobytes())
        return path

    def limit(self) -> Path:
        """The compiled C program."""
        program = self.folder / "limit"
        if program.exists():
            return program
        compiler = shutil.which(os.environ.get("CC", "cc"))
        if compiler is None:
            raise Unable("there is no C compiler: install one as cc, or name it in CC.")
        command = [compiler, *FLAGS, "-o", str(program), str(LIMIT)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            raise Unable(f"{compiler} fails: {(run.stderr.strip().splitlines() or ['no reason given'])[0]}")
        return program


@contextlib.contextmanager
def workers(sides: Sides, chosen: Sequence[Side]) -> Iterator[list[Worker | Unable]]:
    """A process for each, started one after the other; why not, for those that cannot."""
    with contextlib.ExitStack() as stack:
        found: list[Worker | Unable] = []
        for side in chosen:
            try:
                worker = sides.start(side)
            except Unable as reason:
                found.append(reason)
            else:
                stack.callback(worker.close)
                found.append(worker)
        yield found
