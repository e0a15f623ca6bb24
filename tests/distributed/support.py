"""Processes that play together, and the same games in this process on one device."""

from __future__ import annotations

import functools
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.distributed import games
from tests.episodes import ROOT


class Ended(NamedTuple):
    code: int
    output: str


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return int(probe.getsockname()[1])


def processes(task: str, folder: Path) -> list[Ended]:
    """Run two processes, with two CPU devices each, to their ends."""
    search = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    env = {**os.environ, "PYTHONPATH": search, "JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "2"}
    port = str(free_port())
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.distributed.worker", task, str(folder), port, "2", str(number)],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
        )
        for number in (0, 1)
    ]
    try:
        outputs = [process.communicate(timeout=600)[0] for process in started]
    finally:
        for process in started:
            process.kill()
    return [Ended(process.returncode, output) for process, output in zip(started, outputs, strict=True)]


@functools.cache
def alone(game: str) -> dict[str, Any]:
    """The game by one process on one device."""
    return games.play(game, devices=1)


def assert_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Bit for bit."""
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name].dtype == value.dtype
        np.testing.assert_array_equal(found[name], value, err_msg=name)
