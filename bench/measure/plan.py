"""How a case is sampled, and what a measure returns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from bench.measure import clock
from cogrid.benchmarks.clock import Pass


class Plan(NamedTuple):
    """How many samples of which length, after which warm-up; an iteration is a step of one environment."""

    samples: int = 10
    seconds: float = clock.SAMPLE_SECONDS
    warmup: float = clock.WARMUP_SECONDS
    iterations: int = 0
    warmup_iterations: int = 0

    def take(self, work: Pass, steps: int) -> clock.Samples:
        """Samples of a pass that makes so many steps, each as long as asked for in seconds and in steps."""
        length = clock.Length(self.seconds, math.ceil(self.iterations / steps))
        warmup = clock.Length(self.warmup, math.ceil(self.warmup_iterations / steps))
        return clock.take(work, self.samples, length, warmup)


class Measured(NamedTuple):
    """The samples and all that stands beside them."""

    unit: str
    samples: list[float]
    counters: Mapping[str, int] = {}
    memory: Mapping[str, int | None] = {}
    noise: Mapping[str, float] = {}
    checksum: str | None = None
    parts: Mapping[str, float] = {}  # seconds, medians
    part_means: Mapping[str, float] = {}
    verbs: Mapping[str, int] = {}  # how often each happened in the steps that were compared with NumPy
