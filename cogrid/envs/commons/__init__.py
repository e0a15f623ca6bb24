"""Commons: social dilemmas around apples that grow back only if players look after them."""

from cogrid.envs.commons.figures import figures
from cogrid.envs.commons.game import Commons
from cogrid.envs.commons.policies import ScriptedPlayers
from cogrid.envs.commons.specs import SPECS
from cogrid.envs.family import Family

__all__ = ("FAMILY", "figures")

FAMILY = Family(Commons, SPECS, ScriptedPlayers)
