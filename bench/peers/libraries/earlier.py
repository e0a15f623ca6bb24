"""cogrid at an earlier revision of this repository: the speed-up of one NumPy environment since then."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from bench import ROOT
from bench.peers.cases import cogrid, lanes
from bench.peers.start import Process, Resources, tape_file
from bench.peers.target import Peer, PeerCase, PeerTarget
from bench.processes.worker import WorkerFailed
from bench.storage.machine import git
from bench.suites import ARENA, TOY, options
from cogrid.benchmarks.case import Case

REVISION = "0ae92cc41f15bde7e2ff0bbac9c31f2d684779c3"  # before one NumPy environment was worked on
NAME = f"cogrid {REVISION[:7]}"
PROGRAM = (
    f"import sys; sys.path.insert(1, {str(ROOT)!r}); "
    "from bench.peers.libraries.earlier_worker import main; main()"
)


def process(way: str, case: Case, resources: Resources) -> Process:
    """This Python in a folder that has the earlier package; our checkout comes second on its path."""
    tape = tape_file(resources.folder, lanes(case))
    job = {"library": NAME, "case": case.parameters(), "tape": str(tape)}
    return Process((sys.executable, "-c", PROGRAM), job, _tree(resources.folder))


def _tree(folder: Path) -> Path:
    tree, archive = folder / "earlier", folder / "earlier.zip"
    if not tree.exists():
        try:
            git("archive", "-o", str(archive), REVISION, "cogrid")
        except (subprocess.CalledProcessError, OSError):
            reason = f"this clone has no revision {REVISION[:7]}: `git fetch --unshallow` gets it."
            raise WorkerFailed(reason) from None
        with zipfile.ZipFile(archive) as packed:  # safe tar extraction needs Python 3.11.4
            packed.extractall(tree)
    return tree


EARLIER = Peer(NAME, process, (Path(__file__), Path(__file__).with_name("earlier_worker.py")))
ONE_TOY = Case(ARENA, "numpy-single", steps=64, options=options(**TOY))

TARGETS = (
    PeerTarget(
        "toy arena (20 agents, 40 × 40, window of 7), NumPy one environment",
        f"cogrid at revision {REVISION[:7]}",
        (cogrid(ONE_TOY), PeerCase(EARLIER, "play", ONE_TOY)),
        enough=3.0,
        stretch=5.0,
    ),
)
