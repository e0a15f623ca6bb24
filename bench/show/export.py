"""Results in the formats of other programs: CSV for tables, pyperf's JSON for its comparisons."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from msgspec.structs import asdict

from bench.exit_codes import UsageError
from bench.records import Result, Row

# The same header for every file: columns grouped by the record that has their values.
COLUMNS = {
    "run": ("created", "tag", "description", "fingerprint"),
    "git": ("sha", "dirty"),
    "system": ("cpu", "cores", "python", "numpy", "jax", "jaxlib", "platform", "device"),
    "row": ("name", "identity", "library", "agents", "status", "error", "unit", "checksum"),
    "case": ("id", "options", "measure", "mode", "batch", "steps", "workload", "seed"),
    "statistics": ("median", "mean", "std", "min", "max", "p50", "p95", "p99", "cv"),
    "counters": (
        *("equations", "foldable_gathers", "flops", "bytes_accessed", "fusions", "instructions"),
        *("argument_bytes", "output_bytes", "temp_bytes", "peak_bytes", "host_callbacks", "wide_values"),
        *("operations", "allocated_bytes"),  # of NumPy
        *("kernels", "bytes", "open_loops", "conditionals", "host_transfers", "collectives"),  # for a GPU
        *("outside_graphs", "registers", "spill_bytes", "loop_instructions", "loop_loads"),
    ),
    "memory": ("state_bytes", "observation_bytes", "peak_rss_bytes", "device_peak_bytes"),
    "noise": ("steal", "others", "free", "pressure", "load", "dropped", "disturbed"),
    "lists": ("parts", "samples"),
}
HEADER = tuple(name for names in COLUMNS.values() for name in names)


def to_csv(result: Result) -> str:
    """One line per row with everything known about it; samples are in one column, joined by semicolons."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    for row in result.rows:
        records = {
            "run": asdict(result),
            "git": asdict(result.git) if result.git else {},
            "system": asdict(result.system),
            "row": asdict(row),
            "case": asdict(row.case),
            "statistics": asdict(row.statistics) if row.statistics else {},
            "counters": row.counters,
            "memory": row.memory,
            "noise": row.noise,
            "lists": {"parts": row.parts, "samples": row.samples},
        }
        writer.writerow(plain(records[place].get(name)) for place, names in COLUMNS.items() for name in names)
    return text.getvalue()


def plain(value: object) -> object:
    """Samples joined, a mapping as JSON; None becomes an empty cell."""
    if isinstance(value, list):
        return ";".join(map(repr, value))
    return json.dumps(value, sort_keys=True) if isinstance(value, dict) else value


def to_pyperf(result: Result) -> str:
    """A pyperf suite in seconds, per step for speeds; failed rows are left out."""
    rows = [row for row in result.rows if row.is_ok]
    if not rows:
        raise UsageError("the result has no successful row, and a pyperf suite needs one: measure first.")
    system = result.system
    metadata = {
        "description": result.description,
        "cpu_model_name": system.cpu,
        "cpu_count": system.cores,
        "platform": system.os,
        "python_version": system.python,
        "numpy_version": system.numpy,
        "jax_version": system.jax,
        "jax_device": system.device,
        "git_sha": result.git.sha if result.git else None,
        "tag": result.tag,
        "unit": "second",
    }
    benchmarks = [benchmark(row, f"{result.when:%Y-%m-%d %H:%M:%S}") for row in rows]
    suite = {"version": "1.0", "metadata": known(metadata), "benchmarks": benchmarks}
    return json.dumps(suite, indent=1) + "\n"


def benchmark(row: Row, date: str) -> dict[str, Any]:
    values = [1 / sample for sample in row.samples] if row.is_rate else row.samples
    of_run = {"date": date, "mem_max_rss": row.memory.get("peak_rss_bytes")}
    facts = {"name": row.name, "library": row.library, "mode": row.case.mode, "batch": row.case.batch}
    return {"metadata": facts, "runs": [{"metadata": known(of_run), "values": values}]}


def known(metadata: dict[str, Any]) -> dict[str, Any]:
    """What pyperf accepts: no empty values, and no text of more than one line."""
    lines = {
        name: " ".join(value.split()) if isinstance(value, str) else value for name, value in metadata.items()
    }
    return {name: value for name, value in lines.items() if value not in (None, "")}
