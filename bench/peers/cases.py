"""Cases that several targets share, and cogrid beside a peer."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from bench.peers.libraries.this_cogrid import COGRID
from bench.peers.target import Peer, PeerCase
from bench.suites import CRAMPED, options
from cogrid.benchmarks.case import Case

LOSSLESS: Mapping[str, Any] = MappingProxyType({"observation": "lossless"})
VMAPPED = Case(CRAMPED, "jax-vmap", 1024, 256, "cooperative")
COUNTED = 5  # rounds for what is the same each time; fewer are called too few


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
