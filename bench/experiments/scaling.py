"""Scaling: a rollout on several devices and processes of this machine, and what the devices exchange."""

from __future__ import annotations

import os
import socket
import statistics
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from tabulate import tabulate

from bench.exit_codes import Code, UsageError
from bench.processes.worker import Worker, WorkerFailed
from bench.records import Git, Record, System
from bench.show.progress import Progress
from bench.storage import machine, results
from bench.units import engineering

COMMAND = (sys.executable, "-m", "bench.experiments.scaling_worker")
ROUNDS = 15
BATCH, STEPS = 8192, 32
SIMULATED = (8, 64)


class TeamShape(NamedTuple):
    """How many processes, with how many devices each."""

    devices: int
    processes: int = 1
    threads: int | None = None  # of XLA, in a process; as many as cores if None

    @property
    def name(self) -> str:
        devices = f"{self.devices} device{'s' * (self.devices > 1)}"
        name = f"{self.processes} processes, {devices} each" if self.processes > 1 else devices
        return name + (", one thread" if self.threads == 1 else "")


#: All are compared with the first. The one-thread shape shows what XLA's own threads gain.
SHAPES = (
    TeamShape(1),
    TeamShape(1, threads=1),
    TeamShape(2),
    TeamShape(4),
    TeamShape(1, processes=2),
    TeamShape(1, processes=2, threads=1),
)


class PlayedPass(NamedTuple):
    seconds: float
    cores: float  # that were busy on average


class Team:
    """The processes of one shape, which get every request at the same time."""

    def __init__(self, shape: TeamShape, workers: Sequence[Worker], pool: ThreadPoolExecutor) -> None:
        self.shape, self._workers, self._pool = shape, workers, pool

    def prepare(self, batch: int, steps: int) -> None:
        request = {"batch": batch, "steps": steps, "processes": len(self._workers), "port": _free_port()}
        self._ask(*({"task": "prepare", **request, "process": i} for i in range(len(self._workers))))

    def play(self) -> PlayedPass:
        answers = self._ask(*[{"task": "play"}] * len(self._workers))
        seconds = max(answer["seconds"] for answer in answers)
        return PlayedPass(seconds, sum(answer["cpu_seconds"] for answer in answers) / seconds)

    def checksum(self) -> str:
        """The checksum of the rollout, which must be the same for all shapes."""
        return str(self._ask(*[{"task": "checksum"}] * len(self._workers))[0]["checksum"])

    def count(self, batch: int, steps: int) -> list[tuple[str, int, int]]:
        """The collectives of every piece of code: how many, and their bytes."""
        (answer,) = self._ask({"task": "count", "batch": batch, "steps": steps})
        return [(code, number, size) for code, number, size in answer["counts"]]

    def _ask(self, *requests: dict[str, Any]) -> list[dict[str, Any]]:
        asked = [self._pool.submit(w.ask, r) for w, r in zip(self._workers, requests, strict=True)]
        # If a process fails, the others wait for it forever, so we do not wait for them.
        for done in wait(asked, return_when=FIRST_EXCEPTION).done:
            try:
                done.result()
            except WorkerFailed as failure:
                message = f"a process of the shape {self.shape.name!r} stopped: {failure}"
                raise UsageError(message) from None
        return [one.result() for one in asked]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return int(probe.getsockname()[1])


@contextmanager
def team(shape: TeamShape) -> Iterator[Team]:
    env = {
        "JAX_ENABLE_COMPILATION_CACHE": "0",
        "JAX_PLATFORMS": "cpu",
        "JAX_NUM_CPU_DEVICES": str(shape.devices),
        **({"NPROC": str(shape.threads)} if shape.threads else {}),
    }
    # The processes end first, so that no thread of the pool waits for an answer.
    with ThreadPoolExecutor(shape.processes) as pool, ExitStack() as stack:
        yield Team(shape, [stack.enter_context(Worker(COMMAND, env)) for _ in range(shape.processes)], pool)


class ScaledShape(Record):
    name: str
    checksum: str  # of all that was played
    passes: list[PlayedPass]


class Scaling(Record):
    """The result file of the experiment."""

    created: str
    git: Git | None
    system: System
    batch: int
    steps: int
    shapes: list[ScaledShape]
    collectives: list[tuple[str, ...]]


