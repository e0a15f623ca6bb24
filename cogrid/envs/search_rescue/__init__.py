"""Search and rescue: agents with different tools clear rubble, unlock doors and save victims."""

from cogrid.envs.family import Family
from cogrid.envs.search_rescue.game import SearchRescue
from cogrid.envs.search_rescue.policies import ScriptedRescuers
from cogrid.envs.search_rescue.specs import SPECS

__all__ = ("FAMILY",)

FAMILY = Family(SearchRescue, SPECS, ScriptedRescuers)
