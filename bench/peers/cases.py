"""Cases that several targets share, the tapes played in them, and the end of a tape."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from bench.peers.target import COGRID, Peer, PeerCase
from bench.suites import CRAMPED, SHORT, options
from cogrid.backend.array import Array
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.workloads import spread, tape

LOSSLESS: Mapping[str, Any] = MappingProxyType({"observation": "lossless"})
TWO_DEVICES: Mapping[str, str] = MappingProxyType({"JAX_NUM_CPU_DEVICES": "2"})  # of a process
VMAPPED = Case(CRAMPED, "jax-vmap", 1024, 256, "cooperative")
FORAGING = Case("Foraging-8x8-2p-3f-V0", "jax-scan", 1024, SHORT)
COUNTED = 5  # rounds for deterministic numbers; fewer would count as too few


def scan(id: str = CRAMPED, batch: int = 1024, steps: int = 256, **overrides: Any) -> Case:
    """A scan over the tape on which cooks deliver."""
    return Case(id, "jax-scan", batch, steps, "cooperative", options=options(**overrides))


def single(mode: str, steps: int = 256, **overrides: Any) -> Case:
    return Case(CRAMPED, mode, 1, steps, "cooperative", options=options(**overrides))


def cogrid(case: Case, way: str = "play", env: Mapping[str, str] | None = None, **facts: Any) -> PeerCase:
    return PeerCase(COGRID, way, case, env or {}, facts)


def beside(
    peer: Peer, way: str, case: Case, cogrid_way: str = "play", **facts: Any
) -> tuple[PeerCase, PeerCase]:
    return cogrid(case, cogrid_way, **facts), PeerCase(peer, way, case, facts=facts)


N_ACTIONS = 7
COUNTER_PLANE = 11  # JaxMARL's counter vanishes under what lies on it; the other planes are compared


def lanes(case: Case) -> Array:
    """(steps, lanes, agents) the tape of a case."""
    return tape(case.spec, case.workload, case.steps, case.lanes, case.seed)


def actions(case: Case) -> Array:
    """(steps, batch, agents) the tape, spread over the batch."""
    return spread(lanes(case), case.batch, axis=1)


def own_tapes(case: Case) -> Array:
    """(steps, batch, agents) random actions, different ones for every environment.

    A processor's branch predictor learns a tape that many environments repeat: C would then be three times as
    fast as in real use.
    """
    shape = (case.steps, case.batch, case.spec.num_agents)
    return np.random.default_rng(case.seed).integers(N_ACTIONS, size=shape, dtype=np.int8)


def draws(case: Case) -> tuple[int, tuple[int, int], int]:
    """Steps, the shape of their joint actions, and the seed, for a loop that draws them."""
    return case.steps, (case.batch, case.spec.num_agents), case.seed


def end_of(positions: Any, facings: Any, rewards: Any, planes: Any = None) -> dict[str, Any]:
    """The end of each lane: cells and facings of the agents, the team's reward, weighted sums of planes."""
    end = {
        "positions": np.asarray(positions).tolist(),  # (lanes, agents)
        "facings": np.asarray(facings).tolist(),
        "rewards": np.asarray(rewards, float).tolist(),  # (lanes,)
    }
    if planes is not None:  # (lanes, agents, height, width, 26)
        seen = np.array(planes, np.int64)
        seen[..., COUNTER_PLANE] = 0
        flat = seen.reshape(len(seen), -1)
        end["planes"] = (flat * np.arange(1, flat.shape[1] + 1)).sum(axis=1).tolist()
    return end
