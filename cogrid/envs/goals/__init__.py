"""Goals: agents walk to goals of their own colour and to shared ones; the smallest family."""

from cogrid.envs.family import Family
from cogrid.envs.goals.game import Goals
from cogrid.envs.goals.policies import ScriptedWalkers
from cogrid.envs.goals.specs import SPECS

__all__ = ("FAMILY",)

FAMILY = Family(Goals, SPECS, ScriptedWalkers)
