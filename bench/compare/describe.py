"""What a row says, in one line."""

from __future__ import annotations

from bench.records import Row
from bench.units import engineering, percent


def environment_share(row: Row) -> str:
    """Of training: how much of its time the environment takes, "" for other rows."""
    if row.case.measure != "train" or not row.parts:
        return ""
    return f"environment {percent(row.parts['environment'] / row.parts['update'])} of the time"


def in_short(row: Row) -> str:
    """Its median and spread, or why it has none."""
    if not row.is_ok:
        return f"{row.status}: {row.error}"
    known = f"{engineering(row.numbers.median, row.unit)} ± {percent(row.numbers.cv)}"
    return ", ".join(filter(None, [known, environment_share(row), row.doubt]))
