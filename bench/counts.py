"""Counters beside earlier ones: what they depend on, and how much one may grow."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bench import words
from bench.sweeps import Result, Row, backend_of

# Counters have no noise: the limit only lets a trifle pass.
GROWTH = 2  # %
# Of the environment variables that a result names: those that change what is compiled.
COMPILING = ("XLA_FLAGS", "JAX_ENABLE_X64", "JAX_NUM_CPU_DEVICES")

Key = dict[str, str]
Counts = dict[str, Any]  # rows of one key, as in a file of counters


class Change(NamedTuple):
    """A counter whose number differs; None where it is not told."""

    name: str
    before: int | None
    after: int | None

    @property
    def growth(self) -> float:
        """0.03 for 3 % more; what was 0 grows without bound, and what is not told does not grow."""
        if self.before is None or self.after is None:
            return 0.0
        return self.after / self.before - 1 if self.before else math.inf if self.after else 0.0

    @property
    def grew(self) -> bool:
        """By so much that it is a regression; in whole numbers, so that 2 % is 2 %."""
        if self.before is None or self.after is None:
            return False
        return self.after > self.before and self.after * 100 >= self.before * (100 + GROWTH)

    @property
    def vanished(self) -> bool:
        """It was told before."""
        return self.after is None

    @property
    def notable(self) -> bool:
        """Worth a word: it came, went, or moved in either direction by as much as counts."""
        moved = self.grew or Change(self.name, self.after, self.before).grew
        return moved or self.before is None or self.vanished

    def told(self) -> str:
        """In words."""
        if self.before is None or self.after is None:
            return f"{self.name} is {'not told any more' if self.vanished else 'new'}"
        verb = "grew" if self.after > self.before else "fell"
        if not self.before or not self.after:
            return f"{self.name} {verb} from {self.before} to {self.after}"
        return f"{self.name} {verb} {words.percent(abs(self.growth))}"


def changes(before: Mapping[str, int | None], after: Mapping[str, int | None]) -> tuple[Change, ...]:
    """The counters that differ, the most grown first."""
    names = before.keys() | after.keys()
    found = [Change(name, before.get(name), after.get(name)) for name in names]
    differing = [change for change in found if change.before != change.after]
    return tuple(sorted(differing, key=lambda change: (-change.growth, change.name)))


def key_of(system: Mapping[str, Any], backend: str) -> Key:
    """What the counters of a backend depend on, beside the code."""
    if backend == "numpy":  # the instructions of this Python are counted
        return {"numpy": system["numpy"], "python": ".".join(system["python"].split(".")[:2])}
    flags = {name: value for name, value in system["flags"].items() if name in COMPILING}
    return {"jaxlib": str(system["jaxlib"]), "platform": system["platform"], **flags}


def told_key(key: Key) -> str:
    """The key in words."""
    return ", ".join(f"{name} {value}" for name, value in key.items())


def counts_of(result: Result) -> list[Counts]:
    """A result's counters by their keys."""
    found: dict[str, list[Row]] = {}
    for row in filter(has_counters, result["rows"]):
        kept = {name: row[name] for name in ("name", "identity", "case", "checksum", "counters")}
        found.setdefault(backend_of(row), []).append(kept)
    return [{"key": key_of(result["system"], backend), "rows": rows} for backend, rows in found.items()]


def has_counters(row: Row) -> bool:
    """Whether the row has counters of ours."""
    return bool(row["status"] == "ok" and row["counters"] and row["library"] == "cogrid")


class Counted(NamedTuple):
    """What the counters of a row say beside earlier ones."""

    changes: tuple[Change, ...] = ()
    refused: str = ""  # why they are not compared
    wrong: bool = False  # whether another trajectory was counted


def compare(head: Result, row: Row, earlier: Sequence[Counts]) -> Counted:
    """Beside the earlier row of the same name, way of measuring and key; a trajectory knows no key."""
    if not has_counters(row):
        return Counted()
    key = key_of(head["system"], backend_of(row))
    olds = [(counts["key"], old) for counts in earlier for old in counts["rows"]]
    named = [(other, old) for other, old in olds if old["name"] == row["name"]]
    current = [(other, old) for other, old in named if old["identity"] == row["identity"]]
    if any(other_results(old, row) for _, old in current):
        return Counted(wrong=True)
    for other, old in current:
        if other == key:
            return Counted(changes(old["counters"], row["counters"]))
    if current:
        return Counted(refused=f"no counters for {told_key(key)}")
    return Counted(refused="counted in another way" if named else "no earlier counters")


def other_results(before: Row, after: Row) -> bool:
    """Whether the checksums differ; a row without one has nothing to tell."""
    return bool(before["checksum"] and after["checksum"] and before["checksum"] != after["checksum"])
