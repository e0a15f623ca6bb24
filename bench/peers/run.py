"""Measures the targets: peers take turns, after a check that they agree on the end of the tape."""

from __future__ import annotations

import contextlib
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench import ROOT
from bench.compare.intervals import Interval, interval
from bench.exit_codes import Code, UsageError, worst
from bench.peers.start import ReadyPeer, Resources
from bench.peers.target import COGRID, PeerCase, PeerTarget
from bench.peers.targets import TARGETS
from bench.processes.turns import Reading, in_turns, noise_of
from bench.processes.worker import WorkerFailed
from bench.records import Measurement, Result, Row, Statistics, TargetResult
from bench.show.progress import Progress
from bench.storage import results
from bench.storage.identity import MEASURING, code_of, hashed
from bench.units import percent
from cogrid.benchmarks.workloads import checksum

ROUNDS, QUICK_ROUNDS = 20, 6  # an interval needs at least six
#: The code between a case and the numbers of any peer; its own module is added.
SHARED = (*MEASURING, *(f"bench/peers/{name}.py" for name in ("cases", "compiled", "peer_worker")))


class Found(NamedTuple):
    """The result of a target: a row for each of its cases."""

    target: PeerTarget
    rows: list[Row]

    @property
    def failure(self) -> Row | None:
        return next((row for row in self.rows if not row.is_ok), None)

    @property
    def figures(self) -> list[float]:
        if self.failure:
            return []
        rounds = zip(*(row.samples for row in self.rows), strict=True)
        return [self.target.figure(self.target, values) for values in rounds]

    @property
    def interval(self) -> Interval | None:
        return interval(self.figures) if self.figures else None

    @property
    def verdict(self) -> str:
        if self.failure:
            wrong = self.failure.status == "mismatch"
            return f"{'WRONG RESULTS' if wrong else 'not measured'}: {self.failure.error}"
        return self.target.verdict(interval(self.figures).median)


def select(only: str | None) -> list[PeerTarget]:
    chosen = [target for target in TARGETS if only is None or only.lower() in target.name.lower()]
    if not chosen:
        known = "\n".join(f"  {target.name}" for target in TARGETS)
        raise UsageError(f"no target's name contains {only!r}; known are:\n{known}")
    return chosen


def run(
    targets: Sequence[PeerTarget],
    rounds: int,
    older_python: str | None,
    result: Result,
    path: Path,
    progress: Progress,
) -> list[Found]:
    """Measure the targets one after the other; the file is complete after every one."""
    measured: list[Found] = []
    with tempfile.TemporaryDirectory(prefix="cogrid-peers-") as folder:
        resources = Resources(Path(folder), older_python)
        for number, target in enumerate(targets):
            progress.start(target.name, number, len(targets))
            measured.append(measure(target, resources, rounds))
            _add(result, measured[-1])
            results.write(path, result)
            progress.finish(target.name, _outcome(measured[-1]))
    return measured


def measure(target: PeerTarget, resources: Resources, rounds: int) -> Found:
    """Samples of all peers in turn; if one cannot be measured, of the others."""
    with contextlib.ExitStack() as stack:
        started = [_start(case, resources, stack) for case in target.cases]
        if disagreement := _disagreement(target.cases, started):
            started = [disagreement if isinstance(one, ReadyPeer) else one for one in started]
        started, taken = _take(started, min(rounds, target.rounds or rounds))
    columns = iter(zip(*taken, strict=True))
    rows = [
        _failed(case, one) if isinstance(one, WorkerFailed) else _measured(case, one, next(columns))
        for case, one in zip(target.cases, started, strict=True)
    ]
    return Found(target, rows)


Started = ReadyPeer | WorkerFailed


def _start(case: PeerCase, resources: Resources, stack: contextlib.ExitStack) -> Started:
    try:
        ready = case.start(resources)
    except WorkerFailed as failure:
        return failure
    stack.callback(ready.worker.close)
    return ready


