"""The registered sites: two as drawn, and one whose rubble and victims are drawn from the key."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cogrid.author import Spec
from cogrid.envs.search_rescue.game import SearchRescue
from cogrid.envs.search_rescue.layouts import LAYOUTS

SPECS: Mapping[str, Spec] = MappingProxyType(
    {
        "SearchRescue-Office-V0": Spec(SearchRescue(), (LAYOUTS["Office"],), max_steps=300, window=7),
        "SearchRescue-Tunnel-V0": Spec(
            SearchRescue(), (LAYOUTS["Tunnel"],), num_agents=3, max_steps=300, window=7
        ),
        "SearchRescue-Ruins-V0": Spec(
            SearchRescue(victims=(3, 2, 2)), (LAYOUTS["Ruins"],), num_agents=3, max_steps=300, window=7
        ),
    }
)
