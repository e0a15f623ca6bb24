"""Busy neighbours run as long as the block, where they are told to."""

from __future__ import annotations

import os
import subprocess

import pytest

from bench.experiments.neighbours import neighbours


def test_they_run_until_the_end_of_the_block(started: list[subprocess.Popen[bytes]]) -> None:
    with neighbours(0.5):
        assert [one.poll() for one in started] == [None]
    assert all(one.poll() is not None for one in started)
    with neighbours(0.0):
        assert len(started) == 1


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="only Linux pins a process to a core")
def test_one_for_each_core(started: list[subprocess.Popen[bytes]]) -> None:
    cores = sorted(os.sched_getaffinity(0))
    with neighbours(0.5, cores):
        assert [int(str(one.args[-1])) for one in started] == cores
