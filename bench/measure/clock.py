"""Timed samples, with a record of what disturbed the machine; disturbed samples are repeated."""

from __future__ import annotations

import contextlib
import math
import os
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from cogrid.benchmarks.clock import Pass as Pass
from cogrid.benchmarks.clock import block, guarded
from cogrid.benchmarks.clock import timed as timed

SAMPLE_SECONDS = 0.05  # a shorter sample measures the scheduler
WARMUP_SECONDS = 0.2
TURN_SECONDS = 0.003
WARM_TURNS = 20
LOOKS = 20  # clock readings per sample: few enough to cost nothing, enough to end it in time
# Above these limits, a sample says more about other processes than about us. Their use is counted in ticks of
# 10 ms, so 50 ms resolve it to about a fifth of a core; it matters when hardly a core is left free.
STEAL_LIMIT = 0.02
OTHERS_LIMIT = FREE_LIMIT = 0.5


class Length(NamedTuple):
    """How long to continue: until both limits are reached."""

    seconds: float
    calls: int = 1


LENGTH, WARMUP = Length(SAMPLE_SECONDS), Length(WARMUP_SECONDS)


class Sample(NamedTuple):
    """Seconds per call, and what disturbed it."""

    seconds: float
    steal: float  # share of the cores' time taken by the hypervisor
    others: float  # cores that other processes used
    free: float  # cores that nobody used
    pressure: float  # share of the time in which any thread, including ours, waited for a core
    load: float  # runnable tasks, one-minute average

    @property
    def disturbed(self) -> bool:
        """Whether any limit is exceeded."""
        crowded = self.others > OTHERS_LIMIT and self.free < FREE_LIMIT
        return self.steal > STEAL_LIMIT or crowded


class Samples(NamedTuple):
    """The kept samples, and how many were dropped."""

    kept: list[Sample]
    dropped: int

    @property
    def seconds(self) -> list[float]:
        """Seconds per call of every kept sample."""
        return [sample.seconds for sample in self.kept]

    @property
    def median(self) -> float:
        """The median seconds per call."""
        return statistics.median(self.seconds)

    def noise(self) -> dict[str, float]:
        """The record of disturbances: mean shares, and the numbers of dropped and disturbed samples."""
        mean = {name: statistics.fmean(getattr(s, name) for s in self.kept) for name in Sample._fields[1:]}
        disturbed = sum(sample.disturbed for sample in self.kept)
        return {**mean, "dropped": self.dropped, "disturbed": disturbed}


def noted(function: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """A result, and the noise while it was computed, for work that is not sampled by `take`."""
    before = _Machine.now()
    result = function()
    sample = Sample(0.0, *_Machine.now().since(before), load())
    return result, Samples([sample], 0).noise()


def take(work: Pass, count: int, length: Length = LENGTH, warmup: Length = WARMUP) -> Samples:
    """`count` samples after a warm-up; a disturbed one is repeated, up to `count` times in all."""
    with guarded(work.transfers):
        calls = _warm_up(work, warmup, length)
        kept: list[Sample] = []
        dropped = 0
        while len(kept) < count:
            sample = _sample(work, calls, length)
            if sample.disturbed and dropped < count:
                dropped += 1
            else:
                kept.append(sample)
    return Samples(kept, dropped)


@contextlib.contextmanager
def in_turns(work: Pass) -> Iterator[Callable[[], float]]:
    """A function that returns seconds per pass, for taking turns with another process.

    A turn is short: disturbances of the machine last longer, and so affect both. It starts with an untimed
    pass, because the other process has used the caches in between.
    """
    with guarded(work.transfers):
        calls = math.ceil(TURN_SECONDS / min(_seconds(work, 1) for _ in range(WARM_TURNS)))
        # A preparation goes before every call.
        turns, calls = (calls, 1) if work.prepare else (1, calls)

        def turn() -> float:
            _seconds(work, 1)
            return sum(_seconds(work, calls) for _ in range(turns)) / (calls * turns)

        yield turn


def each_call(work: Pass, count: int, warmup: Length = WARMUP) -> list[float]:
    """The seconds of each of `count` calls, for percentiles."""
    with guarded(work.transfers):
        _warm_up(work, warmup, LENGTH)
        return [_seconds(work, 1) for _ in range(count)]


def _warm_up(work: Pass, warmup: Length, length: Length) -> int:
    """Run for a while; returns the number of calls between two clock readings."""
    fastest, count, end = float("inf"), 0, time.perf_counter() + warmup.seconds
    while count < max(1, warmup.calls) or time.perf_counter() < end:
        fastest = min(fastest, _seconds(work, 1))
        count += 1
    # A preparation goes before every call.
    return 1 if work.prepare else max(1, int(length.seconds / LOOKS / fastest))


def _sample(work: Pass, calls: int, length: Length) -> Sample:
    before, total, count = _Machine.now(), 0.0, 0
    while total < length.seconds or count < max(1, length.calls):
        total += _seconds(work, calls)
        count += calls
    return Sample(total / count, *_Machine.now().since(before), load())


def _seconds(work: Pass, calls: int) -> float:
    if work.prepare:
        work.prepare()
    run = work.run
    start = time.perf_counter_ns()
    for _ in range(calls):
        block(run())
    return (time.perf_counter_ns() - start) / 1e9


class _Machine(NamedTuple):
    """Counters of the whole machine and of this process, in seconds; zeros if the system has none."""

    clock: float
    own: float  # of all our threads
    busy: float  # of all processes
    steal: float
    waiting: float  # time in which any thread waited for a core

    @classmethod
    def now(cls) -> _Machine:
        return cls(time.perf_counter(), time.process_time(), *_cores(), _waited())

    def since(self, before: _Machine) -> tuple[float, float, float, float]:
        """Steal, others, free and pressure of a sample."""
        wall, own, busy, steal, waiting = (now - then for now, then in zip(self, before, strict=True))
        cores = os.cpu_count() or 1
        others, free = max(0.0, busy - own) / wall, max(0.0, cores - (busy + steal) / wall)
        return steal / (wall * cores), others, free, waiting / wall


def _cores() -> tuple[float, float]:
    """Busy and stolen seconds, summed over the cores."""
    try:
        first = Path("/proc/stat").read_text().splitlines()[0].split()
        user, nice, system, _, _, irq, softirq, steal = map(int, first[1:9])
    except (OSError, IndexError, ValueError):
        return 0.0, 0.0
    ticks = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + softirq) / ticks, steal / ticks


def _waited() -> float:
    try:
        some = Path("/proc/pressure/cpu").read_text().splitlines()[0]
        return int(some.rpartition("=")[2]) / 1e6
    except (OSError, IndexError, ValueError):
        return 0.0


def load() -> float:
    """Runnable tasks, one-minute average."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):  # Windows has none
        return 0.0
