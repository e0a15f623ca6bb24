"""Slowdown: a pass that is really slower by a chosen factor, to see whether an A/B finds it."""

from __future__ import annotations

import time
from typing import Any

from cogrid.benchmarks.clock import Pass, block


def slowed(work: Pass, factor: float) -> Pass:
    """The same work, after which the processor is kept busy until it took `factor` times as long."""
    if factor == 1.0:
        return work

    def run() -> Any:
        start = time.perf_counter()
        result = block(work.run())
        end = start + (time.perf_counter() - start) * factor
        while time.perf_counter() < end:
            pass
        return result

    return work._replace(run=run)