def _take(started: list[Started], rounds: int) -> tuple[list[Started], list[list[Reading]]]:
    """The samples of all peers that do not fail; if one fails, it is left out and the others start over."""
    while True:
        able = [one for one in started if isinstance(one, ReadyPeer)]
        try:
            return started, in_turns([one.sample for one in able], rounds)
        except WorkerFailed as failure:
            started = [
                failure if isinstance(one, ReadyPeer) and one.worker is failure.worker else one
                for one in started
            ]


def _disagreement(cases: Sequence[PeerCase], started: Sequence[Started]) -> WorkerFailed | None:
    """The first difference between peers at the end of the first one's tape, in the lanes that both have."""
    played = [
        (case.tape, one.end) for case, one in zip(cases, started, strict=True) if isinstance(one, ReadyPeer)
    ]
    for tape, end in played[1:]:
        first_tape, first = played[0]
        for name in sorted(end.keys() & first.keys()) if tape == first_tape else ():
            for lane, (one, two) in enumerate(zip(first[name], end[name], strict=False)):
                if one != two:
                    return WorkerFailed(
                        f"at the end of tape {lane} the {name} of one are {one}, of the other {two}.",
                        "mismatch",
                    )
    return None


def _failed(case: PeerCase, failure: WorkerFailed) -> Row:
    return _row(case, case.peer.name + case.label, status=failure.status, error=str(failure))


def _measured(case: PeerCase, peer: ReadyPeer, samples: Sequence[Reading]) -> Row:
    return _row(
        case,
        peer.library + case.label,
        status="ok",
        unit=peer.unit,
        samples=[sample.value for sample in samples],
        noise=noise_of([sample.noise for sample in samples]),
        checksum=checksum(peer.end) if peer.end else None,
        parts={"start": peer.start_seconds},
    )


def _row(case: PeerCase, library: str, **measured: Any) -> Row:
    measurement = Measurement(agents=case.agents or case.case.spec.num_agents, **measured)
    about = {"name": case.name(library), "identity": identity(library, case)}
    return Row.of(measurement, case=case.parameters, library=library, **about)


def identity(library: str, case: PeerCase) -> str:
    facts = [library, results.encoded(case.parameters).decode()]
    return hashed(facts, code_of(*(ROOT / name for name in SHARED), *case.peer.code))


def _add(result: Result, one: Found) -> None:
    """Add the target with all its samples, and the rows that the file does not have yet."""
    names = {row.name for row in result.rows}
    result.rows += [row for row in one.rows if row.name not in names]
    target, middle = one.target, one.interval
    record = TargetResult(
        what=target.what,
        against=target.against,
        unit=target.unit,
        rows=[row.name for row in one.rows],
        samples=[row.samples for row in one.rows],
        figures=one.figures,
        **(middle._asdict() if middle else dict.fromkeys(Interval._fields)),
        verdict=one.verdict,
        enough=target.enough,
        stretch=None if target.stretch == math.inf else target.stretch,  # JSON has no infinity
        at_most=target.at_most,
    )
    result.targets = [*result.targets, record]


def _outcome(one: Found) -> str:
    numbers = Statistics.of(one.figures)
    if one.failure or not numbers:
        return one.verdict
    return f"{one.target.shown(numbers.median)} ± {percent(numbers.cv)}, {one.verdict}"


def exit_code(measured: Sequence[Found]) -> Code:
    """22 if peers disagree about the game, 1 if cogrid failed; an absent peer is not a failure."""
    wrong = [Code.MISMATCH for one in measured for row in one.rows if row.status == "mismatch"]
    return worst([*wrong, *(Code.FAILED for one in measured if _is_broken(one))])


def _is_broken(one: Found) -> bool:
    """Whether cogrid failed for a reason of its own; the same reason as its peer is a missing dependency."""
    rows = list(zip(one.target.cases, one.rows, strict=True))
    absent = {row.error for case, row in rows if case.peer is not COGRID}
    own = [row for case, row in rows if case.peer is COGRID]
    return any(row.status == "failed" and row.error not in absent for row in own)
