"""The runner: cases one after the other, each in a process of its own, the file complete after every one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench import results
from bench.progress import Progress
from bench.results import ROOT, Result
from cogrid import shadow
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.measures import Plan
from cogrid.core.profiling import VARIABLE as PROFILING

WORKER = (sys.executable, "-m", "bench.worker")

Measure = Callable[[Case, Plan], dict[str, Any]]


def in_process_of_its_own(case: Case, plan: Plan, command: Sequence[str] = WORKER) -> dict[str, Any]:
    """The worker's row; a worker that died has a row that says how."""
    request = json.dumps({"case": case.parameters(), "plan": plan._asdict(), "shadow": shadow.wanted()})
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=_environment()
    )
    try:
        answer, _ = process.communicate(request)
    except BaseException:
        process.kill()
        process.wait()
        raise
    if process.returncode == 0:
        return dict(json.loads(answer))
    return _died(case, process.returncode)


def _environment() -> dict[str, str]:
    """Ours, without what would change the numbers: timed phases, a shadow, compiled code of another run."""
    kept = {name: value for name, value in os.environ.items() if name not in (PROFILING, shadow.VARIABLE)}
    return {**kept, "JAX_ENABLE_COMPILATION_CACHE": "0"}


def _died(case: Case, code: int) -> dict[str, Any]:
    killed = code == -signal.SIGKILL
    how = f"by signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
    return {
        "agents": case.spec.num_agents,
        "status": "out of memory" if killed else "failed",
        "error": f"the process ended {how}" + (", most likely for want of memory." if killed else "."),
        "unit": "steps/s",
        "samples": [],
        "counters": {},
        "memory": {},
        "noise": {},
        "checksum": None,
        "parts": {},
    }


def run(result: Result, path: Path, progress: Progress, measure: Measure = in_process_of_its_own) -> Result:
    """Measure what is planned and not there yet; written after every case."""
    plan = plan_of(result)
    results.validate(result)
    results.write(path, result)
    cases = missing(result)
    for number, case in enumerate(cases):
        progress.start(case.name, number, len(cases))
        row = row_of(case, plan, measure(case, plan))
        result["rows"] = [other for other in result["rows"] if other["case"] != row["case"]] + [row]
        mark_disagreements(result["rows"])
        results.write(path, result)
        progress.finish(row)
    results.validate(result)
    return result


def plan_of(result: Result) -> Plan:
    """How the result is sampled."""
    return Plan(*(result["configuration"][name] for name in Plan._fields))


def missing(result: Result) -> list[Case]:
    """Planned cases without a row of today's measuring code."""
    done, plan = {row["identity"] for row in result["rows"]}, plan_of(result)
    planned = [Case.of(parameters) for parameters in result["configuration"]["planned"]]
    return [case for case in planned if results.identity(case, plan) not in done]


def row_of(case: Case, plan: Plan, measured: dict[str, Any]) -> dict[str, Any]:
    """A whole row."""
    return {
        "name": case.name,
        "identity": results.identity(case, plan),
        "case": case.parameters(),
        "library": "cogrid",
        **measured,
        "statistics": results.summarise(measured["samples"]),
    }


def mark_disagreements(rows: list[dict[str, Any]]) -> None:
    """Rows that played the same tape in the same environments must have the same checksum."""
    first: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["checksum"] is None or row["status"] != "ok":
            continue
        case = Case.of(row["case"])
        game = {**case.parameters(), "mode": "", "batch": case.lanes}
        other = first.setdefault(json.dumps(game, sort_keys=True), row)
        if other["checksum"] != row["checksum"]:
            row["status"] = "mismatch"
            row["error"] = (
                f"its checksum {row['checksum']} is not the {other['checksum']} of {other['name']}, "
                "which played the same tape."
            )
