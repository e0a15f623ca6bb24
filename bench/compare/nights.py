"""The nights of a history: ratios of A/B runs against one revision as series, and counters that changed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bench.compare import change_points
from bench.compare.ab_statistics import evidence
from bench.compare.counters import changes
from bench.records import Result, Row
from bench.storage.baselines import has_counters, key_of

FALSE_ALARMS = 0.01  # highest probability of one in all series together, if nothing changed


class Night(NamedTuple):
    """A run: when, of which revision, and how much longer a step took than at the reference (a log)."""

    date: str
    sha: str
    ratio: float


class Series(NamedTuple):
    """The nights of a case on one machine, against one reference, measured by the same code."""

    case: str
    reference: str
    machine: str
    nights: tuple[Night, ...]
    changes: tuple[change_points.ChangePoint, ...]


class CounterChange(NamedTuple):
    """A counter that changed between two runs."""

    case: str
    text: str
    before: Night
    after: Night


def series(runs: Iterable[Result]) -> list[Series]:
    """Runs without a machine, versions, code or reference in common are different series."""
    found: dict[tuple[str, str, str, str], list[Night]] = {}
    for run in sorted(runs, key=lambda run: run.when):
        against = run.configuration.against
        if against is None or against.setting or not run.git:
            continue
        for row in run.rows:
            if row.ab and row.ab.ratio is not None and row.ab.pairs:
                key = row.name, row.identity, against.sha, run.fingerprint
                # The first look alone: whether there is a second depends on what it shows.
                found.setdefault(key, []).append(_night(run, evidence(row.ab.pairs).effect))
    rate = FALSE_ALARMS / max(1, len(found))
    return [
        Series(
            name,
            reference,
            machine,
            tuple(nights),
            tuple(change_points.changes([one.ratio for one in nights], rate)),
        )
        for (name, _, reference, machine), nights in found.items()
    ]


def counter_changes(runs: Iterable[Result]) -> list[CounterChange]:
    """Every change from one run to the next that counted the same case in the same way."""
    found: list[CounterChange] = []
    last: dict[str, tuple[Row, Result]] = {}
    for run in sorted(runs, key=lambda run: run.when):
        for row in filter(has_counters, run.rows):
            key = json.dumps([row.name, row.identity, key_of(run.system, row.case.backend, row.case.measure)])
            if key in last:
                earlier, before = last[key]
                found += [
                    CounterChange(row.name, change.text(), _night(before), _night(run))
                    for change in changes(earlier.counters, row.counters)
                ]
            last[key] = row, run
    return found


def _night(run: Result, ratio: float = math.nan) -> Night:
    return Night(f"{run.when:%Y-%m-%d}", run.git.sha if run.git else "", ratio)


def revisions(one: Series, change: change_points.ChangePoint) -> tuple[str, str]:
    """The last revision before a change and the first one after it."""
    return one.nights[change.at - 1].sha, one.nights[change.at].sha


def longest(found: Sequence[Series]) -> int:
    return max((len(one.nights) for one in found), default=0)
