"""cogrid 0.3.2 from PyPI, the implementation before this one: other rules, but the same import name."""

from __future__ import annotations

import dataclasses
import os
import shutil
from pathlib import Path

from bench import ROOT
from bench.peers.cases import VMAPPED, beside, lanes, scan, single
from bench.peers.start import Process, Resources, tape_file
from bench.peers.target import Peer, PeerCase, PeerTarget
from bench.processes.worker import WorkerFailed
from cogrid.benchmarks.case import Case

OTHER_RULES = "other rules, so trajectories are not compared"
PROGRAM = (
    f"import sys; sys.path.append({str(ROOT)!r}); "
    "from bench.peers.libraries.cogrid_0_3_worker import main; main()"
)


def process(way: str, case: Case, resources: Resources) -> Process:
    """Another Python, told to ignore PYTHONPATH; our checkout comes last: the cogrid installed there wins."""
    if resources.older_python is None:
        raise WorkerFailed(
            "no Python that has cogrid 0.3.2 was named: --older PYTHON, or nox -s bench-peers."
        )
    python = os.path.abspath(shutil.which(resources.older_python) or resources.older_python)
    tape = tape_file(resources.folder, lanes(case))
    job = {"way": way, "case": case.parameters(), "tape": str(tape), "lanes": case.lanes}
    return Process((python, "-E", "-c", PROGRAM), job, resources.folder)


COGRID_0_3 = Peer("cogrid 0.3.2", process, (Path(__file__), Path(__file__).with_name("cogrid_0_3_worker.py")))


def _shorter(cases: tuple[PeerCase, PeerCase], steps: int) -> tuple[PeerCase, PeerCase]:
    """The slower peer plays only the start of the tape."""
    first, second = cases
    return first, dataclasses.replace(second, case=dataclasses.replace(second.case, steps=steps))


TARGETS = (
    PeerTarget(
        "JAX vmap@1024, default observation, Python loop",
        "cogrid 0.3.2",
        _shorter(beside(COGRID_0_3, "vmap", VMAPPED), 64),
        enough=18.0,
        stretch=20.0,
        note=OTHER_RULES,
    ),
    PeerTarget(
        "JAX one environment, jit",
        "cogrid 0.3.2",
        beside(COGRID_0_3, "jax", single("jax-single")),
        enough=10.0,
        stretch=15.0,
        note=OTHER_RULES,
    ),
    PeerTarget(
        "NumPy one environment through env.step, default observation",
        "cogrid 0.3.2 NumPy",
        _shorter(beside(COGRID_0_3, "numpy", single("numpy-single")), 64),
        enough=35.0,
        stretch=50.0,
        note=OTHER_RULES,
    ),
    PeerTarget(
        "1,000 pictures of CrampedRoom in tiles of 32 pixels, their drawing included",
        "cogrid 0.3.2",
        beside(
            COGRID_0_3, "frames", single("numpy-single", 1000, max_steps=1000), "frames", measure="frames"
        ),
        enough=10.0,
        rounds=6,
        note=OTHER_RULES,
    ),
    PeerTarget(
        "trace + compile of the vmapped step, default observation",
        "cogrid 0.3.2",
        beside(COGRID_0_3, "compile", scan(steps=1), "compile", measure="compile", mode="jax-vmap"),
        at_most=True,
        rounds=6,
    ),
)
