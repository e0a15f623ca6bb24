"""Counters compared with earlier ones: none may grow."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bench.records import Result, Row
from bench.storage.baselines import (
    CountedRow,
    CounterSet,
    counting_identity,
    describe_key,
    has_counters,
    key_of,
)
from bench.units import percent

NOT_COUNTED = "no earlier counters"
OTHERWISE_COUNTED = "counted in another way"


class Change(NamedTuple):
    """A counter whose number differs; None where it is not reported."""

    name: str
    before: int | None
    after: int | None
    accepted: str = ""  # why the growth is intended

    @property
    def growth(self) -> float:
        """0.03 for 3 % more; infinite for growth from 0, and none if it is not reported."""
        if self.before is None or self.after is None:
            return 0.0
        return self.after / self.before - 1 if self.before else math.inf if self.after else 0.0

    @property
    def grew(self) -> bool:
        """Whether there is more of it: counters have no noise, so one more is a regression (050)."""
        return self.before is not None and self.after is not None and self.after > self.before

    @property
    def fell(self) -> bool:
        return Change(self.name, self.after, self.before).grew

    @property
    def vanished(self) -> bool:
        return self.after is None

    def text(self) -> str:
        if self.before is None or self.after is None:
            return f"{self.name} is {'no longer reported' if self.vanished else 'new'}"
        verb = "grew" if self.after > self.before else "fell"
        accepted = f" (accepted: {self.accepted})" if self.accepted else ""
        if not self.before or not self.after or abs(self.growth) < 0.01:
            return f"{self.name} {verb} from {self.before} to {self.after}{accepted}"
        return f"{self.name} {verb} {percent(abs(self.growth))}{accepted}"


def changes(before: Mapping[str, int | None], after: Mapping[str, int | None]) -> tuple[Change, ...]:
    """The counters that differ, the most grown first."""
    names = before.keys() | after.keys()
    found = [Change(name, before.get(name), after.get(name)) for name in names]
    differing = [change for change in found if change.before != change.after]
    return tuple(sorted(differing, key=lambda change: (-change.growth, change.name)))


class Counted(NamedTuple):
    changes: tuple[Change, ...] = ()
    refused: str = ""  # why they are not compared
    wrong: bool = False  # whether another trajectory was counted


def compare(head: Result, row: Row, earlier: Sequence[CounterSet]) -> Counted:
    """Compare with the earlier row of the same name, identity and key; trajectories ignore the key."""
    if not has_counters(row):
        return Counted()
    key = key_of(head.system, row.case.backend, row.case.measure)
    named = [(one.key, old) for one in earlier for old in one.rows if old.name == row.name]
    own = counting_identity(head, row)
    current = [(other, old) for other, old in named if old.identity == own]
    if any(other_results(old, row) for _, old in current):
        return Counted(wrong=True)
    for other, old in current:
        if other == key:
            return Counted(changes(old.counters, row.counters))
    if current:
        return Counted(refused=f"no counters for {describe_key(key)}")
    return Counted(refused=OTHERWISE_COUNTED if named else NOT_COUNTED)


def other_results(before: Row | CountedRow, after: Row) -> bool:
    """Whether both rows have checksums and these differ."""
    return bool(before.checksum and after.checksum and before.checksum != after.checksum)
