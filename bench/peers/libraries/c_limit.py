"""limit.c: CrampedRoom in plain C on one or two cores, as a bound on what any implementation can reach."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from bench import ROOT
from bench.peers.cases import LOSSLESS, TWO_DEVICES, beside, cogrid, own_tapes
from bench.peers.start import Process, Resources, tape_file
from bench.peers.target import Peer, PeerCase, PeerTarget
from bench.processes.worker import WorkerFailed
from bench.suites import CRAMPED, options
from cogrid.benchmarks.case import Case

SOURCE = ROOT / "bench" / "peers" / "limit.c"
FLAGS = ("-O3", "-march=native", "-pthread")


def process(way: str, case: Case, resources: Resources) -> Process:
    """The program with random actions for every environment; the way is step or observe, and its threads."""
    tape = tape_file(resources.folder, own_tapes(case))
    command = (program(resources.folder), tape, case.steps, case.batch, *way.split())
    return Process([str(argument) for argument in command], {}, resources.folder)


def program(folder: Path) -> Path:
    made = folder / "limit"
    if made.exists():
        return made
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        raise WorkerFailed("there is no C compiler: install one as cc, or name it in CC.")
    command = [compiler, *FLAGS, "-o", str(made), str(SOURCE)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise WorkerFailed(f"{compiler} fails: {(run.stderr.strip().splitlines() or ['no reason given'])[0]}")
    return made


C = Peer("C", process, (Path(__file__), SOURCE))


OWN_TAPES = {"workload": "random, own tapes"}
PLANES = Case(CRAMPED, "jax-scan", 1024, options=options(**LOSSLESS))


def _beside(way: str, **overrides: Any) -> tuple[PeerCase, PeerCase]:
    case = Case(CRAMPED, "jax-scan", 1024, options=options(**overrides))
    return beside(C, way, case, "own tapes", **OWN_TAPES)


TARGETS = (
    PeerTarget(
        "JAX scan@1024, no observation",
        "C, one core",
        _beside("step", observation="none"),
        enough=0.8,
        stretch=1.0,
    ),
    PeerTarget(
        "JAX scan@1024, lossless",
        "C, one core, with observation",
        _beside("observe", observation="lossless"),
        stretch=0.5,
    ),
    PeerTarget(
        "two CPU devices, JAX scan@1024, lossless",
        "C, two cores, with observation",
        (
            cogrid(PLANES, "own tapes sharded", TWO_DEVICES, mode="jax-scan on 2 devices", **OWN_TAPES),
            PeerCase(C, "observe 2", PLANES, facts=OWN_TAPES, label=", 2 threads"),
        ),
        enough=0.6,
        stretch=0.8,
    ),
)
