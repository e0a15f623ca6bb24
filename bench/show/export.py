"""Results in the formats of other programs: CSV for tables, pyperf's JSON for its comparisons."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from bench.results import ResultError
from bench.sweeps import Result, Row, is_ok, when

# The same header for every file, whatever is in it: columns by the place where their values are found.
COLUMNS = {
    "run": ("created", "tag", "description", "fingerprint"),
    "git": ("sha", "dirty"),
    "system": ("cpu", "cores", "python", "numpy", "jax", "jaxlib", "platform", "device"),
    "row": ("name", "identity", "library", "agents", "status", "error", "unit", "checksum"),
    "case": ("id", "options", "measure", "mode", "batch", "steps", "workload", "seed"),
    "statistics": ("median", "mean", "std", "min", "max", "p50", "p95", "p99", "cv"),
    "counters": (
        "equations",
        "flops",
        "bytes_accessed",
        "fusions",
        "instructions",
        "temp_bytes",
        "peak_bytes",
    ),
    "memory": ("state_bytes", "observation_bytes", "peak_rss_bytes", "device_peak_bytes"),
    "noise": ("steal", "others", "free", "pressure", "load", "dropped", "disturbed"),
    "lists": ("parts", "samples"),
}
HEADER = tuple(name for names in COLUMNS.values() for name in names)


def to_csv(result: Result) -> str:
    """A line for each row with all that is known of it; samples are in one column, joined by semicolons."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    for row in result["rows"]:
        places = {**result, **row, "run": result, "row": row, "lists": row}
        writer.writerow(
            plain((places[place] or {}).get(name)) for place, names in COLUMNS.items() for name in names
        )
    return text.getvalue()


def plain(value: Any) -> Any:
    """Samples joined, a mapping as JSON; None becomes an empty cell."""
    if isinstance(value, list):
        return ";".join(map(repr, value))
    return json.dumps(value, sort_keys=True) if isinstance(value, dict) else value


def to_pyperf(result: Result) -> str:
    """A pyperf suite in seconds, of a step where speed was measured; failed rows are left out."""
    rows = [row for row in result["rows"] if is_ok(row)]
    if not rows:
        raise ResultError(
            "the result holds no row that succeeded, and a pyperf suite needs one: measure first."
        )
    system, git = result["system"], result["git"]
    metadata = {
        "description": result["description"],
        "cpu_model_name": system["cpu"],
        "cpu_count": system["cores"],
        "platform": system["os"],
        "python_version": system["python"],
        "numpy_version": system["numpy"],
        "jax_version": system["jax"],
        "jax_device": system["device"],
        "git_sha": git and git["sha"],
        "tag": result["tag"],
        "unit": "second",
    }
    benchmarks = [benchmark(row, f"{when(result):%Y-%m-%d %H:%M:%S}") for row in rows]
    return (
        json.dumps({"version": "1.0", "metadata": known(metadata), "benchmarks": benchmarks}, indent=1) + "\n"
    )


def benchmark(row: Row, date: str) -> dict[str, Any]:
    """A row as one run of a pyperf benchmark."""
    values = [1 / sample for sample in row["samples"]] if row["unit"].endswith("/s") else row["samples"]
    facts = {
        "name": row["name"],
        "library": row["library"],
        "mode": row["case"]["mode"],
        "batch": row["case"]["batch"],
    }
    of_run = {"date": date, "mem_max_rss": row["memory"].get("peak_rss_bytes")}
    return {"metadata": facts, "runs": [{"metadata": known(of_run), "values": values}]}


def known(metadata: dict[str, Any]) -> dict[str, Any]:
    """What pyperf takes: it refuses empty values, and text of more than one line."""
    lines = {
        name: " ".join(value.split()) if isinstance(value, str) else value for name, value in metadata.items()
    }
    return {name: value for name, value in lines.items() if value not in (None, "")}
