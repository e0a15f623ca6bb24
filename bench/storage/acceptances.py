"""Acceptances: what the baselines of this checkout accepted since another revision, and why."""

from __future__ import annotations

import json
from typing import NamedTuple

from bench.records import Acceptance, Parameters
from bench.storage import baselines
from bench.storage.baselines import Baseline, CounterSet, Slowdowns

Way = tuple[str, str, str]  # a game, its mode and measure


class Allowed(NamedTuple):
    """What may differ in a case, each with its reason; "" if it may not."""

    results: str
    counters: dict[str, str]  # those that may grow
    slowdown: str
    limit: float  # of the ratio of times


class Acceptances(NamedTuple):
    """The reasons by what they are for. The cases of an A/B are not those of the baselines.

    How much a counter may grow is not compared here: `count` compares it with the committed number.
    """

    results: dict[str, str]  # by game
    counters: dict[Way, dict[str, str]]
    slowdowns: dict[str, tuple[str, float]]  # by the name of the case, with the limit

    def of(self, name: str, case: Parameters) -> Allowed:
        counters = self.counters.get(_way(case), {})
        return Allowed(self.results.get(_game(case), ""), counters, *self.slowdowns.get(name, ("", 1.0)))


def none() -> Acceptances:
    return Acceptances({}, {}, {})


def since(sha: str) -> Acceptances:
    """What records say that the commit does not have."""
    found = none()
    for path in baselines.files():
        _add(found, baselines.at_revision(sha, path.name), baselines.load(path))
    return found


def _add(found: Acceptances, base: Baseline | None, head: Baseline) -> None:
    known = set(map(_key, base.accepted)) if base else set()
    reasons = {name: one.reason for one in head.accepted if _key(one) not in known for name in one.rows}
    if isinstance(head, Slowdowns):
        found.slowdowns.update(
            {row.name: (reasons[row.name], row.limit) for row in head.rows if row.name in reasons}
        )
        return
    earlier = {} if base is None or isinstance(base, Slowdowns) else {row.name: row for row in base.rows}
    for row in head.rows:
        before, reason = earlier.get(row.name), reasons.get(row.name)
        if before is None or reason is None:
            continue
        if before.checksum and row.checksum and before.checksum != row.checksum:
            found.results[_game(row.case)] = reason
        # Counted in another way, a number says nothing. The counters of times are copies.
        if isinstance(head, CounterSet) and before.identity == row.identity:
            grown = {
                name: reason
                for name, number in row.counters.items()
                if number > before.counters.get(name, number)
            }
            found.counters.setdefault(_way(row.case), {}).update(grown)


def _key(record: Acceptance) -> tuple[str, str]:
    return record.when, record.reason


def _game(case: Parameters) -> str:
    return json.dumps([case.id, case.options], sort_keys=True)


def _way(case: Parameters) -> Way:
    return _game(case), case.mode, case.measure
