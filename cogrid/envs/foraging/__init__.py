"""Level-based foraging: agents cooperate to load food that none of them could load alone."""

from cogrid.envs.family import Family
from cogrid.envs.foraging.game import Foraging
from cogrid.envs.foraging.policies import ScriptedForagers
from cogrid.envs.foraging.specs import SPECS, named

__all__ = ("FAMILY",)

FAMILY = Family(Foraging, SPECS, ScriptedForagers, named)
