"""A pair: a fresh process for each of two checkouts, prepared at the same time and timed alternately."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from bench.exit_codes import UsageError
from bench.measure import clock
from bench.processes.turns import Reading, in_turns
from bench.processes.worker import Worker, WorkerFailed
from bench.records import Pairs, Parameters, Record, Status
from bench.storage import acceptances
from bench.storage.acceptances import Allowed
from cogrid.benchmarks.case import Case

COMMAND = (sys.executable, "-m", "bench.processes.checkout_worker")


class Answer(Record):
    """What a checkout says of a case that it has prepared; checksum and counters when it was checked too."""

    steps: int  # of a pass, over the batch
    origins: list[str]  # of the code in the process
    checksum: str | None = None
    counters: dict[str, int] = msgspec.field(default_factory=dict)


class Checkout(NamedTuple):
    """A revision in a folder, and the environment of its processes."""

    name: str
    folder: Path
    env: dict[str, str]

    def start(self) -> Worker:
        return Worker(COMMAND, self.env, self.folder)

    def prove(self, answer: Answer) -> None:
        """Raise an error if any of our modules come from anywhere else."""
        if answer.origins != [str(self.folder.resolve())]:
            found = ", ".join(answer.origins)
            raise UsageError(
                f"the worker of {self.name} runs code from {found}, not from its own {self.folder} alone."
            )


class CaseSamples:
    def __init__(self, case: Case, head_case: Case | None = None, allowed: Allowed | None = None) -> None:
        self.case = case
        self.allowed = allowed or acceptances.none().of(case.name, Parameters.of(case))
        self.head_case = head_case or case  # a different one if an option is compared
        self.first: Pairs = []
        self.second: Pairs = []
        self.alone: list[float] = []  # seconds of head, where base cannot run the case
        self.noise: list[dict[str, float]] = []  # of every pair
        self.base: Answer | None = None  # the checkouts' answers to the check
        self.head: Answer | None = None
        self.new: str | None = None  # why base cannot run it
        self.failure: tuple[Status, str] | None = None

    @property
    def is_compared(self) -> bool:
        return self.failure is None and self.new is None

    @property
    def plays_another_game(self) -> bool:
        """Whether the trajectories differ, although both play the same case."""
        if self.base is None or self.head is None or self.head_case != self.case:
            return False
        return self.base.checksum != self.head.checksum

    def note(self, base: Answer | WorkerFailed | None, head: Answer | WorkerFailed) -> None:
        """Store the checkouts' answers; base gets no request for new cases."""
        if isinstance(head, WorkerFailed):
            self.failure = (head.status, str(head))
            return
        self.head = self.head or head
        if base is None:
            return
        if isinstance(base, WorkerFailed):
            if self.base:  # it ran before, so it is not new
                self.failure = (base.status, f"base stopped: {base}")
            else:
                self.new = str(base)
            return
        self.base = self.base or base
        before, after = self.base.checksum, self.head.checksum
        if self.plays_another_game and not self.allowed.results:
            reason = f"its trajectory {after} is not base's {before}: the game has changed."
            self.failure = ("mismatch", reason)


class Pair:
    """The two processes; one that was killed by a case is restarted for the next."""

    def __init__(self, base: Checkout, head: Checkout, on_cpu: bool = False) -> None:
        self._checkouts = (base, head)
        self._on_cpu = on_cpu  # whether turns are timed by the CPU time of their process
        self._pool = ThreadPoolExecutor(2)
        self._workers: list[Worker | None] = [None, None]

    def __enter__(self) -> Pair:
        return self

    def __exit__(self, *error: object) -> None:
        for worker in self._workers:
            if worker:
                worker.close()
        self._pool.shutdown()

    def measure(self, samples: CaseSamples, pairs: Pairs, slow: float, rounds: int) -> None:
        """Rounds of one case, after its first check; failures are recorded in the samples."""
        request = {"checked": not samples.head, "on_cpu": self._on_cpu}
        # A case that base could not run stays new: it is not requested again.
        asked = [(1, {**request, "parameters": samples.head_case.parameters(), "slow": slow})]
        if not samples.new:
            asked.insert(0, (0, {**request, "parameters": samples.case.parameters(), "slow": 1.0}))
        answers = list(self._pool.map(lambda one: self._ask(*one), asked))
        samples.note(answers[0] if len(answers) > 1 else None, answers[-1])
        if samples.failure is None:
            self._take(samples, pairs, rounds)

    def _take(self, samples: CaseSamples, pairs: Pairs, rounds: int) -> None:
        base, head = self._workers
        workers = [worker for worker in ((None if samples.new else base), head) if worker]
        try:
            taken, noise = clock.noted(lambda: in_turns([_sampler(one) for one in workers], rounds))
        except WorkerFailed as failure:
            who = "base" if failure.worker is base else "head"
            samples.failure = (failure.status, f"{who} stopped: {failure}")
            return
        samples.noise.append({name: noise[name] for name in ("steal", "pressure", "load")})
        if samples.new:
            samples.alone += [head.value for (head,) in taken]
        else:
            pairs.append([(base.value, head.value) for base, head in taken])

    def _ask(self, number: int, request: dict[str, Any]) -> Answer | WorkerFailed:
        worker = self._workers[number]
        try:
            if worker is None or not worker.is_alive:
                if worker:
                    worker.close()
                worker = self._workers[number] = self._checkouts[number].start()
            answer = msgspec.convert(worker.ask(request), Answer)
        except WorkerFailed as failure:
            return failure
        except msgspec.ValidationError as error:
            return WorkerFailed(f"the process answered something else: {error}.", worker=worker)
        self._checkouts[number].prove(answer)
        return answer


def _sampler(worker: Worker) -> Any:
    return lambda: Reading.of(worker.ask())
