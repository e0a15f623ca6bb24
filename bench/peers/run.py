"""Peers: cogrid beside other libraries on the same work, in one run, and how the targets are met."""

from __future__ import annotations

import hashlib
import json
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tabulate import tabulate

from bench import results, tables
from bench.codes import Code, worst
from bench.paired import Interval, in_turns, interval, noise_of
from bench.progress import Progress
from bench.results import ROOT, Result, ResultError
from bench.sides import Sides, Unable, Worker, workers
from bench.targets import TARGETS, Side, Target, alone, exponent
from bench.units import engineering
from cogrid.benchmarks.workloads import checksum

ROUNDS, QUICK_ROUNDS = 20, 6  # six are the fewest that have an interval
COLUMNS = ("what", "against", "ours", "theirs", "measured", "95 % interval", "target", "verdict")
#: What a library is called before it told its version.
LIBRARIES = {"ours": "cogrid", "lineage": "overcooked", "older": "cogrid 0.3.2"}
#: How what was noted beside the samples is summed up; C notes nothing.
Row = dict[str, Any]
Samples = Sequence[dict[str, Any]]
Ended = dict[str, list[Any]]  # by name, for every lane of the tape


class Found(NamedTuple):
    """What came of a target: the rows of its sides."""

    target: Target
    rows: list[Row]

    @property
    def failure(self) -> Row | None:
        """The first row that has no samples."""
        return next((row for row in self.rows if row["status"] != "ok"), None)

    @property
    def figures(self) -> list[float]:
        """One for each round."""
        if self.failure:
            return []
        rounds = zip(*(row["samples"] for row in self.rows), strict=True)
        return [self.target.figure(self.target, values) for values in rounds]

    @property
    def interval(self) -> Interval | None:
        """Of the figures."""
        return interval(self.figures) if self.figures else None

    @property
    def verdict(self) -> str:
        """In words."""
        if self.failure:
            wrong = self.failure["status"] == "mismatch"
            return f"{'WRONG RESULTS' if wrong else 'not measured'}: {self.failure['error']}"
        return self.target.verdict(interval(self.figures).median)


def select(only: str | None) -> list[Target]:
    """The targets whose name contains the text."""
    chosen = [target for target in TARGETS if only is None or only.lower() in target.name.lower()]
    if not chosen:
        known = "\n".join(f"  {target.name}" for target in TARGETS)
        raise ResultError(f"no target's name contains {only!r}; known are:\n{known}")
    return chosen


def run(
    targets: Sequence[Target], rounds: int, older: str | None, result: Result, path: Path, progress: Progress
) -> list[Found]:
    """Measure the targets one after the other; the file is complete after every one."""
    found: list[Found] = []
    with tempfile.TemporaryDirectory(prefix="cogrid-peers-") as folder:
        sides = Sides(Path(folder), older)
        for number, target in enumerate(targets):
            progress.start(target.name, number, len(targets))
            found.append(measure(target, sides, rounds))
            _note(result, found[-1])
            results.write(path, result)
            progress.finish(_line(found[-1]))
    results.validate(result)
    return found


def measure(target: Target, sides: Sides, rounds: int) -> Found:
    """All sides in turns, after they agreed on how the tape ended; those that can, where others cannot."""
    with workers(sides, target.sides) as ready:
        taken = None
        while taken is None:
            able = [one for one in ready if isinstance(one, Worker)]
            try:
                _agree_all(target.sides, ready)
                taken = in_turns([worker.sample for worker in able], min(rounds, target.rounds or rounds))
            except Unable as failure:  # of one, or of them all when they disagree
                ready = [failure if one in able and failure.of in (None, one) else one for one in ready]
        columns = iter(zip(*taken, strict=True))
        rows = [
            _failed(side, one) if isinstance(one, Unable) else _measured(side, one, next(columns))
            for side, one in zip(target.sides, ready, strict=True)
        ]
    return Found(target, rows)


def _agree_all(sides: Sequence[Side], ready: Sequence[Worker | Unable]) -> None:
    played = [
        (side, one.ready["end"]) for side, one in zip(sides, ready, strict=True) if isinstance(one, Worker)
    ]
    for other in played[1:]:
        agree(*played[0], *other)


def agree(first: Side, end: Ended, other: Side, other_end: Ended) -> None:
    """Raise where two sides saw the same tape end differently; lanes that both have count."""
    if first.tape != other.tape:
        return
    for name in end.keys() & other_end.keys():
        for lane, (one, two) in enumerate(zip(end[name], other_end[name], strict=False)):
            if one != two:
                words = f"at the end of tape {lane} the {name} of one are {one}, of the other {two}."
                raise Unable(words, "mismatch")


def _measured(side: Side, worker: Worker, samples: Samples) -> Row:
    values = [sample["value"] for sample in samples]
    end = worker.ready["end"]
    return _row(side, worker.ready["library"] + side.label) | {
        "unit": worker.ready["unit"],
        "samples": values,
        "statistics": results.summarise(values),
        "noise": noise_of(samples),
        "checksum": checksum(end) if end else None,
        "parts": {"start": worker.start_seconds},
    }


