"""Tables: a result as people read it."""

from __future__ import annotations

from typing import Any

from tabulate import tabulate

from bench import words
from bench.results import Result
from bench.sweeps import scene
from bench.units import engineering
from cogrid.benchmarks.phases import Parts
from cogrid.benchmarks.phases import table as phases_table
from cogrid.shadow import VARIABLE

SPEED = ("case", "steps/s", "±", "agent steps/s", "one environment", "vs numpy-single", "memory", "note")
SHADOW = ("case", "beside", "comparisons", "mismatches", "time of the case : beside")
TIME = ("case", "median", "p95", "p99", "parts", "note")


def summary(result: Result, style: str = "simple") -> str:
    """Every row with its speed-ups and noise, then the headline."""
    rows = result["rows"]
    speeds = [row for row in rows if row["unit"] == "steps/s"]
    others = [row for row in rows if row["unit"] != "steps/s"]
    parts = [machine(result)]
    if speeds:
        parts.append(_table([_speed(row, rows) for row in speeds], SPEED, style))
    if others:
        parts.append(_table([_time(row) for row in others], TIME, style))
    if any("shadow" in row for row in rows):
        parts.append(shadows(rows, style))
    return "\n\n".join([*parts, headline(result)])


def shadows(rows: list[dict[str, Any]], style: str = "simple") -> str:
    """What was compared beside the rows, and the sums."""
    found = [(row["name"], row["shadow"]) for row in rows if "shadow" in row]
    lines = [
        [name, one["beside"], f"{one['comparisons']:,}", f"{one['mismatches']:,}", _ratio(one["ratio"])]
        for name, one in found
    ]
    total, wrong = (sum(one[name] for _, one in found) for name in ("comparisons", "mismatches"))
    first = "".join(f"\n{name}: {one['first']}" for name, one in found if one["first"])
    return f"{_table(lines, SHADOW, style)}\n\nShadow: {total:,} comparisons, {wrong:,} mismatches.{first}"


def _ratio(ratio: float | None) -> str:
    return "–" if ratio is None else f"1 : {ratio:.3g}"


def _table(rows: list[list[str]], columns: tuple[str, ...], style: str) -> str:
    text: str = tabulate(rows, columns, style, disable_numparse=True)
    return text


def machine(result: Result) -> str:
    """One line of where and what."""
    found = result["system"]
    jax = f"jax {found['jax']} on {found['platform']}" if found["jax"] else "without JAX"
    shadow = "; with a shadow, so not compared by time" if VARIABLE in found["flags"] else ""
    git = result["git"]
    revision = (
        f"revision {git['sha'][:10]}{' with changes' if git['dirty'] else ''}" if git else "no revision"
    )
    return (
        f"{found['cpu']}, {found['cores']} cores, Python {found['python']}, numpy {found['numpy']}, {jax}; "
        f"{revision}; fingerprint {result['fingerprint']}{shadow}"
    )


def headline(result: Result) -> str:
    """How it went, in numbers."""
    rows = result["rows"]
    counts = {status: sum(row["status"] == status for row in rows) for status in ("failed", "out of memory")}
    unstable = sum(words.doubt(row) == "unstable" for row in rows)
    wrong = sum(row["status"] == "mismatch" for row in rows)
    agree = "all checksums agree" if not wrong else f"{wrong} with WRONG RESULTS"
    troubled = "".join(f", {count} {status}" for status, count in counts.items() if count)
    return f"{len(rows)} measured{troubled}, {unstable} unstable; {agree}."


def profile(result: Result, style: str = "simple") -> str:
    """Phases of the step and parts of the observation: configurations side by side, each part's share."""
    parts = [machine(result)]
    for measure, title in (("profile", "phases of a step"), ("features", "parts of the flat observation")):
        rows = [row for row in result["rows"] if row["case"]["measure"] == measure]
        columns = {
            f"{scene(row['case'])}\n{row['case']['mode']}@{row['case']['batch']}": Parts(
                row["parts"], row["samples"]
            )
            for row in rows
            if row["status"] == "ok"
        }
        if columns:
            header, *lines = phases_table(columns)
            parts.append(f"{title}\n{_table(lines, tuple(header), style)}")
        parts += [f"{row['name']}: {words.reading(row)}" for row in rows if row["status"] != "ok"]
    return "\n\n".join(parts)


def _speed(row: dict[str, Any], rows: list[dict[str, Any]]) -> list[str]:
    if row["status"] != "ok":
        return [row["name"], "–", "", "", "", "", "", words.reading(row)]
    found, batch = row["statistics"], row["case"]["batch"]
    base = _numpy_single(row, rows)
    rss = row["memory"].get("peak_rss_bytes")
    return [
        row["name"],
        engineering(found["median"]),
        words.percent(found["cv"]) if len(row["samples"]) > 1 else "–",
        engineering(found["median"] * row["agents"]),
        engineering(found["median"] / batch) if batch > 1 else "",
        f"{engineering(found['median'] / base)}×" if base else "",
        words.size(rss) if rss else "",
        _note(row),
    ]


def _time(row: dict[str, Any]) -> list[str]:
    if row["status"] != "ok":
        return [row["name"], "–", "", "", "", words.reading(row)]
    found = row["statistics"]
    parts = ", ".join(f"{name} {engineering(value, 's')}" for name, value in row["parts"].items())
    return [
        row["name"],
        engineering(found["median"], row["unit"]),
        *(engineering(found[p], "s") if row["case"]["measure"] == "latency" else "" for p in ("p95", "p99")),
        parts,
        _note(row),
    ]


def _note(row: dict[str, Any]) -> str:
    notes = list(filter(None, [words.share(row), words.doubt(row)]))
    spoilt = row["noise"].get("disturbed", 0)
    kept = f"{spoilt:.0f} of {len(row['samples'])} samples disturbed, kept for want of better ones"
    return ", ".join(notes + ([kept] if spoilt else []))


def _numpy_single(row: dict[str, Any], rows: list[dict[str, Any]]) -> float | None:
    """The speed of one NumPy environment of the same kind."""
    for other in rows:
        same = all(
            other["case"][name] == row["case"][name] for name in ("id", "options", "workload", "measure")
        )
        if same and other["case"]["mode"] == "numpy-single" and other["status"] == "ok" and other is not row:
            return float(other["statistics"]["median"])
    return None
