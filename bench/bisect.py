"""Bisection: the commit that made a case slower, or a counter grow, with the evidence kept in a folder."""

from __future__ import annotations

import contextlib
import math
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bench import ab
from bench.compare.ab_statistics import estimate
from bench.compare.bisection import Compared, Search
from bench.compare.counters import changes
from bench.exit_codes import UsageError
from bench.processes.checkout import checkout_of
from bench.processes.pair import CaseSamples, Checkout, Pair
from bench.processes.worker import Worker, WorkerFailed
from bench.runner import CLEAN, COUNTING
from bench.show.progress import Progress
from bench.storage import machine, results
from bench.storage.acceptances import Allowed
from bench.storage.evidence import Candidate, Count, Culprit, Folder, Look, Sought
from bench.units import more, percent
from cogrid.benchmarks.case import Case

ROUNDS = 240  # of a comparison: about three seconds of each process, less than it takes to start
GPU = "gpu"  # JAX's name of the platform
#: Commits that play another game are compared all the same: that may be why they are slower.
ANY_GAME = Allowed("what is searched for", {}, "", 1.0)


class CommitPlaces(NamedTuple):
    """The commits of a search by their places, 0 for the good one."""

    sought: Sought

    @property
    def commits(self) -> list[str]:
        return [self.sought.good, *self.sought.commits]

    def of(self, commit: str) -> int:
        return self.commits.index(commit)


# Times


def by_time(folder: Folder, sought: Sought, limit: int, progress: Progress) -> Culprit:
    """Compare commits, at most `limit` times in all, until it is certain which one made the case slower."""
    case, places = sought.case.case, CommitPlaces(sought)
    looks = folder.kept(Look)
    search = _replayed(looks, places)
    with contextlib.ExitStack() as stack:
        checkouts = _Checkouts(stack, sought.good)
        while len(search.compared) < limit and (pair := search.next()):
            base, head = (places.commits[place] for place in pair)
            progress.start(f"{base[:10]} and {head[:10]}", len(search.compared), limit)
            look = _look(case, checkouts, base, head)
            _refuse_broken_end(look.broken, look.error, sought)
            folder.keep(look)
            looks.append(look)
            _learn(search, look, places)
            progress.finish(f"{base[:10]} and {head[:10]}", _in_short(look, search))
    return _found(search, looks, places)


def _replayed(looks: list[Look], places: CommitPlaces) -> Search:
    search = Search(len(places.commits) - 1)
    for look in looks:
        _learn(search, look, places)
    return search


def _learn(search: Search, look: Look, places: CommitPlaces) -> None:
    if look.broken:
        search.leave_out(places.of(look.broken))
    else:
        search.add(Compared(places.of(look.base), places.of(look.head), estimate(look.rounds)))


class _Checkouts:
    """The worktrees of the commits; that of the good one stays, since most comparisons start there."""

    def __init__(self, stack: contextlib.ExitStack, good: str) -> None:
        self._stack, self._good = stack, good
        self._caches = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cogrid-bisect-")))
        self._kept: Path | None = None

    @contextlib.contextmanager
    def of(self, name: str, sha: str) -> Iterator[Checkout]:
        env = ab.environment(self._caches / sha)
        if sha != self._good:
            with checkout_of(sha) as tree:
                yield Checkout(name, tree, env)
            return
        self._kept = self._kept or self._stack.enter_context(checkout_of(sha))
        yield Checkout(name, self._kept, env)


def _look(case: Case, checkouts: _Checkouts, base: str, head: str) -> Look:
    samples = CaseSamples(case, allowed=ANY_GAME)
    # CPU time has a tenth of the noise where other processes want the core too; a GPU's work takes none.
    on_cpu = case.backend == "numpy" or machine.system().platform != GPU
    with (
        checkouts.of("base", base) as before,
        checkouts.of("head", head) as after,
        Pair(before, after, on_cpu) as pair,
    ):
        pair.measure(samples, samples.first, 1.0, ROUNDS)
    look = Look(when=results.now(), base=base, head=head)
    if samples.new is not None:
        look.broken, look.error = base, samples.new
    elif samples.failure and samples.head is None:
        look.broken, look.error = head, samples.failure[1]
    elif samples.failure or samples.base is None or samples.head is None:
        why = samples.failure[1] if samples.failure else "it was never prepared."
        raise UsageError(f"the comparison of {base[:10]} and {head[:10]} failed: {why}")
    else:
        look.rounds = samples.first[0]
        counters = samples.base.counters, samples.head.counters
        look.counters = {
            name: (counters[0].get(name), counters[1].get(name))
            for name in dict.fromkeys([*counters[0], *counters[1]])
        }
        look.plays_another_game = samples.plays_another_game
        look.noise = samples.noise[0]
    return look


def _refuse_broken_end(broken: str | None, error: str | None, sought: Sought) -> None:
    """The two ends of a search must run the case."""
    for name, end in (("GOOD", sought.good), ("BAD", sought.commits[-1])):
        if broken == end:
            raise UsageError(f"{name}, {end[:10]}, cannot run the case: {error}")


