"""Words: what a row says, in short."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.units import engineering

UNSTABLE = 0.2  # a coefficient of variation above this is said, and never compared
MIN_SAMPLES = 5


def size(value: float) -> str:
    """1.5 GiB."""
    for limit, suffix in ((2**30, " GiB"), (2**20, " MiB"), (2**10, " KiB")):
        if value >= limit:
            return f"{value / limit:.3g}{suffix}"
    return f"{value:.0f} B"


def percent(share: float) -> str:
    """Without decimals from 10 % on."""
    return f"{share * 100:.0f} %" if abs(share) >= 0.1 else f"{share * 100:.1f} %"


def doubt(row: Mapping[str, Any]) -> str:
    """Why a measured row must not be compared, "" if it may; the times of single steps differ by nature."""
    if row["status"] != "ok" or row["case"]["measure"] == "latency":
        return ""
    if len(row["samples"]) < MIN_SAMPLES:
        return "too few samples"
    if row["statistics"]["cv"] > UNSTABLE:
        return "unstable"
    return "disturbed" if row["noise"].get("disturbed", 0) > len(row["samples"]) / 2 else ""


def share(row: Mapping[str, Any]) -> str:
    """Of training: how much of its time the environment takes, "" of other rows."""
    if row["case"]["measure"] != "train" or not row["parts"]:
        return ""
    return f"environment {percent(row['parts']['environment'] / row['parts']['update'])} of the time"


def reading(row: Mapping[str, Any]) -> str:
    """A row in one line."""
    if row["status"] != "ok":
        return f"{row['status']}: {row['error']}"
    found = row["statistics"]
    known = f"{engineering(found['median'], row['unit'])} ± {percent(found['cv'])}"
    return ", ".join(filter(None, [known, share(row), doubt(row)]))
