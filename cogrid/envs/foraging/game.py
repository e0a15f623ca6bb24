"""The rules of level-based foraging, as `lbforaging` plays them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from cogrid.author import (
    FLOOR,
    WALL,
    Aim,
    AnyReward,
    Chance,
    Counted,
    Feature,
    Game,
    Item,
    Layout,
    Look,
    Outcome,
    Placed,
    Thing,
    checked_flag,
    checked_integer,
    checked_number,
)
from cogrid.backend.env_state import EnvState
from cogrid.envs.foraging import features, looks
from cogrid.envs.foraging.objects import Food, Skill, level_of
from cogrid.envs.foraging.rewards import FAIL, LOAD, SPAWNED, rewards
from cogrid.envs.foraging.state import ForagingState

MOST_LEVEL = 10
MOST_FOOD = 25  # reset places food one by one, and its compiled code grows with each
SIDES = 4  # foragers that fit around food
TEAM = 3  # food never needs more than the weakest foragers of this number


@dataclass(frozen=True)
class Foraging(Game):
    """Foragers of different levels load adjacent food; food beyond one forager's level takes several at once.

    The options have the same names as in `lbforaging`.
    """

    field_size: int = 8  # cells a side; the board has a wall around them
    max_num_food: int = 3  # at most 25; fewer where there is no room: food is three steps or more apart
    force_coop: bool = False  # all food takes the three weakest foragers together
    sight: int | None = None  # cells that a forager sees in each direction, None for the whole field
    min_player_level: int = 1  # levels are drawn uniformly at reset
    max_player_level: int = 2  # at most 10
    min_food_level: int = 1  # lowest level of food
    max_food_level: int | None = (
        None  # highest level of food; None for the sum of the three weakest foragers' levels
    )
    normalize_reward: bool = True  # rewards of an episode sum to at most 1 over all foragers
    penalty: float = 0.0  # for everyone who takes part in a load that fails
    observe_agent_levels: bool = True  # foragers see levels, their own and others'

    actions: ClassVar[tuple[str, ...]] = (LOAD,)
    joint: ClassVar[str] = LOAD
    moves_first: ClassVar[bool] = True
    swaps: ClassVar[bool] = True
    planes: ClassVar[tuple[str, ...]] = ("agents", "foods", "access")
    state_type: ClassVar[type[EnvState]] = ForagingState

    def __post_init__(self) -> None:
        """Check the options."""
        checked_integer("field_size", self.field_size, 3, 100)
        checked_integer("max_num_food", self.max_num_food, 1, MOST_FOOD)
        if self.sight is not None:
            checked_integer("sight", self.sight, 1, 100)
        checked_integer("max_player_level", self.max_player_level, 1, MOST_LEVEL)
        checked_integer("min_player_level", self.min_player_level, 1, self.max_player_level)
        if self.max_food_level is not None:
            checked_integer("max_food_level", self.max_food_level, 1, SIDES * MOST_LEVEL)
        checked_integer("min_food_level", self.min_food_level, 1, self.max_food_level or SIDES * MOST_LEVEL)
        object.__setattr__(self, "penalty", checked_number("penalty", self.penalty, 0.0, 100.0))
        for name in ("force_coop", "normalize_reward", "observe_agent_levels"):
            checked_flag(name, getattr(self, name))

    def default_layouts(self) -> tuple[Layout, ...]:
        """An open field inside of a wall."""
        edge, row = WALL * (self.field_size + 2), WALL + FLOOR * self.field_size + WALL
        return (Layout(f"field-{self.field_size}", "\n".join([edge, *[row] * self.field_size, edge])),)

    def hand(self, agent: int) -> Item | Chance:
        """The level of a forager."""
        return Chance(*((Skill(k), 1) for k in range(self.min_player_level, self.max_player_level + 1)))

    def placed(self) -> tuple[Placed, ...]:
        """Food: not at the edge of the field, and spaced out, so that nobody stands beside two."""
        return (Placed(self.max_num_food, self.food, weakest=TEAM, apart=3, margin=2),)

    def food(self, weakest: int) -> Chance:
        """What food is when the three weakest foragers add up to this level."""
        most = self.max_food_level or weakest
        least = most if self.force_coop else min(self.min_food_level, most)
        return Chance(*((Food(level), 1) for level in range(least, most + 1)))

    def slots(self) -> Mapping[str, Counted]:
        """The total level of the episode's food, for the normalised reward."""
        most = self.max_food_level or TEAM * self.max_player_level
        return {SPAWNED: Counted(level_of, self.max_num_food * most)} if self.normalize_reward else {}

    @property
    def most_strength(self) -> int:  # type: ignore[override]  # the fewer sums there are, the smaller the tables
        """The strongest foragers on all sides."""
        return SIDES * self.max_player_level

    def strength(self, held: Item) -> int:
        """The level."""
        return level_of(held)

    def aim(self, action: str) -> Aim:
        """Food is loaded from an adjacent cell, whichever way the forager faces."""
        return Aim(adjacent=True) if action == LOAD else Aim()

    def join(self, held: Item, total: int, thing: Thing) -> Outcome | None:
        """All who load the same food take it if their levels add up to at least its own."""
        if not isinstance(thing, Food):
            return None
        if total < thing.level:
            return Outcome(held, thing, FAIL)
        return Outcome(held, self.legend[FLOOR], LOAD, total)

    def remaining(self, thing: Thing) -> int:
        """The episode ends when all food is loaded."""
        return level_of(thing)

    def rewards(self) -> tuple[AnyReward, ...]:
        """What a forager loaded, and what its failed loads cost."""
        return rewards(self.normalize_reward, self.penalty)

    def kind(self, thing: Thing) -> str:
        """Food of every level is one kind."""
        return "food" if isinstance(thing, Food) else str(thing)

    def item_name(self, item: Item) -> str:
        """The level, as text."""
        return f"level {level_of(item)}"

    def glyph(self, thing: Thing) -> str:
        """Food shows its level, from ten on without the f."""
        return f"f{level_of(thing)}"[-2:] if isinstance(thing, Food) else _GLYPHS[str(thing)]

    def look(self, thing: Thing) -> Look:
        """An apple with its level."""
        return looks.food(thing.level) if isinstance(thing, Food) else super().look(thing)

    def look_item(self, item: Item) -> Look:
        """The level on a badge."""
        return looks.badge(level_of(item))

    def features(self) -> tuple[Feature, ...]:
        """The vector that `lbforaging` returns: food, then the forager itself, then the others."""
        return features.features(self.max_num_food, self.sight, self.observe_agent_levels)

    def paint(self, thing: Thing) -> Mapping[str, int]:
        """The level of food, and free cells."""
        return {"foods": level_of(thing), "access": int(thing == self.legend[FLOOR])}

    def paint_agent(self, own: bool, facing: int, held: Item) -> Mapping[str, int]:
        """The level, or 1."""
        return {"agents": level_of(held) if self.observe_agent_levels else 1}


_GLYPHS: Mapping[str, str] = MappingProxyType({"floor": "  ", "wall": "##"})
