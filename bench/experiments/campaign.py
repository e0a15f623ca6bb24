"""A campaign: real A/B runs of a checkout against itself, in a log that can be interrupted and continued.

In some runs one case is actually slowed down, and during most of them another process uses the CPU.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from bench import ab
from bench.compare import ab_statistics
from bench.compare.ab_statistics import Rounds
from bench.exit_codes import UsageError
from bench.experiments.neighbours import neighbours
from bench.processes.checkout import checkout_of, clean_sha
from bench.processes.pair import CaseSamples
from bench.records import Record
from bench.show.progress import Progress
from bench.storage import machine
from bench.storage.results import decoded, raw
from bench.units import percent
from cogrid.benchmarks.case import Case

#: Whole microseconds of base and head in every round of every pair: a thousandth of a pass.
Microseconds = list[list[tuple[int, int]]]


class RunKind(NamedTuple):
    """A kind of run: the factor by which one case is slowed, and the share of a core used by the CPU hog."""

    factor: float
    hog: float
    runs: int

    @property
    def name(self) -> str:
        what = "A/A" if self.factor == 1.0 else f"{percent(self.factor - 1)} slower"
        return f"{what}, {f'{percent(self.hog)} CPU hog' if self.hog else 'no hog'}"


KINDS = (
    RunKind(1.0, 0.5, 20),
    RunKind(1.1, 0.5, 2),
    RunKind(1.2, 0.5, 1),
    RunKind(1.0, 0.0, 1),
    RunKind(1.1, 0.0, 1),
)


class JudgedCase(Record):
    verdict: Literal["slower", "faster", "same", "inconclusive"]
    ratio: float
    low: float
    high: float
    smallest: float
    confirmed: bool
    first: Microseconds
    second: Microseconds

    def judged_again(self, cases: int) -> JudgedCase:
        return replace(self, **ab_statistics.judge(self.first, self.second, cases)._asdict())

    @property
    def is_open(self) -> bool:
        """Whether the current rule would take a second look, which the rule at the time did not."""
        return ab_statistics.is_suspect(self.first) and not self.second


class CampaignRun(Record):
    kind: str
    factor: float
    hog: float
    runs: int
    slowed: str | None  # the case
    sha: str
    fingerprint: str
    seconds: float
    cases: dict[str, JudgedCase]

    @property
    def is_calibration(self) -> bool:
        """Whether it provides the noise from which suites are resampled: A/A, with the hog."""
        return self.factor == 1.0 and bool(self.hog)

    @property
    def slower(self) -> list[str]:
        return [name for name, case in self.cases.items() if case.verdict == "slower"]

    def judged_again(self) -> CampaignRun:
        """The same samples with the verdicts of the current rule."""
        return replace(self, cases={n: c.judged_again(len(self.cases)) for n, c in self.cases.items()})

    def in_short(self) -> str:
        verdicts = [case.verdict for case in self.cases.values()]
        counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts))
        return f"{counts}, {self.seconds:.0f} s"


def run(log: Path, kinds: Sequence[RunKind], cases: Sequence[Case], progress: Progress) -> None:
    """Make the runs that are missing in the log; each is appended when it has finished."""
    sha, fingerprint = clean_sha(), machine.fingerprint(machine.system())
    done = load(log) if log.exists() else []
    if any(one.fingerprint != fingerprint for one in done):
        raise UsageError(f"{log} was started on another machine or with other versions: choose another file.")
    missing = [
        (kind, number)
        for kind in kinds
        for number in range(sum(one.kind == kind.name for one in done), kind.runs)
    ]
    if not missing:
        return
    with checkout_of(sha) as base:
        for place, (kind, number) in enumerate(missing):
            progress.start(f"{kind.name} {number + 1} of {kind.runs}", place, len(missing))
            # Every run slows a different case.
            slowed = None if kind.factor == 1.0 else cases[number % len(cases)].name
            start = time.monotonic()
            with neighbours(kind.hog):
                samples_of_cases = ab.compare(base, cases, Silent(), {slowed: kind.factor} if slowed else {})
            one = CampaignRun(
                kind=kind.name,
                **kind._asdict(),
                slowed=slowed,
                sha=sha,
                fingerprint=fingerprint,
                seconds=round(time.monotonic() - start, 1),
                cases={samples.case.name: _judged(samples, len(cases)) for samples in samples_of_cases},
            )
            append(log, one)
            progress.finish(kind.name, one.in_short())


class Silent(Progress):
    """Hides the progress of a run within a campaign."""

    def start(self, name: str, number: int, total: int) -> None:
        """Print nothing: the campaign reports its own runs."""


def _judged(samples: CaseSamples, cases: int) -> JudgedCase:
    judged = ab.judged(samples, cases)
    if judged is None:
        status, reason = samples.failure or ("new", str(samples.new))
        raise UsageError(f"{samples.case.name} cannot be judged against itself ({status}): {reason}")
    pairs = {"first": _rounded(samples.first), "second": _rounded(samples.second)}
    return msgspec.convert(judged._asdict() | pairs, JudgedCase)


def _rounded(pairs: Sequence[Rounds]) -> Microseconds:
    """Rounded, since the log is committed and should be short."""
    return [[(round(base * 1e6), round(head * 1e6)) for base, head in pair] for pair in pairs]


def load(log: Path) -> list[CampaignRun]:
    """The runs of a log; an incomplete last line, left by a crash, is ignored."""
    lines = raw(log).split(b"\n")[:-1]
    return [_run(line, f"line {number} of {log}") for number, line in enumerate(lines, 1)]


def _run(line: bytes, where: str) -> CampaignRun:
    one = decoded(line, CampaignRun, where)
    rounds = [pair for case in one.cases.values() for pair in (*case.first, *case.second)]
    if not rounds or not all(pair and min(map(min, pair)) > 0 for pair in rounds):
        raise UsageError(f"{where} is damaged: a pair of processes has no rounds, or one that took no time.")
    return one


def append(log: Path, one: CampaignRun) -> None:
    """Append a line, replacing an incomplete last one."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab+") as file:
        file.seek(0)
        os.truncate(file.fileno(), file.read().rfind(b"\n") + 1)
        file.write(msgspec.json.encode(one) + b"\n")
