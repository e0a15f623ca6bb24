"""How a case is sampled, and what a measure returns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from bench.measure import clock
from cogrid.benchmarks.clock import Pass


class Plan(NamedTuple):
    """The number and length of samples, and the warm-up; an iteration is a step of one environment."""

    samples: int = 10
    seconds: float = clock.SAMPLE_SECONDS
    warmup: float = clock.WARMUP_SECONDS
    iterations: int = 0
    warmup_iterations: int = 0

    def take(self, work: Pass, steps: int) -> clock.Samples:
        """Samples of a pass of `steps` steps, each as long as required in seconds and in steps."""
        length = clock.Length(self.seconds, math.ceil(self.iterations / steps))
        warmup = clock.Length(self.warmup, math.ceil(self.warmup_iterations / steps))
        return clock.take(work, self.samples, length, warmup)


class Measured(NamedTuple):
    """The samples and everything recorded with them."""

    unit: str
    samples: list[float]
    counters: Mapping[str, int] = {}
    memory: Mapping[str, int | None] = {}
    noise: Mapping[str, float] = {}
    checksum: str | None = None
    parts: Mapping[str, float] = {}  # seconds, medians
    part_means: Mapping[str, float] = {}
    verbs: Mapping[str, int] = {}  # how often each happened in the steps that were compared with NumPy
