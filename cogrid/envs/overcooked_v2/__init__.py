"""OvercookedV2: random recipes that cooks must look up or ask for."""

from cogrid.envs.family import Family
from cogrid.envs.overcooked.policies import ScriptedCooks
from cogrid.envs.overcooked_v2.game import KitchenV2
from cogrid.envs.overcooked_v2.specs import SPECS

__all__ = ("FAMILY",)

FAMILY = Family(KitchenV2, SPECS, ScriptedCooks)
