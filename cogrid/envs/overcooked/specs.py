"""The registered kitchens."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cogrid.core.spec import Spec
from cogrid.envs.overcooked.game import Kitchen
from cogrid.envs.overcooked.layouts import LAYOUTS

SPECS: Mapping[str, Spec] = MappingProxyType(
    {f"Overcooked-{name}-V0": Spec(Kitchen(), (layout,)) for name, layout in LAYOUTS.items()}
)
