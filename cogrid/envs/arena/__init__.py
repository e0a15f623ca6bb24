"""Arena: many agents among random walls; no goal, a stress test for movement and observation."""

from cogrid.envs.arena.game import Arena
from cogrid.envs.arena.specs import SPECS
from cogrid.envs.family import Family

__all__ = ("FAMILY",)

FAMILY = Family(Arena, SPECS)