def _failed(side: Side, reason: Unable) -> Row:
    library = side.how if side.who == "context" else LIBRARIES.get(side.who, side.who)
    return _row(side, library + side.label) | {"status": reason.status, "error": str(reason)}


def _row(side: Side, library: str) -> Row:
    """A row without numbers."""
    case = side.parameters
    name = side.case.name if case == side.case.parameters() else f"{side.how} {side.case.name}"
    return {
        "name": name if library == "cogrid" else f"{library} {name}",
        "identity": _identity(case, library),
        "case": case,
        "library": library,
        "agents": 1 if side.who == "context" else side.case.spec.num_agents,
        "status": "ok",
        "error": None,
        "unit": "steps/s",
        "samples": [],
        "statistics": None,
        "counters": {},
        "memory": {},
        "noise": {},
        "checksum": None,
        "parts": {},
    }


def _identity(case: dict[str, Any], library: str) -> str:
    code = b"".join(file.read_bytes() for file in sorted((ROOT / "bench" / "rivals").glob("*.py")))
    facts = json.dumps([library, case], sort_keys=True).encode()
    return hashlib.sha256(facts + code + results.measuring_code()).hexdigest()[:12]


def _note(result: Result, found: Found) -> None:
    """Keep the target with all its samples, and the rows that the file has not got yet."""
    names = {row["name"] for row in result["rows"]}
    result["rows"] += [row for row in found.rows if row["name"] not in names]
    target, middle = found.target, found.interval
    limits = {"enough": target.enough, "stretch": target.stretch}
    result.setdefault("targets", []).append(
        {
            "what": target.what,
            "against": target.against,
            "unit": target.unit,
            "rows": [row["name"] for row in found.rows],
            "samples": [row["samples"] for row in found.rows],
            "figures": found.figures,
            **(middle._asdict() if middle else dict.fromkeys(Interval._fields)),
            **{name: limit for name, limit in limits.items() if limit is None or math.isfinite(limit)},
            "at_most": target.most,
            "verdict": found.verdict,
        }
    )


def _line(found: Found) -> Row:
    """A target as the progress tells it."""
    failure = found.failure
    return {
        "name": found.target.name,
        "status": failure["status"] if failure else "ok",
        "error": failure and failure["error"],
        "samples": found.figures,
        "statistics": results.summarise(found.figures),
        "unit": found.target.unit,
        "noise": {},
        "case": {"measure": "target"},
    }


def exit_code(found: Sequence[Found]) -> Code:
    """22 where sides disagree about the game, 1 where cogrid failed; a peer's absence is a finding."""
    rows = [(side, row) for one in found for side, row in zip(one.target.sides, one.rows, strict=True)]
    wrong = [Code.MISMATCH for _, row in rows if row["status"] == "mismatch"]
    broken = [Code.FAILED for side, row in rows if side.who == "ours" and row["status"] == "failed"]
    return worst(wrong + broken)


def table(result: Result, found: Sequence[Found], style: str = "simple") -> str:
    """The targets as people read them."""
    lines = [_cells(one) for one in found]
    text = tabulate(lines, COLUMNS, style, disable_numparse=True, maxcolwidths=[34, 26, *[None] * 5, 44])
    return "\n\n".join([tables.machine(result), text, headline(found)])


def _cells(found: Found) -> list[str]:
    target, words, middle = found.target, found.target.words, found.interval
    measured = words(middle.median) if middle else "–"
    within = f"{words(middle.low)} … {words(middle.high)}" if middle and middle.low < middle.high else ""
    return [target.what, target.against, *_speeds(found), measured, within, target.goal(), _with_note(found)]


def _with_note(found: Found) -> str:
    """The verdict, and what else is to be known."""
    busy = any(row["noise"].get("disturbed", 0) > len(row["samples"]) / 2 for row in found.rows)
    words = [found.verdict, found.target.note, "on a busy machine" if busy else ""]
    return "; ".join(dict.fromkeys(filter(None, words)))


def _speeds(found: Found) -> tuple[str, str]:
    """What the sides do, in their own units."""
    shown = [
        engineering(row["statistics"]["median"], row["unit"]) if row["status"] == "ok" else "–"
        for row in found.rows
    ]
    if found.target.figure is exponent:
        return f"{shown[0]} … {shown[-1]}", ""
    if found.target.figure is alone:
        return (shown[0], "") if found.target.sides[0].who == "ours" else ("", shown[0])
    return shown[0], shown[1]


def headline(found: Sequence[Found]) -> str:
    """How many targets are met."""
    aimed = [one for one in found if one.target.enough is not None]
    measured = [one for one in aimed if one.interval]
    met = [one for one in measured if one.target.reaches(interval(one.figures).median, one.target.enough)]
    wrong = sum(bool(one.failure and one.failure["status"] == "mismatch") for one in found)
    return (
        f"{len(met)} of {len(aimed)} targets met, {len(measured) - len(met)} missed, "
        f"{len(aimed) - len(measured)} not measured; "
        + (f"{wrong} with WRONG RESULTS." if wrong else "all trajectories that can be compared agree.")
    )
