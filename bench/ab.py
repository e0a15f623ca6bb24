"""A/B: this checkout against another revision, in pairs of fresh processes that take turns."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, NamedTuple

from bench import results, runner, verdicts
from bench.paired import in_turns, noise_of
from bench.progress import Progress
from bench.results import ROOT, Result, ResultError
from bench.sides import Unable, Worker
from bench.trees import tree_of
from bench.verdicts import FIRST_PAIRS, ROUNDS, SECOND_PAIRS, Judged, Pair
from cogrid.benchmarks import clock
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.measures import Plan
from cogrid.core.profiling import VARIABLE as PROFILING

COMMAND = (sys.executable, "-m", "bench.ab_worker")
NOT_SLOWED: Mapping[str, float] = MappingProxyType({})

Words = dict[str, Any]


class Taken:
    """All that was measured of one case."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.first: list[Pair] = []
        self.second: list[Pair] = []
        self.alone: list[float] = []  # seconds of head, where base cannot run the case
        self.noise: list[dict[str, Any]] = []  # of every pair
        self.base: Words = {}  # what the sides said when they were checked
        self.head: Words = {}
        self.new: str | None = None  # why base cannot run it
        self.failure: tuple[str, str] | None = None  # status of the row, and why

    @property
    def is_compared(self) -> bool:
        """Whether both sides run it, and agree."""
        return self.failure is None and self.new is None

    def judged(self, cases: int) -> Judged | None:
        """The verdict, as one of so many cases."""
        if not self.is_compared:
            return None
        second = verdicts.evidence(self.second) if self.second else None
        return verdicts.judge(verdicts.evidence(self.first), second, cases)


class Side(NamedTuple):
    """A tree, and the environment of its processes."""

    name: str
    tree: Path
    env: dict[str, str]

    def start(self) -> Worker:
        """A process whose code is proved to be that of the tree."""
        worker = Worker(COMMAND, self.env, self.tree)
        try:
            self.prove(worker.ready)
        except ResultError:
            worker.close()
            raise
        return worker

    def prove(self, words: Words) -> None:
        """Raise where modules of ours come from anywhere else."""
        if words["homes"] != [str(self.tree.resolve())]:
            found = ", ".join(words["homes"])
            raise ResultError(
                f"the worker of {self.name} runs code from {found}, not from its own {self.tree} alone."
            )


class Processes:
    """A fresh process for each side; they prepare at the same time and are timed in turns."""

    def __init__(self, sides: Sequence[Side]) -> None:
        self._sides = sides
        self._pool = ThreadPoolExecutor(len(sides))
        self._workers: list[Worker | None] = [None for _ in sides]

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers:
            if worker:
                worker.close()
        self._pool.shutdown()

    def measure(self, taken: Taken, pairs: list[Pair], slow: float) -> None:
        """Rounds of one case, after its first check; what goes wrong becomes a part of what was taken."""
        request = {"parameters": taken.case.parameters(), "checked": not taken.head}
        # What base could not run once stays new: it is not asked again.
        asked = [(1, {**request, "slow": slow})]
        if not taken.new:
            asked.insert(0, (0, {**request, "slow": 1.0}))
        answers = list(self._pool.map(lambda one: self._ask(*one), asked))
        _note(taken, answers[0] if len(answers) > 1 else None, answers[-1])
        base, head = self._workers
        if taken.failure or head is None:
            return
        takers = [head.sample] if taken.new or base is None else [base.sample, head.sample]
        try:
            rounds, noise = clock.noted(lambda: in_turns(takers, ROUNDS))
        except Unable as failure:
            who = "base" if failure.of is base else "head"
            taken.failure = (failure.status, f"{who} stopped: {failure}")
            return
        taken.noise.append({name: noise[name] for name in ("steal", "pressure", "load")})
        if taken.new:
            taken.alone += [samples[0]["seconds"] for samples in rounds]
        else:
            pairs.append([[sample["seconds"] for sample in samples] for samples in rounds])

    def _ask(self, number: int, request: Words) -> Words | Unable:
        """A side's answer, from a new process if there is none yet or the last case killed it."""
        worker = self._workers[number]
        try:
            if worker is None or not worker.is_alive:
                if worker:
                    worker.close()
                worker = self._workers[number] = self._sides[number].start()
            answer = worker.ask(request)
        except Unable as failure:
            return failure
        self._sides[number].prove(answer)
        return answer