def _in_short(look: Look, search: Search) -> str:
    if look.broken:
        return f"{look.broken[:10]} cannot run the case, stepped over: {look.error}"
    answer = search.answer()
    likeliest = f"the likeliest answer has a probability of {percent(answer.probability)}"
    return f"{more(math.exp(estimate(look.rounds).center))} time; {likeliest}"


def _found(search: Search, looks: list[Look], places: CommitPlaces) -> Culprit:
    answer, shares, certain = search.answer(), search.probabilities, search.next() is None
    commits = places.commits
    likely = sorted(range(1, len(commits)), key=lambda place: -shares[place])
    own = [one.estimate for one in search.compared if (one.base, one.head) == (answer.before, answer.first)]
    ratio, low, high = answer.slowdown
    return Culprit(
        certain=certain,
        first=commits[answer.before + 1 : answer.first + 1] if certain and answer.is_certain else [],
        probability=answer.probability,
        nothing=answer.nothing,
        candidates=[Candidate(commits[place], float(shares[place])) for place in likely],
        broken={look.broken: str(look.error) for look in looks if look.broken},
        comparisons=len(search.compared),
        ratio=ratio,
        low=low,
        high=high,
        own_ratio=math.exp(own[-1].center) if own else None,
        grown=[one.name for one in changes(*_ends(looks)) if one.grew],
        another_game=[look.head for look in looks if look.plays_another_game],
    )


def _ends(looks: list[Look]) -> tuple[dict[str, int | None], dict[str, int | None]]:
    """The counters of the good and of the bad commit, which are compared first."""
    first = next(look for look in looks if look.broken is None)
    good, bad = ({name: both[end] for name, both in first.counters.items()} for end in (0, 1))
    return good, bad


# Counters


def by_counter(folder: Folder, sought: Sought, progress: Progress) -> Culprit:
    """Count at commits until two neighbours are left, of which only the later has more than the good one."""
    assert sought.counter
    commits = CommitPlaces(sought).commits
    counting = _Counting(folder, sought, progress)
    first = counting.of(commits[0])
    low, high = 0, len(commits) - 1
    if counting.of(commits[high]) <= first:
        raise UsageError(
            f"{sought.counter} is {first} at GOOD and {counting.of(commits[high])} at BAD: it did not grow."
        )
    while between := [place for place in range(low + 1, high) if commits[place] not in counting.broken]:
        middle = between[len(between) // 2]
        with contextlib.suppress(_Broken):
            if counting.of(commits[middle]) > first:
                high = middle
            else:
                low = middle
    found = commits[low + 1 : high + 1]
    return Culprit(
        certain=True,
        first=found,
        probability=1.0,
        nothing=0.0,
        candidates=[Candidate(commit, 1 / len(found)) for commit in found],
        broken=counting.broken,
        comparisons=len(counting.numbers),
        counter=counting.numbers,
    )


class _Broken(Exception):
    """A commit that cannot run the case."""


class _Counting:
    """The numbers of a counter by commit; each commit is counted once, and kept in the folder."""

    def __init__(self, folder: Folder, sought: Sought, progress: Progress) -> None:
        self._folder, self._sought, self._progress = folder, sought, progress
        self._most = len(sought.commits).bit_length() + 2  # commits to count
        self.numbers: dict[str, int] = {}
        self.broken: dict[str, str] = {}
        for count in folder.kept(Count):
            self._learn(count)

    def of(self, commit: str) -> int:
        if commit not in self.numbers:
            self._progress.start(commit[:10], len(self.numbers), self._most)
            count = _count(self._sought.case.case, commit)
            self._refuse(count)
            self._folder.keep(count)
            self._learn(count)
            self._progress.finish(commit[:10], str(self.numbers.get(commit, self.broken.get(commit))))
        if commit in self.broken:
            raise _Broken
        return self.numbers[commit]

    def _refuse(self, count: Count) -> None:
        """What makes the search impossible is not kept."""
        _refuse_broken_end(count.error and count.commit, count.error, self._sought)
        ends = self._sought.good, self._sought.commits[-1]
        if self._sought.counter not in count.counters and count.commit in ends:
            name, known = ("GOOD", "BAD")[ends.index(count.commit)], ", ".join(count.counters)
            raise UsageError(
                f"{self._sought.counter} is no counter of this case at {name}, which has {known}."
            )

    def _learn(self, count: Count) -> None:
        number = count.counters.get(str(self._sought.counter))
        if number is None:
            self.broken[count.commit] = count.error or "it does not report this counter."
        else:
            self.numbers[count.commit] = number


def _count(case: Case, commit: str) -> Count:
    with checkout_of(commit) as tree, Worker(COUNTING, {**CLEAN, "PYTHONPATH": ""}, tree) as worker:
        try:
            answer = worker.ask({"case": case.parameters()})
        except WorkerFailed as failure:
            return Count(when=results.now(), commit=commit, error=str(failure))
    return Count(when=results.now(), commit=commit, counters=answer["counters"])
