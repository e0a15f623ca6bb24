"""Scaling: a rollout on more devices and processes of this machine, and what devices say to each other."""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, NamedTuple

from tabulate import tabulate

from bench.codes import Code
from bench.units import engineering

ROUNDS = 15
BATCH, STEPS = 8192, 32
SIMULATED = (8, 64)


class Shape(NamedTuple):
    """How many processes, with how many devices each."""

    devices: int
    processes: int = 1
    threads: int | None = None  # of XLA, in a process; as many as cores if None

    @property
    def name(self) -> str:
        """For people."""
        devices = f"{self.devices} device{'s' * (self.devices > 1)}"
        words = f"{self.processes} processes, {devices} each" if self.processes > 1 else devices
        return words + (", one thread" if self.threads == 1 else "")


#: All are compared with the first. On one thread it shows what its own threads are worth.
SHAPES = (
    Shape(1),
    Shape(1, threads=1),
    Shape(2),
    Shape(4),
    Shape(1, processes=2),
    Shape(1, processes=2, threads=1),
)


class Sample(NamedTuple):
    """One pass of all processes of a shape."""

    seconds: float
    cores: float  # that were busy on average


class Worker:
    """A process of `bench.scaling_worker`; says one line for each that it gets."""

    def __init__(self, request: dict[str, Any], env: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bench.scaling_worker"],
            env={**os.environ, "JAX_ENABLE_COMPILATION_CACHE": "0", "JAX_PLATFORMS": "cpu", **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.say(request)

    def say(self, words: Any) -> None:
        """Does not wait."""
        pipe: IO[str] = self.process.stdin  # type: ignore[assignment]
        pipe.write(json.dumps(words) + "\n")
        pipe.flush()

    def hear(self) -> Any:
        """Waits."""
        line = self.process.stdout.readline()  # type: ignore[union-attr]
        if not line:
            raise RuntimeError(f"a worker ended with exit code {self.process.wait()}.")
        return json.loads(line)


class Team:
    """The processes of one shape, made ready."""

    def __init__(self, shape: Shape, batch: int, steps: int) -> None:
        with socket.socket() as probe:
            probe.bind(("localhost", 0))
            port = probe.getsockname()[1]
        env = {"JAX_NUM_CPU_DEVICES": str(shape.devices)}
        env |= {"NPROC": str(shape.threads)} if shape.threads else {}
        request = {"batch": batch, "steps": steps, "processes": shape.processes, "port": port}
        self.shape = shape
        self.workers = [Worker({**request, "process": i}, env) for i in range(shape.processes)]
        self._all("ready?")

    def _all(self, words: str) -> list[Any]:
        for worker in self.workers:
            worker.say(words)
        return [worker.hear() for worker in self.workers]

    def play(self) -> Sample:
        """All at once; the last one counts."""
        told = self._all("play")
        seconds = max(wall for wall, _ in told)
        return Sample(seconds, sum(cpu for _, cpu in told) / seconds)

    def checksum(self) -> str:
        """Of all that was played, which no shape may change."""
        return str(self._all("checksum")[0])

    def close(self) -> None:
        """End the processes."""
        for worker in self.workers:
            worker.process.stdin.close()  # type: ignore[union-attr]
        for worker in self.workers:
            worker.process.wait()


@contextmanager
def teams(batch: int, steps: int) -> Iterator[list[Team]]:
    """One of each shape, which take turns."""
    made: list[Team] = []
    try:
        for shape in SHAPES:
            made.append(Team(shape, batch, steps))
            print(f"bench: ready: {shape.name}", file=sys.stderr)
        yield made
    finally:
        for team in made:
            team.close()


def run(rounds: int = ROUNDS, batch: int = BATCH, steps: int = STEPS) -> Code:
    """Measure, count, and print both tables; the exit code."""
    with teams(batch, steps) as ready:
        samples = [[team.play() for team in ready] for _ in range(rounds)]
        checksums = {team.shape.name: team.checksum() for team in ready}
    print(f"A rollout of {batch} CrampedRooms at random, {steps} steps a pass, {rounds} rounds in turns:\n")
    print(tabulate(rows(samples, batch * steps), HEADERS, disable_numparse=True))
    print("\nWhat is in the compiled code, on simulated devices with 16 environments each:\n")
    print(tabulate([row for n in SIMULATED for row in counted(n)], COUNTED, disable_numparse=True))
    if len(set(checksums.values())) > 1:
        print(f"\nThe shapes played different games: {checksums}.")
        return Code.MISMATCH
    print("\nAll shapes played the same game, bit for bit.")
    return Code.FINE


HEADERS = ("shape", "steps/s", "speed-up", "interval", "ideal", "efficiency", "cores busy")
COUNTED = ("devices", "code", "collectives", "bytes to each device")


def rows(samples: list[list[Sample]], steps: int) -> list[tuple[str, ...]]:
    """A line for each shape; the speed-up is the median of the ratios within a round, with its quartiles."""
    cores = os.cpu_count() or 1
    lines: list[tuple[str, ...]] = []
    for number, shape in enumerate(SHAPES):
        mine = [row[number] for row in samples]
        ratios = sorted(row[0].seconds / row[number].seconds for row in samples)
        speed = statistics.median(ratios)
        ideal = min(shape.devices * shape.processes, cores)
        lines.append(
            (
                shape.name,
                engineering(steps / statistics.median(sample.seconds for sample in mine)),
                f"{speed:.2f}",
                f"{ratios[len(ratios) // 4]:.2f} … {ratios[-1 - len(ratios) // 4]:.2f}",
                str(ideal),
                f"{speed / ideal:.0%}",
                f"{statistics.median(sample.cores for sample in mine):.2f}",
            )
        )
    return lines


def counted(devices: int) -> list[tuple[str, ...]]:
    """The collectives of a rollout and of a gradient on so many devices, which one CPU pretends to be."""
    worker = Worker(
        {"count": True, "batch": 16 * devices, "steps": STEPS}, {"JAX_NUM_CPU_DEVICES": str(devices)}
    )
    told = worker.hear()
    worker.process.communicate()
    return [(str(devices), code, str(number), engineering(size, "B")) for code, number, size in told]
