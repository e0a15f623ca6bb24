"""A side of an A/B: prepares cases and takes samples of them when told to, a line of JSON for each."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cogrid
from bench import training
from bench.injection import slowed
from bench.worker import failure_of, stand_below_the_runner
from cogrid.benchmarks import clock
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.measures import counters_of
from cogrid.benchmarks.modes import Ready, check, ready
from cogrid.benchmarks.workloads import checksum

Words = dict[str, Any]


class Side:
    """The case that was prepared last."""

    def __init__(self) -> None:
        self._cores = os.sched_getaffinity(0) if sys.platform == "linux" else set()
        self._stack = contextlib.ExitStack()
        self._turn: Callable[[], float] | None = None

    def prepare(self, parameters: Words, checked: bool, slow: float) -> Words:
        """Make a case ready; the first time also compare it with NumPy, and count."""
        self._stack.close()
        self._turn = None  # frees the last one
        _stay_on(self._cores)
        case = Case.of(parameters)
        prepared = training.ready(case) if case.measure == "train" else ready(case)
        answer: Words = {"steps": case.steps * case.batch, "homes": homes()}
        if checked:
            answer |= _checked(case, prepared)
        # One core, the same for both sides: they have the same neighbours.
        _stay_on({max(self._cores, default=0)})
        self._turn = self._stack.enter_context(clock.in_turns(slowed(prepared.work, slow)))
        return answer

    def turn(self) -> Words:
        """Seconds of a pass."""
        assert self._turn is not None
        return {"seconds": self._turn()}


def _checked(case: Case, prepared: Ready | training.Update) -> Words:
    """What both sides must agree on."""
    if isinstance(prepared, training.Update):
        training.check(case, prepared)
        return {"checksum": None, "counters": prepared.counters}
    check(case, prepared, prepared.end(prepared.work.once()))
    # What was seen and paid, and not how a state stores it: that may change between revisions.
    return {"checksum": checksum(prepared.path()), "counters": dict(counters_of(case, prepared))}


def _stay_on(cores: set[int]) -> None:
    """All threads of this process (Linux)."""
    for thread in Path("/proc/self/task").glob("*"):
        with contextlib.suppress(ProcessLookupError):  # it has ended
            os.sched_setaffinity(int(thread.name), cores)


def homes() -> list[str]:
    """The trees that all modules of ours came from: the proof that no other revision is in this process."""
    ours = {name: module for name, module in sys.modules.items() if name.split(".")[0] in ("cogrid", "bench")}
    return sorted({_tree(name, module.__file__) for name, module in ours.items() if module.__file__})


def _tree(name: str, file: str) -> str:
    above = name.count(".") + file.endswith("__init__.py")
    return str(Path(file).resolve().parents[above])


def main() -> None:
    """Whatever else is printed goes to stderr, so that stdout holds the answers and nothing else."""
    side = Side()
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        stand_below_the_runner()

        def answer(words: Words) -> None:
            print(json.dumps(words), file=answers, flush=True)

        answer({"version": cogrid.__version__, "homes": homes()})
        for line in sys.stdin:
            request = json.loads(line)
            try:
                answer(side.prepare(**request) if request else side.turn())
            except Exception as failure:  # any library may raise anything; the row says what, others go on
                status, error = failure_of(failure)
                answer({"status": status, "error": error})


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):  # the runner, interrupted too, says what there is to say
        main()
