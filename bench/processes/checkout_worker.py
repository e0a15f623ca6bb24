"""The worker of an A/B: prepares cases of one checkout and takes a sample on each request."""

from __future__ import annotations

import contextlib
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from bench.measure import clock, training
from bench.measure.speed import counters_of
from bench.processes.pair import Answer
from bench.processes.protocol import serve
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.clock import Pass, block
from cogrid.benchmarks.modes import Ready, check, ready
from cogrid.benchmarks.workloads import checksum


class CheckoutWorker:
    def __init__(self) -> None:
        self._cores = os.sched_getaffinity(0) if sys.platform == "linux" else set()
        self._stack = contextlib.ExitStack()
        self._turn: Callable[[], float] | None = None

    def handle(self, request: dict[str, Any] | None) -> dict[str, Any]:
        """Prepare the requested case; without a request, return the seconds of a pass."""
        if request is not None:
            return self._prepare(**request)
        assert self._turn is not None
        return {"value": self._turn()}

    def _prepare(
        self, parameters: dict[str, Any], checked: bool, slow: float, on_cpu: bool
    ) -> dict[str, Any]:
        """Prepare a case; the first time, also compare it with NumPy and count."""
        self._stack.close()
        self._turn = None  # frees the last one
        _stay_on(self._cores)
        case = Case.of(parameters)
        prepared = training.ready(case) if case.measure == "train" else ready(case)
        found = _checked(case, prepared) if checked else {}
        answer: dict[str, Any] = msgspec.to_builtins(Answer(case.steps * case.batch, origins(), **found))
        # The same single core for both checkouts, so that both have the same load on it; more only if the
        # setting that is compared gives XLA more threads.
        _stay_on(set(sorted(self._cores)[-int(os.environ["NPROC"]) :]))
        turns = in_turns_on_cpu if on_cpu else clock.in_turns
        self._turn = self._stack.enter_context(turns(slowed(prepared.work, slow)))
        return answer


def _checked(case: Case, prepared: Ready | training.Update) -> dict[str, Any]:
    if isinstance(prepared, training.Update):
        training.check(case, prepared)
        return {"checksum": None, "counters": prepared.counters}
    check(case, prepared, prepared.end(prepared.work.once()))
    # Observations and rewards, but not the stored state, whose form may change between revisions.
    return {"checksum": checksum(prepared.path()), "counters": dict(counters_of(case, prepared))}


def _stay_on(cores: set[int]) -> None:
    """All threads of this process (Linux)."""
    for thread in Path("/proc/self/task").glob("*"):
        with contextlib.suppress(ProcessLookupError):  # it has ended
            os.sched_setaffinity(int(thread.name), cores)


def origins() -> list[str]:
    """The checkouts that our modules came from, to prove that no other revision is in this process."""
    ours = {name: module for name, module in sys.modules.items() if name.split(".")[0] in ("cogrid", "bench")}
    return sorted({_origin(name, module.__file__) for name, module in ours.items() if module.__file__})


def _origin(name: str, file: str) -> str:
    above = name.count(".") + file.endswith("__init__.py")
    return str(Path(file).resolve().parents[above])


def slowed(work: Pass, factor: float) -> Pass:
    """The same work, followed by a busy wait until it took `factor` times as long."""
    if factor == 1.0:
        return work

    def run() -> Any:
        start = time.perf_counter()
        result = block(work.run())
        end = start + (time.perf_counter() - start) * factor
        while time.perf_counter() < end:
            pass
        return result

    return work._replace(run=run)


@contextlib.contextmanager
def in_turns_on_cpu(work: Pass) -> Iterator[Callable[[], float]]:
    """As `clock.in_turns`, in CPU seconds of this process: its waiting for a core does not count."""
    seconds: list[float] = []

    def run() -> Any:
        start = time.process_time()
        result = block(work.run())
        seconds.append(time.process_time() - start)
        return result

    with clock.in_turns(work._replace(run=run)) as turn:

        def turn_on_cpu() -> float:
            seconds.clear()
            turn()
            return statistics.fmean(seconds[1:])  # the first pass only warms up

        yield turn_on_cpu


if __name__ == "__main__":
    serve(CheckoutWorker().handle)
