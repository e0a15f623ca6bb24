"""The answer of a bisection as text."""

from __future__ import annotations

from collections.abc import Callable

from tabulate import tabulate

from bench.compare.bisection import SURE
from bench.storage.evidence import Culprit, Sought
from bench.units import more, pace

SHOWN = 5  # candidates of an uncertain answer
Describe = Callable[[str], str]  # a commit


def text(found: Culprit, sought: Sought, describe: Describe) -> str:
    lines = _counter(found, sought) if sought.counter else _time(found)
    return "\n".join([*_commits(found, describe), *lines, *_notes(found)])


def _commits(found: Culprit, describe: Describe) -> list[str]:
    if found.nothing >= SURE:
        return [f"BAD is not slower than GOOD, with a probability of {_share(found.nothing)}."]
    if not found.certain:
        rows = [(_share(one.probability), describe(one.commit)) for one in found.candidates[:SHOWN]]
        rows += [(_share(found.nothing), "no commit: nothing became slower")]
        table = tabulate(rows, ["probability", "first slow commit"], disable_numparse=True)
        why = f"no commit has a probability of {_share(SURE)}"
        if found.probability >= SURE:
            why = "the likeliest commit has not been compared with the one before it"
        return [f"Uncertain: after {found.comparisons} comparisons {why}.", "", table, ""]
    if len(found.first) == 1:
        return [f"First commit: {describe(found.first[0])}"]
    *untested, last = map(describe, found.first)
    return [
        f"First commit: {last}",
        "or one before it that cannot run the case:",
        *(f"  {one}" for one in untested),
    ]


def _time(found: Culprit) -> list[str]:
    lines = []
    if found.nothing < SURE and found.ratio and found.low and found.high:
        interval = f"{more(found.low)} … {more(found.high)}"
        lines.append(f"GOOD to BAD: {pace(found.ratio)} (time {interval}).")
    if found.first and found.own_ratio:
        lines.append(
            f"This commit alone: {pace(found.own_ratio)} than the one before it; probability "
            f"{_share(found.probability)}."
        )
    if not found.certain:
        lines.append(f"The same command with --comparisons {2 * found.comparisons} goes on from here.")
    return lines


def _counter(found: Culprit, sought: Sought) -> list[str]:
    numbers = found.counter
    good, first, bad = (numbers[one] for one in (sought.good, found.first[-1], sought.commits[-1]))
    rest = "" if first == bad else f"; BAD has {bad}, so others changed it too"
    return [f"{sought.counter}: {good} at GOOD, {first} from this commit on{rest}."]


def _notes(found: Culprit) -> list[str]:
    notes = []
    if found.another_game:
        commits = ", ".join(one[:10] for one in found.another_game)
        notes.append(f"Of another game than the commit that they were compared with: {commits}.")
    if found.grown:
        names = ", ".join(found.grown)
        notes.append(f"These counters grew from GOOD to BAD, and --counter finds them exactly: {names}.")
    notes += [f"{commit[:10]} cannot run the case: {why}" for commit, why in found.broken.items()]
    return notes


def _share(probability: float) -> str:
    """Never 100 %, which no number of comparisons gives."""
    return "> 99.9 %" if probability > 0.999 else f"{100 * probability:.1f} %"
