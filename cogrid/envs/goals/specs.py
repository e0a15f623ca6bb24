"""The registered goals."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cogrid.author import Spec
from cogrid.envs.goals.game import Goals

SPECS: Mapping[str, Spec] = MappingProxyType(
    {"Goals-V0": Spec(Goals(), max_steps=100, action_set="moves", window=7, random_start=True)}
)
