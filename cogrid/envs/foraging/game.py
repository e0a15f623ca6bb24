"""The rules of level-based foraging, as `lbforaging` plays them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

from cogrid.author import (
    FLOOR,
    WALL,
    Aim,
    AnyReward,
    Chance,
    Counted,
    Ends,
    Feature,
    Game,
    Item,
    Joint,
    Layout,
    Look,
    Looks,
    Moving,
    Outcome,
    Paint,
    Part,
    Placed,
    Planes,
    Slot,
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

    state_type: ClassVar[type[EnvState]] = ForagingState

    def __post_init__(self) -> None:
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

    def food(self, weakest: int) -> Chance:
        """What food is when the three weakest foragers add up to this level."""
        most = self.max_food_level or weakest
        least = most if self.force_coop else min(self.min_food_level, most)
        return Chance(*((Food(level), 1) for level in range(least, most + 1)))

    def load(self, held: Item, total: int, thing: Thing) -> Outcome | None:
        """All who load the same food take it if their levels add up to at least its own."""
        if not isinstance(thing, Food):
            return None
        if total < thing.level:
            return Outcome(held, thing, FAIL)
        return Outcome(held, self.legend[FLOOR], LOAD, total)

    def parts(self) -> tuple[Part | None, ...]:
        """Loads from any adjacent cell; food away from the edge, and so that nobody stands beside two."""
        strongest = SIDES * self.max_player_level  # the fewer sums there are, the smaller the tables
        most = self.max_num_food * (self.max_food_level or TEAM * self.max_player_level)
        spawned = Slot(SPAWNED, Counted(level_of, most))  # for the normalised reward
        return (
            Joint(LOAD, work=self.load, most=strongest, strength=level_of, aim=Aim(adjacent=True)),
            Moving(first=True, swaps=True),
            Placed(self.max_num_food, self.food, weakest=TEAM, apart=3, margin=2, strength=level_of),
            Ends(remaining=level_of),
            spawned if self.normalize_reward else None,
        )

    def rewards(self) -> tuple[AnyReward, ...]:
        """What a forager loaded, and what its failed loads cost."""
        return rewards(self.normalize_reward, self.penalty)

    def kind(self, thing: Thing) -> str:
        """Food of every level is one kind."""
        return "food" if isinstance(thing, Food) else str(thing)

    def item_name(self, item: Item) -> str:
        """The level, as text."""
        return f"level {level_of(item)}"

    def how_to_play(self, things: Collection[Thing], items: Collection[Item]) -> str:
        """Levels, and how food is loaded."""
        whole = "; all food of an episode is worth 1 point" * self.normalize_reward
        weakest = "the level of the three weakest players together, of both if there are two"
        level = f"level {self.max_food_level}" if self.max_food_level else weakest
        return " ".join(
            [
                "The numbers on players and food are levels.",
                f"Stand beside food, not diagonally, and `{LOAD}`: all who do so in the same step take it if "
                "their levels add up to its own or more.",
                *[f"If they do not, each of them loses {self.penalty:g}."] * bool(self.penalty),
                *[f"All food has {level}."] * self.force_coop,
                f"The points for it are shared by level{whole}.",
                "The episode ends when no food is left.",
            ]
        )

    def looks(self) -> Looks:
        """Apples with their levels, and levels on badges."""
        return Looks(thing=_look, item=lambda item: looks.badge(level_of(item)), glyph=_glyph)

    def features(self) -> tuple[Feature, ...]:
        """The vector that `lbforaging` returns: food, then the forager itself, then the others."""
        return features.features(self.max_num_food, self.sight, self.observe_agent_levels)

    def planes(self) -> Planes:
        """The levels of foragers (or 1) and of food, and free cells."""
        return Planes(("agents", "foods", "access"), thing=self._paint, agent=self._paint_agent)

    def _paint(self, thing: Thing) -> Paint:
        return {"foods": level_of(thing), "access": int(thing == self.legend[FLOOR])}

    def _paint_agent(self, own: bool, facing: int, held: Item) -> Paint:
        return {"agents": level_of(held) if self.observe_agent_levels else 1}


def _glyph(thing: Thing) -> str | None:
    """Food shows its level, from ten on without the f."""
    if isinstance(thing, Food):
        return f"f{thing.level}"[-2:]
    return "##" if thing == "wall" else None


def _look(thing: Thing) -> Look | None:
    return looks.food(thing.level) if isinstance(thing, Food) else None
