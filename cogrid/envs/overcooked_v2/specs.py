"""The registered kitchens of OvercookedV2."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cogrid.author import Spec
from cogrid.envs.overcooked_v2.game import KitchenV2
from cogrid.envs.overcooked_v2.layouts import PLANS, Room


def _spec(plan: Room) -> Spec:
    game = KitchenV2(ingredients=plan.ingredients, recipes=plan.recipes)  # type: ignore[arg-type]
    return Spec(game, (plan.layout,), num_agents=len(plan.layout.starts))


SPECS: Mapping[str, Spec] = MappingProxyType(
    {f"OvercookedV2-{name}-V0": _spec(plan) for name, plan in PLANS.items()}
)
