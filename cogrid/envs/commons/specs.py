"""The registered commons."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cogrid.author import Game, Spec
from cogrid.envs.commons.game import CleanUp, Harvest


def _spec(game: Game, layout: str) -> Spec:
    """Seven players, a thousand steps, a window that turns."""
    return Spec(
        game,
        (game.layouts[layout],),
        num_agents=7,
        max_steps=1000,
        action_set="moves",
        observation="window",
        window=11,
    )


SPECS: Mapping[str, Spec] = MappingProxyType(
    {
        "CommonsHarvest-Open-V0": _spec(Harvest(), "Open"),
        "CommonsHarvest-Closed-V0": _spec(Harvest(), "Closed"),
        "CleanUp-V0": _spec(CleanUp(), "CleanUp"),
    }
)
