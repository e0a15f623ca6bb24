"""The evidence of a bisection: a folder with the question, every comparison and the answer, as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from bench.exit_codes import UsageError
from bench.records import Hex12, Hex16, Parameters, Record, Sha, Stamp
from bench.storage import results

SEARCH, ANSWER = "search.json", "answer.json"


class Sought(Record):
    """What is searched for, and where."""

    good: Sha
    commits: list[Sha]  # after the good one, up to the bad one
    case: Parameters
    counter: str | None
    fingerprint: Hex16
    identity: Hex12  # of the measuring code
    schema: Literal[1] = 1


class Look(Record):
    """A comparison of two commits, or a commit of which no comparison was possible."""

    when: Stamp
    base: Sha
    head: Sha
    broken: Sha | None = None  # the one that cannot run the case
    error: str | None = None
    rounds: list[tuple[float, float]] = msgspec.field(default_factory=list)  # seconds
    counters: dict[str, tuple[int | None, int | None]] = msgspec.field(default_factory=dict)
    plays_another_game: bool = False
    noise: dict[str, float] = msgspec.field(default_factory=dict)
    schema: Literal[1] = 1


class Count(Record):
    """The counters of a commit, or why it has none."""

    when: Stamp
    commit: Sha
    counters: dict[str, int] = msgspec.field(default_factory=dict)
    error: str | None = None
    schema: Literal[1] = 1


class Candidate(Record):
    commit: Sha
    probability: float


class Culprit(Record):
    """The answer, with the probability of every commit, the likeliest first."""

    certain: bool
    first: list[Sha]  # the first slow commit; several if all but the last cannot run the case; or none
    probability: float
    nothing: float  # the probability that nothing became slower
    candidates: list[Candidate]
    broken: dict[str, str]  # the reason by commit
    comparisons: int
    ratio: float | None = None  # of times, from the good to the bad commit
    low: float | None = None
    high: float | None = None
    own_ratio: float | None = None  # of the first commit to the one before it, compared directly
    another_game: list[Sha] = msgspec.field(default_factory=list)  # of the later commits that were compared
    grown: list[str] = msgspec.field(default_factory=list)  # counters, from the good to the bad commit
    counter: dict[str, int] = msgspec.field(default_factory=dict)  # by commit
    schema: Literal[1] = 1


One = TypeVar("One", Look, Count)


class Folder:
    """Where the evidence is; what was compared before is read, so that a killed search goes on."""

    def __init__(self, place: Path, sought: Sought) -> None:
        self.place = place
        file = place / SEARCH
        if file.exists():
            earlier = results.decoded(results.read(file), Sought, str(file))
            if earlier != sought:
                names = [n for n in sought.__struct_fields__ if getattr(earlier, n) != getattr(sought, n)]
                raise UsageError(
                    f"{results.short(place)} holds another search, with another {' and '.join(names)}: "
                    "choose another --folder, or remove this one."
                )
        else:
            results.write(file, sought)

    def kept(self, kind: type[One]) -> list[One]:
        return [results.decoded(results.read(file), kind, str(file)) for file in self._files()]

    def keep(self, one: Look | Count) -> None:
        results.write(self.place / f"{len(self._files()) + 1:03}.json", one)

    def answer(self, found: Culprit) -> Path:
        results.write(self.place / ANSWER, found)
        return self.place / ANSWER

    def _files(self) -> list[Path]:
        return sorted(self.place.glob("[0-9][0-9][0-9].json"))
