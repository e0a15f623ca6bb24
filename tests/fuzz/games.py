"""The games that the fuzzers play: one of every family, and all that states can have."""

from __future__ import annotations

from typing import Any, NamedTuple

import cogrid
from tests.support import BACKENDS

ROOM, RING, ARENA = "Overcooked-CrampedRoom-V0", "Overcooked-CoordinationRing-V0", "Arena-V0"


class Played(NamedTuple):
    """An environment of some backends, which must agree."""

    id: str
    options: dict[str, Any]
    backends: tuple[str, ...] = BACKENDS

    def made(self) -> list[cogrid.CoGridEnv]:
        """On each of its backends."""
        return [cogrid.make(self.id, backend=name, **self.options) for name in self.backends]


#: Shaping, several layouts, random starts, walls that are drawn.
CLASSIC = (
    Played(ROOM, {"max_steps": 12}),
    Played(RING, {"shaping": 0.5, "random_start": True, "observation": "lossless", "max_steps": 30}),
    Played(ARENA, {"map_size": 6, "num_agents": 3, "max_steps": 20}),
)
#: Slots, ends by condition, agents that leave, placed things, boards as data, actions of their own.
FAMILIES = (
    Played("Foraging-8x8-2p-2f-coop-V0", {"max_steps": 12}),
    Played("SearchRescue-Tunnel-V0", {"max_steps": 20, "observation": "window"}),
    Played("CommonsHarvest-Closed-V0", {"max_steps": 20, "num_agents": 3}),
    Played("CleanUp-V0", {"max_steps": 20, "num_agents": 2}),
    Played("Goals-V0", {"max_steps": 20}),
    Played("OvercookedV2-GroundedCoordSimple-V0", {"max_steps": 20}),
    Played("Overcooked-Generated-V0", {"max_steps": 12}),
    Played("Overcooked-CrampedMixedKitchen-V0", {"max_steps": 30, "shaping": 1.0}),
)
EVERY = (*CLASSIC, *FAMILIES)
#: For short runs, in which JAX would do nothing but compile: the families by NumPy alone.
SHORT = (*CLASSIC, *(game._replace(backends=BACKENDS[:1]) for game in FAMILIES))
