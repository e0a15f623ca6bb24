"""The registered arena."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cogrid.author import Spec
from cogrid.envs.arena.game import Arena

SPECS: Mapping[str, Spec] = MappingProxyType(
    {"Arena-V0": Spec(Arena(), num_agents=4, observation="window", window=7, random_start=True)}
)
