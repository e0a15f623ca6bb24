"""A pytest plugin: drops compiled programs when a worker grows large, and reports each worker's peak."""

from __future__ import annotations

import ctypes
import gc
import sys
from typing import Any

import psutil
import pytest

from cogrid.benchmarks.clock import peak_memory
from tests.support import HAS_JAX

if HAS_JAX:
    import jax

#: A worker that holds more than this after a test drops what JAX has compiled: with the compilation cache
#: of `nox -s tests` a program that is needed again is read back, not compiled.
LARGE = 700 * 2**20
#: What an ordinary CI machine has for each worker.
MOST = 1500 * 2**20
#: What cannot be dropped is no reason to try again after every test.
GROWTH = 200 * 2**20


class Memory:
    """Watches one process; the controller also collects the peaks of its workers."""

    def __init__(self) -> None:
        self._limit = LARGE
        self._peaks: dict[str, int] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self) -> None:
        if HAS_JAX and _resident() > self._limit:
            jax.clear_caches()
            gc.collect()
            _trim()
            self._limit = max(LARGE, _resident() + GROWTH)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["peak_memory"] = peak_memory()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        if peak := getattr(node, "workeroutput", {}).get("peak_memory"):
            self._peaks[node.gateway.id] = peak

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        peaks = self._peaks or {"this process": peak_memory()}
        sizes = ", ".join(f"{name} {peak / 2**20:,.0f} MB" for name, peak in sorted(peaks.items()))
        above = f", above the limit of {MOST / 2**20:,.0f} MB" if max(peaks.values()) > MOST else ""
        terminalreporter.write_line(f"peak memory: {sizes}{above}")


def _resident() -> int:
    return int(psutil.Process().memory_info().rss)


def _trim() -> None:
    """Give freed memory back to the system, which glibc does not by itself."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
