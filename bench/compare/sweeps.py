"""Rows that belong together: batch sweeps, chunk sweeps and how well they scale."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

import msgspec

from bench.records import Row

#: The parameters that change how a game is stepped, and not which game is played.
MODE = ("mode", "batch", "steps", "seed")


def same_but(row: Row, *parameters: str) -> str:
    """A key that is equal for rows that differ only in these: parameters of the case, or "library"."""
    facts = {"library": row.library, **msgspec.structs.asdict(row.case)}
    return json.dumps(
        {name: value for name, value in facts.items() if name not in parameters}, sort_keys=True
    )


def grouped(rows: Iterable[Row], *parameters: str) -> list[list[Row]]:
    """The rows in groups that differ only in these parameters, in the order of their first rows."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(same_but(row, *parameters), []).append(row)
    return list(groups.values())


def speed_rows(rows: Iterable[Row], library: str | None = "cogrid") -> list[Row]:
    """The speeds, without those of an A/B: its sides share one core."""
    speeds = [row for row in rows if row.case.measure == "speed" and not row.ab]
    return [row for row in speeds if library in (None, row.library)]


def batch_sweeps(rows: Iterable[Row]) -> list[list[Row]]:
    """Rows of one mode at two or more batch sizes, smallest first; each chunk that was swept has its own."""
    groups = (line for group in grouped(speed_rows(rows), "batch", "steps") for line in by_chunk(group))
    return [group for group in groups if len(group) > 1]


def by_chunk(rows: list[Row]) -> list[list[Row]]:
    """The scans of each chunk, if several chunks were measured at most of the batch sizes.

    Otherwise the chunk varies with the batch, as in the full suite, and the longest at each size counts.
    """
    chunks_at = Counter(row.case.batch for row in rows)
    several = sum(chunks > 1 for chunks in chunks_at.values())
    if rows[0].case.mode != "jax-scan" or 2 * several <= len(chunks_at):
        return [longest_per_batch(rows)]
    chunks = sorted(grouped(rows, "batch"), key=lambda group: group[0].case.steps)
    return [sorted(group, key=lambda row: row.case.batch) for group in chunks]


def longest_per_batch(rows: Iterable[Row]) -> list[Row]:
    """One row per batch size: that of the longest chunk that ran, whatever its speed."""
    ordered = sorted(rows, key=lambda row: (row.is_ok, row.case.steps))
    best = {row.case.batch: row for row in ordered}
    return [best[batch] for batch in sorted(best)]


def chunk_sweeps(rows: Iterable[Row]) -> list[list[Row]]:
    """Scans of one batch that differ only in the chunk, two chunks or more, smallest first."""
    scans = [row for row in speed_rows(rows) if row.case.mode == "jax-scan"]
    groups = (sorted(group, key=lambda row: row.case.steps) for group in grouped(scans, "steps"))
    return [group for group in groups if len(group) > 1]


def per_environment(row: Row) -> float:
    return row.numbers.median / row.case.batch


def efficiency(sweep: list[Row]) -> dict[int, float]:
    """Throughput by batch size, relative to the best batch of the sweep."""
    speeds = {row.case.batch: row.numbers.median for row in sweep if row.is_ok}
    return {batch: speed / max(speeds.values()) for batch, speed in speeds.items()}
