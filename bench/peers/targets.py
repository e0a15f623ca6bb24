"""All targets: those that the modules of `bench.peers.libraries` declare, and those of cogrid alone."""

from __future__ import annotations

import math
import pkgutil
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from bench.peers import libraries
from bench.peers.cases import COUNTED, LOSSLESS, TWO_DEVICES, VMAPPED, cogrid, scan, single
from bench.peers.target import GIB, PeerCase, PeerTarget, alone, exponent
from bench.suites import ARENA, CRAMPED, KITCHENS, commons, options
from cogrid.benchmarks.case import Case

BATCHES = ((1, 256), (10, 256), (100, 256), (1_000, 256), (10_000, 64), (100_000, 8), (1_000_000, 2))
LAYOUTS = tuple(id.split("-")[1] for id in KITCHENS)
MIXED = Case(CRAMPED, "jax-scan", 1024, options=options(layout=LAYOUTS, **LOSSLESS))
LARGEST = Case("Overcooked-AsymmetricAdvantages-V0", "jax-scan", 1024, options=options(**LOSSLESS))
LINEAR: Mapping[str, Any] = {"enough": 1.0, "at_most": True, "figure": exponent, "unit": "", "rounds": 10}
#: The arena first: its speed divided by that of a world is the world's relative step time.
WALKING, HARVEST, CLEAN_UP = (cogrid(case) for case in commons() if case.mode == "jax-scan")
COUNT: Mapping[str, Any] = {"at_most": True, "figure": alone, "rounds": COUNTED}


def arena(agents: int, size: int, observation: str) -> PeerCase:
    overrides = options(num_agents=agents, map_size=size, observation=observation)
    return cogrid(Case(ARENA, "jax-scan", 256, 16, options=overrides))


COGRID_TARGETS = (
    PeerTarget(
        "equations of the vmapped step, features",
        "",
        (cogrid(VMAPPED, "equations", measure="equations"),),
        enough=300,
        stretch=220,
        unit="equations",
        **COUNT,
    ),
    PeerTarget(
        "one million environments, peak memory",
        "this machine",
        (cogrid(Case(CRAMPED, "jax-scan", 1_000_000, 4), "memory", measure="memory"),),
        enough=4 * GIB,
        unit="B",
        **COUNT,
    ),
    PeerTarget(
        "five million environments, peak memory",
        "this machine",
        (cogrid(Case(CRAMPED, "jax-scan", 5_000_000, 2), "memory", measure="memory"),),
        stretch=math.inf,
        unit="B",
        **COUNT,
    ),
    PeerTarget(
        "cost growth, 2 → 16 agents",
        "linear in agents × observed cells",
        tuple(arena(agents, 40, "window") for agents in (2, 4, 8, 16)),
        **LINEAR,
    ),
    PeerTarget(
        "cost growth, map 10² → 40²",
        "linear in agents × observed cells",
        tuple(arena(4, size, "lossless") for size in (10, 20, 40)),
        **LINEAR,
    ),
    PeerTarget(
        "cost growth, batch 1 → 1,000,000",
        "linear in the batch",
        tuple(cogrid(scan(batch=batch, steps=steps)) for batch, steps in BATCHES),
        **LINEAR,
    ),
    PeerTarget(
        "time of a step, CommonsHarvest",
        "an arena with as many cells, players and cells in sight",
        (WALKING, HARVEST),
        enough=3.0,
        at_most=True,
    ),
    PeerTarget(
        "time of a step, CleanUp",
        "an arena with as many cells, players and cells in sight",
        (WALKING, CLEAN_UP),
    ),
    PeerTarget(
        "JAX scan@1024, features",
        "lossless",
        (cogrid(scan()), cogrid(scan(**LOSSLESS))),
        enough=0.85,
        stretch=1.0,
    ),
    PeerTarget(
        "JAX scan@1024, window of 5 × 5",
        "lossless",
        (cogrid(scan(observation="window", window=5)), cogrid(scan(**LOSSLESS))),
        enough=0.9,
        stretch=1.2,
    ),
    PeerTarget(
        "five layouts mixed in a batch, lossless",
        "the largest of them alone",
        (cogrid(MIXED), cogrid(LARGEST)),
    ),
    PeerTarget(
        "JAX one environment, jit",
        "an empty function with the same arrays",
        (cogrid(single("jax-single")), cogrid(single("jax-single"), "empty", mode="jax-single, empty")),
        enough=0.85,
        stretch=0.9,
    ),
    PeerTarget(
        "two CPU devices, JAX scan@1024, lossless",
        "one device",
        (
            cogrid(scan(**LOSSLESS), "sharded", TWO_DEVICES, mode="jax-scan on 2 devices"),
            cogrid(scan(**LOSSLESS)),
        ),
    ),
)


def all_targets() -> tuple[PeerTarget, ...]:
    """Those with a limit, library by library, then those without."""
    names = (f"{libraries.__name__}.{module.name}" for module in pkgutil.iter_modules(libraries.__path__))
    declared = [target for name in names for target in getattr(import_module(name), "TARGETS", ())]
    return tuple(sorted((*declared, *COGRID_TARGETS), key=lambda target: not target.has_limit))


TARGETS = all_targets()
