"""Starting a peer: the description of its process, and a process that has prepared its case."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench import ROOT
from bench.processes.turns import Reading
from bench.processes.worker import Worker
from cogrid._core.profiling import VARIABLE as PROFILING
from cogrid.backend.array import Array
from cogrid.benchmarks.case import Case


class Resources(NamedTuple):
    """What a run provides for the processes of its peers."""

    folder: Path  # of files that they read; it is removed after the run
    older_python: str | None = None  # a Python that has cogrid 0.3.2


class Process(NamedTuple):
    """A command that speaks the worker protocol, and its first request."""

    command: Sequence[str]
    job: Mapping[str, Any]
    cwd: Path = ROOT


#: Makes the process for a way and a case; raises WorkerFailed with the reason if there can be none.
Launcher = Callable[[str, Case, Resources], Process]


def python_module(name: str) -> Launcher:
    """This Python, and a module that has `prepare(way, case)`."""
    command = (sys.executable, "-m", "bench.peers.peer_worker")

    def launch(way: str, case: Case, resources: Resources) -> Process:
        return Process(command, {"module": name, "way": way, "case": case.parameters()})

    return launch


def tape_file(folder: Path, actions: Array) -> Path:
    """A tape as raw bytes; it is read before the first answer, so the next one can replace it."""
    path = folder / "tape"
    path.write_bytes(np.ascontiguousarray(actions, np.int8).tobytes())
    return path


class ReadyPeer:
    """A process that has prepared its case; raises WorkerFailed with the reason if it cannot."""

    def __init__(self, process: Process, env: Mapping[str, str]) -> None:
        started = time.perf_counter()
        self.worker = Worker(process.command, {PROFILING: "", **env}, process.cwd)
        try:
            answer = self.worker.ask(process.job)
        except BaseException:
            self.worker.close()
            raise
        self.start_seconds = time.perf_counter() - started
        self.library: str = answer["library"]
        self.unit: str = answer["unit"]
        self.end: dict[str, list[Any]] = answer["end"]  # by name, for every lane of the tape

    def sample(self) -> Reading:
        return Reading.of(self.worker.ask())
