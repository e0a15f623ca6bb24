"""The registered fields: those that papers report on, under the names of `lbforaging`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cogrid.core.spec import Spec
from cogrid.envs.foraging.game import Foraging


def foraging(size: int, players: int, foods: int, sight: int | None = None, coop: bool = False) -> Spec:
    """A field as `lbforaging` registers it; a window shows what a forager sees."""
    game = Foraging(field_size=size, max_num_food=foods, sight=sight, force_coop=coop)
    return Spec(
        game,
        num_agents=players,
        max_steps=50,
        action_set="moves",
        window=2 * (sight or size) + 1,
        random_start=True,
    )


SPECS: Mapping[str, Spec] = MappingProxyType(
    {
        "Foraging-8x8-2p-3f-V0": foraging(8, 2, 3),
        "Foraging-8x8-2p-2f-coop-V0": foraging(8, 2, 2, coop=True),
        "Foraging-2s-8x8-2p-2f-coop-V0": foraging(8, 2, 2, sight=2, coop=True),
        "Foraging-10x10-3p-3f-V0": foraging(10, 3, 3),
        "Foraging-2s-10x10-3p-3f-V0": foraging(10, 3, 3, sight=2),
        "Foraging-15x15-3p-5f-V0": foraging(15, 3, 5),
        "Foraging-15x15-4p-3f-V0": foraging(15, 4, 3),
        "Foraging-15x15-4p-5f-V0": foraging(15, 4, 5),
    }
)
