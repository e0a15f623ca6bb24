"""The clock: a timed pass, with guards against measuring anything but the work."""

from __future__ import annotations

import contextlib
import gc
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

resource: Any = None if sys.platform == "win32" else import_module("resource")  # Windows has none


class Pass(NamedTuple):
    """What is timed: `run` does the work and returns its arrays; `prepare` runs before it, untimed."""

    run: Callable[[], Any]
    prepare: Callable[[], None] | None = None
    transfers: bool = False  # whether the work itself moves arrays between host and device

    def once(self) -> Any:
        """Prepare and run, untimed; returns the arrays once they are computed."""
        if self.prepare:
            self.prepare()
        return block(self.run())


def block(tree: Any) -> Any:
    """Wait for every array of a tree; returns the tree."""
    jax = sys.modules.get("jax")  # without JAX there is nothing to wait for
    return jax.block_until_ready(tree) if jax else tree


@contextlib.contextmanager
def guarded(transfers: bool = False) -> Iterator[None]:
    """No garbage collection; a hidden recompilation or copy raises instead of being measured.

    On a CPU, reading a JAX array from the host makes no copy and goes unnoticed.
    """
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        with contextlib.ExitStack() as stack:
            if jax := sys.modules.get("jax"):
                stack.enter_context(jax.no_tracing(True))
                if not transfers:
                    stack.enter_context(jax.transfer_guard("disallow_explicit"))
            yield
    finally:
        if was_enabled:
            gc.enable()


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """The seconds of one unguarded call and its result, for work that is done only once."""
    start = time.perf_counter_ns()
    result = block(function())
    return (time.perf_counter_ns() - start) / 1e9, result


def peak_memory() -> int:
    """The peak resident size of this process, in bytes; 0 where the system does not report it."""
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) * 1024
    if resource is None:
        return 0
    peak = int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return peak * (1 if sys.platform == "darwin" else 1024)
