"""Overcooked: cook soups together and serve them."""

from cogrid.envs.family import Family
from cogrid.envs.overcooked.floor_plan import soup_steps
from cogrid.envs.overcooked.game import Kitchen
from cogrid.envs.overcooked.generated import HELD_OUT, TRAINING, boards
from cogrid.envs.overcooked.policies import ScriptedCooks
from cogrid.envs.overcooked.specs import SPECS
from cogrid.envs.overcooked.state import KitchenState

__all__ = ("FAMILY", "HELD_OUT", "TRAINING", "KitchenState", "boards", "soup_steps")

FAMILY = Family(Kitchen, SPECS, ScriptedCooks)
