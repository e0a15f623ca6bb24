"""Strict JAX for every test, without implicit promotion; several devices; bounded memory; working Ctrl-C."""

from __future__ import annotations

import os
import signal

import pytest

from tests.memory import Memory
from tests.support import HAS_JAX

# A shell that runs the tests in the background makes them, and the commands they start, ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Measuring and fuzzing end processes, limit their memory and pin them to cores by means that Windows lacks.
collect_ignore = ["bench", "fuzz", "test_interrupt.py"] if os.name == "nt" else []

if HAS_JAX:
    import jax

    jax.config.update("jax_numpy_dtype_promotion", "strict")
    jax.config.update("jax_numpy_rank_promotion", "raise")
    jax.config.update("jax_num_cpu_devices", 4)  # so that rollouts are spread, unevenly, by default


def pytest_sessionstart() -> None:
    """Commands print as into a plain pipe, whatever colours and widths this shell asks for."""
    for name in ("FORCE_COLOR", "NO_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE"):
        os.environ.pop(name, None)
    os.environ["COLUMNS"] = "80"


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Memory())