def _note(taken: Taken, base: Words | Unable | None, head: Words | Unable) -> None:
    """Keep what the sides said of a case that they prepared; base is not asked about what is new."""
    if isinstance(head, Unable):
        taken.failure = (head.status, str(head))
        return
    taken.head = taken.head or head
    if base is None:
        return
    if isinstance(base, Unable):
        if taken.base:  # it ran before, so it is not new
            taken.failure = (base.status, f"base stopped: {base}")
        else:
            taken.new = str(base)
        return
    taken.base = taken.base or base
    before, after = taken.base["checksum"], taken.head["checksum"]
    if before != after:
        taken.failure = ("mismatch", f"its trajectory {after} is not base's {before}: the game has changed.")


def run(
    result: Result, path: Path, sha: str, progress: Progress, slow: Mapping[str, float] = NOT_SLOWED
) -> Result:
    """Compare what is planned with the commit; the file is written when all is judged.

    `slow` makes head slower by a factor in the cases that it names, for the self-check.
    """
    plan = runner.plan_of(result)
    cases = [Case.of(parameters) for parameters in result["configuration"]["planned"]]
    with tree_of(sha) as base:
        found = compare({"base": base, "head": ROOT}, cases, progress, slow)
    result["rows"] = [row_of(taken, plan, len(cases)) for taken in found]
    results.validate(result)
    results.write(path, result)
    return result


def compare(
    trees: Mapping[str, Path],
    cases: Sequence[Case],
    progress: Progress,
    slow: Mapping[str, float] = NOT_SLOWED,
) -> list[Taken]:
    """A first look at every case, and a second one, with fresh processes, at those that seem to differ."""
    found = [Taken(case) for case in cases]
    with tempfile.TemporaryDirectory(prefix="cogrid-ab-") as folder:
        sides = [Side(name, tree, _environment(Path(folder) / name)) for name, tree in trees.items()]

        def look(chosen: Sequence[Taken], number: int, total: int, name: str) -> None:
            progress.start(f"{name} look, pair {number + 1} of {total}, {len(chosen)} cases", number, total)
            with Processes(sides) as processes:
                for taken in chosen:
                    if taken.failure is None:
                        pairs = taken.first if name == "first" else taken.second
                        processes.measure(taken, pairs, slow.get(taken.case.name, 1.0))

        for number in range(FIRST_PAIRS):
            look(found, number, FIRST_PAIRS, "first")
        suspects = [
            taken
            for taken in found
            if taken.is_compared and verdicts.is_suspect(verdicts.evidence(taken.first))
        ]
        for number in range(SECOND_PAIRS if suspects else 0):
            look(suspects, number, SECOND_PAIRS, "second")
    return found


def _environment(cache: Path) -> dict[str, str]:
    """Of a side: it compiles once, its later processes read what its first one left.

    What would differ between two processes of the same code is kept still: XLA has one thread, and glibc
    gives no memory back, which it otherwise does or not by the accident of what lies on top. No path leads to
    another tree.
    """
    return {
        "NPROC": "1",
        "MALLOC_MMAP_THRESHOLD_": str(2**25),
        "MALLOC_TRIM_THRESHOLD_": str(2**32),
        "MALLOC_TOP_PAD_": str(2**26),
        "JAX_COMPILATION_CACHE_DIR": str(cache),
        "JAX_ENABLE_COMPILATION_CACHE": "1",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",  # two processes share a GPU
        PROFILING: "",
        "PYTHONPATH": "",
        "PYTHONSAFEPATH": "",
    }


def row_of(taken: Taken, plan: Plan, cases: int) -> Words:
    """A row of the result: head's speed, and how it compares."""
    status, error = taken.failure or ("ok", None)
    steps = taken.head.get("steps", 0)
    seconds = taken.alone + [head for pair in taken.first + taken.second for _, head in pair]
    if status == "ok" and not seconds:
        status, error = "failed", "it was never measured."
    counters = taken.head.get("counters", {})
    measured = {
        "agents": taken.case.spec.num_agents,
        "status": status,
        "error": error,
        "unit": "steps/s",
        "samples": [steps / value for value in seconds],
        "counters": counters,
        "memory": {},
        "noise": noise_of(taken.noise),
        "checksum": taken.head.get("checksum"),
        "parts": {},
    }
    return runner.row_of(taken.case, plan, measured) | {"ab": _ab(taken, cases)}


def _ab(taken: Taken, cases: int) -> Words:
    """The comparison, with every sample: a file can be judged again."""
    before, after = taken.base.get("counters", {}), taken.head.get("counters", {})
    judged = taken.judged(cases)
    empty = dict.fromkeys(Judged._fields)
    verdict = "new" if taken.new else taken.failure[0] if taken.failure else None
    return {
        **(judged._asdict() if judged else empty | {"verdict": verdict, "confirmed": False}),
        "why_new": taken.new,
        "pairs": taken.first,
        "second": taken.second,
        "counters": {name: [before.get(name), after.get(name)] for name in before | after if before},
    }
