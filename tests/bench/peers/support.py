"""Peers that answer as planted."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from bench.peers.start import Process, Resources
from bench.peers.target import COGRID, Peer, PeerCase, PeerTarget
from bench.processes.worker import WorkerFailed
from cogrid.benchmarks.case import Case

ROOM = "Overcooked-CrampedRoom-V0"
BATCH = Case(ROOM, "numpy-batch", 16, 300, "cooperative", options=(("observation", "lossless"),))
PROGRAM = """
import os, signal, sys
from bench.processes.protocol import serve

values = iter({values!r})

def handle(job):
    if job is not None:
        return {ready!r}
    for value in values:
        return {{"value": value, "steal": 0.5, "disturbed": 0}}
    {last}

serve(handle)
"""


def peer(
    name: str = "peer", values: Sequence[float] = (5, 6, 10), last: str = "raise StopIteration", **ready: Any
) -> Peer:
    """Answers with these values and ends with `last`."""
    facts = {"library": name, "unit": "steps/s", "end": {}} | ready
    program = PROGRAM.format(ready=facts, values=list(values), last=last)
    return Peer(name, lambda way, case, resources: Process((sys.executable, "-c", program), {}))


def absent(name: str = "peer", reason: str = "it is not installed.") -> Peer:
    """Cannot be started."""

    def launch(way: str, case: Case, resources: Resources) -> Process:
        raise WorkerFailed(reason)

    return Peer(name, launch)


def target(first: Peer, second: Peer, case: Case = BATCH, **fields: Any) -> PeerTarget:
    """The first beside the second."""
    cases = PeerCase(first, "play", BATCH), PeerCase(second, "play", case)
    return PeerTarget("fast", "a peer", cases, **{"enough": 4.0, "stretch": 5.0} | fields)


def cogrid(values: Sequence[float] = (10, 24, 50), **planted: Any) -> Peer:
    """In the place of the real one."""
    return peer(COGRID.name, values, **planted)
