"""Fields by the ids of `lbforaging`: those used in papers are registered, all others are made by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from cogrid.author import Spec
from cogrid.envs.foraging.game import Foraging

_NUMBER = "([1-9][0-9]{0,2})"
_ID = re.compile(
    f"Foraging(-grid)?(?:-{_NUMBER}s)?-{_NUMBER}x{_NUMBER}-{_NUMBER}p-{_NUMBER}f(-coop)?-V0", re.ASCII
)


def named(id: str) -> Spec | None:
    """The field that `lbforaging` has under this id; None if it has no such id.

    The numbers are sight, rows, columns, players and foods; `-grid` observes the window, which covers the
    forager's sight.
    """
    if (found := _ID.fullmatch(id)) is None or found[3] != found[4]:
        return None
    size, sight = int(found[3]), int(found[2]) if found[2] else None
    game = Foraging(field_size=size, max_num_food=int(found[6]), sight=sight, force_coop=found[7] is not None)
    return Spec(
        game,
        num_agents=int(found[5]),
        max_steps=50,
        action_set="moves",
        observation="window" if found[1] else "features",
        window=2 * (sight or size) + 1,
        random_start=True,
    )


_LISTED = (
    "Foraging-8x8-2p-3f-V0",
    "Foraging-8x8-2p-2f-coop-V0",
    "Foraging-2s-8x8-2p-2f-coop-V0",
    "Foraging-10x10-3p-3f-V0",
    "Foraging-2s-10x10-3p-3f-V0",
    "Foraging-15x15-3p-5f-V0",
    "Foraging-15x15-4p-3f-V0",
    "Foraging-15x15-4p-5f-V0",
)

SPECS: Mapping[str, Spec] = MappingProxyType({id: spec for id in _LISTED if (spec := named(id)) is not None})
