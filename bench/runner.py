"""The runner: measures cases one after the other, each in its own process, saving the file after each."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from bench import ROOT
from bench.compare.findings import in_short
from bench.measure.plan import Plan
from bench.processes.worker import Worker, WorkerFailed
from bench.records import Measurement, Parameters, Result, Row
from bench.show.progress import Progress
from bench.storage import results
from bench.storage.identity import identity
from cogrid._core.profiling import VARIABLE as PROFILING
from cogrid._env import shadow
from cogrid.benchmarks.case import Case

COMMAND = (sys.executable, "-m", "bench.processes.case_worker")
COUNTING = (sys.executable, "-m", "bench.processes.count_worker")

MeasureCase = Callable[[Case, Plan], Measurement]


# Turns off what would change the numbers: timed phases, a shadow, compiled code of another run.
CLEAN = {PROFILING: "", shadow.VARIABLE: "0", "JAX_ENABLE_COMPILATION_CACHE": "0"}


def in_own_process(case: Case, plan: Plan, command: Sequence[str] = COMMAND) -> Measurement:
    """The worker's measurement; a failure becomes a measurement that gives the reason."""
    with contextlib.ExitStack() as stack:
        return _measurement(
            case, plan, lambda: stack.enter_context(_started_here(command, CLEAN, shows_errors=True))
        )


def _started_here(command: Sequence[str], env: Mapping[str, str], *, shows_errors: bool = False) -> Worker:
    """Starts in the command's folder: a user's own world may be named by a relative path."""
    places = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return Worker(command, {**env, "PYTHONPATH": places}, Path.cwd(), shows_errors=shows_errors)


class OneProcess:
    """Measures all cases in one process: for what earlier cases cannot disturb, such as counters."""

    def __init__(self, env: Mapping[str, str], command: Sequence[str] = COMMAND) -> None:
        self._env, self._command = {**CLEAN, **env}, command
        self._worker: Worker | None = None

    def __enter__(self) -> OneProcess:
        return self

    def __exit__(self, *error: object) -> None:
        if self._worker:
            self._worker.close()

    def measure(self, case: Case, plan: Plan) -> Measurement:
        return _measurement(case, plan, self._started)

    def _started(self) -> Worker:
        if self._worker and not self._worker.is_alive:  # the row of its case has the reason
            self._worker.close()
            self._worker = None
        self._worker = self._worker or _started_here(self._command, self._env)
        return self._worker


def _measurement(case: Case, plan: Plan, start: Callable[[], Worker]) -> Measurement:
    request = {"case": case.parameters(), "plan": plan._asdict(), "shadow": shadow.is_asked_for()}
    try:
        measurement = msgspec.convert(start().ask(request), Measurement)
        if measurement.status == "ok" and not measurement.samples:
            raise WorkerFailed("it has no samples.")
        return measurement
    except (WorkerFailed, msgspec.ValidationError) as failure:
        status = failure.status if isinstance(failure, WorkerFailed) else "failed"
        return Measurement(agents=case.spec.num_agents, status=status, error=str(failure))


def run(result: Result, path: Path, progress: Progress, measure: MeasureCase = in_own_process) -> None:
    """Measure the planned cases that are missing; the file is written after every case."""
    plan = result.configuration.plan
    results.write(path, result)
    cases = missing(result)
    for number, case in enumerate(cases):
        progress.start(case.name, number, len(cases))
        row = row_of(case, plan, measure(case, plan))
        others = [other for other in result.rows if other.case != row.case]
        result.rows = with_disagreements([*others, row])
        results.write(path, result)
        progress.finish(case.name, in_short(result.rows[-1]))


def missing(result: Result) -> list[Case]:
    """Planned cases without a row from the current measuring code."""
    done, plan = {row.identity for row in result.rows}, result.configuration.plan
    planned = [parameters.case for parameters in result.configuration.planned]
    return [case for case in planned if identity(case, plan) not in done]


def row_of(case: Case, plan: Plan, measurement: Measurement) -> Row:
    return Row.of(
        measurement,
        name=case.name,
        identity=identity(case, plan),
        case=Parameters.of(case),
        library="cogrid",
    )


def with_disagreements(rows: Sequence[Row]) -> list[Row]:
    """Rows that played the same tape in the same environments must have the same checksum.

    A single environment plays all tapes one after the other, which a batch of one does not.
    """
    first: dict[str, Row] = {}
    checked = []
    for row in rows:
        if row.checksum is not None and row.is_ok:
            case = row.case.case
            mode = "single" if case.mode.endswith("single") else ""
            game = {**case.parameters(), "mode": mode, "batch": case.lanes}
            other = first.setdefault(json.dumps(game, sort_keys=True), row)
            if other.checksum != row.checksum:
                error = (
                    f"its checksum {row.checksum} is not the {other.checksum} of {other.name}, "
                    "which played the same tape."
                )
                row = replace(row, status="mismatch", error=error)
        checked.append(row)
    return checked
