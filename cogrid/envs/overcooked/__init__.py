"""Overcooked: cook soups together and serve them."""

from cogrid.envs.overcooked.floor_plan import soup_steps
from cogrid.envs.overcooked.generated import HELD_OUT, TRAINING, boards
from cogrid.envs.overcooked.state import KitchenState

__all__ = ("HELD_OUT", "TRAINING", "KitchenState", "boards", "soup_steps")