def run(rounds: int = ROUNDS, batch: int = BATCH, steps: int = STEPS) -> Code:
    samples, checksums = measured(rounds, batch, steps)
    shapes = [
        ScaledShape(shape.name, checksum, list(played))
        for shape, checksum, played in zip(SHAPES, checksums, zip(*samples, strict=True), strict=True)
    ]
    scaling = Scaling(results.now(), machine.git_state(), machine.system(), batch, steps, shapes, [])
    path = results.path_of("scaling")
    results.write(path, scaling)  # counting may fail, and the samples took minutes
    print(f"bench: results are in {results.short(path)}", file=sys.stderr)
    print(f"A rollout of {batch} CrampedRooms at random, {steps} steps a pass, {rounds} rounds in turns:\n")
    print(tabulate(rows(samples, batch * steps), HEADERS, disable_numparse=True))
    print(f"\n{MEANING}", flush=True)
    scaling.collectives = counted(SIMULATED)
    results.write(path, scaling)
    print("\nWhat is in the compiled code, on simulated devices with 16 environments each:\n")
    print(tabulate(scaling.collectives, COUNTED, disable_numparse=True))
    if len(set(checksums)) > 1:
        played = {shape.name: shape.checksum for shape in shapes}
        print(f"\nThe shapes played different games: {played}.")
        return Code.MISMATCH
    print("\nAll shapes played the same game, bit for bit.")
    return Code.FINE


def measured(rounds: int, batch: int, steps: int) -> tuple[list[list[PlayedPass]], list[str]]:
    """A pass of every shape in each round, and the checksums of the shapes."""
    parts = len(SHAPES) + rounds
    with Progress() as progress, ExitStack() as stack:
        teams = [stack.enter_context(team(shape)) for shape in SHAPES]
        for number, one in enumerate(teams):
            progress.start(f"prepare {one.shape.name}", number, parts)
            one.prepare(batch, steps)
            progress.finish(one.shape.name, "ready")
        samples = []
        for number in range(len(SHAPES), parts):
            progress.start("a pass of every shape", number, parts)
            samples.append([one.play() for one in teams])
        return samples, [one.checksum() for one in teams]


HEADERS = ("shape", "steps/s", "speed-up", "interval", "ideal", "efficiency", "cores busy")
MEANING = (
    "steps/s: from the median pass. speed-up: over the first shape in the same round, as a median with its "
    "quartiles, so on a busy machine it can differ from the ratio of the steps/s. ideal: the devices of all "
    "processes, at most the cores. efficiency: speed-up / ideal; noise, or threads that cost the first "
    "shape more than they gain, can put it above 100 %."
)
COUNTED = ("devices", "code", "collectives", "bytes to each device")


def rows(samples: list[list[PlayedPass]], steps: int) -> list[tuple[str, ...]]:
    """One row per shape; the speed-up is the median of the ratios within a round, with its quartiles."""
    cores = os.cpu_count() or 1
    lines: list[tuple[str, ...]] = []
    for number, shape in enumerate(SHAPES):
        passes = [row[number] for row in samples]
        ratios = sorted(row[0].seconds / row[number].seconds for row in samples)
        speed = statistics.median(ratios)
        ideal = min(shape.devices * shape.processes, cores)
        lines.append(
            (
                shape.name,
                engineering(steps / statistics.median(sample.seconds for sample in passes)),
                f"{speed:.2f}",
                f"{ratios[len(ratios) // 4]:.2f} … {ratios[-1 - len(ratios) // 4]:.2f}",
                str(ideal),
                f"{speed / ideal:.0%}",
                f"{statistics.median(sample.cores for sample in passes):.2f}",
            )
        )
    return lines


def counted(simulated: Sequence[int]) -> list[tuple[str, ...]]:
    """The collectives of a rollout and of a gradient on so many devices, all simulated by one CPU."""
    rows: list[tuple[str, ...]] = []
    with Progress() as progress:
        for number, devices in enumerate(simulated):
            progress.start(f"count the collectives on {devices} devices", number, len(simulated))
            with team(TeamShape(devices)) as one:
                counts = one.count(16 * devices, STEPS)
            rows += [(str(devices), code, str(n), engineering(size, "B")) for code, n, size in counts]
    return rows
