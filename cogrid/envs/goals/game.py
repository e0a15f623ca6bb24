"""The rules of goals: walk onto your own, or onto a shared one; every step costs a little."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from cogrid.author import (
    FLOOR,
    GREEN,
    INK,
    ORANGE,
    PURPLE,
    SKY,
    WALL,
    WHITE,
    Agents,
    AnyReward,
    Chance,
    Ends,
    Event,
    Feature,
    Game,
    Item,
    Layout,
    Look,
    Looks,
    Outcome,
    Paint,
    Part,
    Placed,
    Planes,
    Price,
    Reward,
    Thing,
    bare_floor,
    checked_integer,
    checked_number,
    disk,
)
from cogrid.envs.features import Around, Nearest

SITE = "o"  # where a wall may be
SHARED = "shared"
COLOURS = ("sky", "orange", "green", "purple")
_PAINT: Mapping[str, str] = MappingProxyType(
    dict(zip((*COLOURS, SHARED), (SKY, ORANGE, GREEN, PURPLE, INK), strict=True))
)


@dataclass(frozen=True)
class Goal:
    """A place to reach: of one colour, or shared."""

    colour: str


@dataclass(frozen=True)
class Goals(Game):
    """Agents walk to goals: those of their own colour pay the agent that arrives, shared ones pay all.

    The walls of an episode are random, and never close anything off: no two of them touch.
    """

    map_size: int = 11  # cells a side, border included; odd
    density: float = 0.5  # probability of a wall where one may be: in every second cell of every second row
    colours: int = 2  # agent i has colour i modulo this, up to 4
    own_goals: int = 1  # goals of each colour
    shared_goals: int = 2  # goals for everybody
    step_price: float = 0.01  # cost of every step, to every agent

    legend: ClassVar[Mapping[str, Thing]] = MappingProxyType({FLOOR: "floor", WALL: "wall", SITE: "site"})

    def __post_init__(self) -> None:
        checked_integer("map_size", self.map_size, 5, 99)
        if self.map_size % 2 == 0:
            raise ValueError(
                f"map_size={self.map_size} is even: walls stand in every second row, so make it odd."
            )
        checked_integer("colours", self.colours, 1, len(COLOURS))
        checked_integer("own_goals", self.own_goals, 0, 20)
        checked_integer("shared_goals", self.shared_goals, 0 if self.own_goals else 1, 20)
        for name, most in (("density", 1.0), ("step_price", 100.0)):
            object.__setattr__(self, name, checked_number(name, getattr(self, name), 0.0, most))

    def default_layouts(self) -> tuple[Layout, ...]:
        """A closed border, and sites for walls."""
        inside = self.map_size - 2
        open_row, sites = FLOOR * inside, (FLOOR + SITE) * (inside // 2) + FLOOR
        rows = [WALL + (sites if k % 2 else open_row) + WALL for k in range(inside)]
        edge = WALL * self.map_size
        return (Layout(f"goals-{self.map_size}", "\n".join([edge, *rows, edge])),)

    def start(self, thing: Thing) -> Thing | Chance:
        """A site is a wall or floor."""
        walls = round(self.density * 1000)
        options = [(kind, weight) for kind, weight in (("wall", walls), ("floor", 1000 - walls)) if weight]
        return Chance(*options) if thing == "site" else thing

    def hand(self, agent: int) -> Item:
        """An agent's colour."""
        return COLOURS[agent % self.colours]

    def walkable(self, thing: Thing) -> bool:
        """Agents can walk onto goals."""
        return thing == "floor" or isinstance(thing, Goal)

    def enter(self, held: Item, thing: Thing) -> Outcome | None:
        """A goal vanishes when an agent that it is for arrives."""
        if not isinstance(thing, Goal) or thing.colour not in (held, SHARED):
            return None
        return Outcome(held, "floor", "share" if thing.colour == SHARED else "reach", 1.0)

    def parts(self) -> tuple[Part, ...]:
        """Goals wherever there is room; the episode ends when all are reached."""
        own = [(self.own_goals, colour) for colour in COLOURS[: self.colours]]
        wanted = [*own, (self.shared_goals, SHARED)]
        goals = (Placed(count, Goal(colour)) for count, colour in wanted if count)
        return (*goals, Ends(remaining=lambda thing: int(isinstance(thing, Goal))))

    def rewards(self) -> tuple[AnyReward, ...]:
        """One point for a goal, to the agent that reached it or to all, and the cost of a step."""

        def paid_for(verb: str) -> Reward:
            def points(event: Event) -> float:
                return event.value if event.verb == verb else 0.0

            return Reward(verb, points, team=verb == "share")

        return paid_for("reach"), paid_for("share"), Price("step", lambda action, held: -self.step_price)

    def how_to_play(self, things: Collection[Thing], items: Collection[Item]) -> str:
        """Which goals pay whom."""
        goals = {thing.colour for thing in things if isinstance(thing, Goal)}
        return " ".join(
            [
                *["Walk onto a goal of your own colour to get 1 point."] * bool(goals - {SHARED}),
                *["A black goal pays everybody 1 point, whoever reaches it."] * (SHARED in goals),
                "A goal vanishes when it is reached, and the episode ends when none is left.",
                *[f"Every step costs everybody {self.step_price:g}."] * bool(self.step_price),
            ]
        )

    def kind(self, thing: Thing) -> str:
        """Goals by their colour."""
        return f"{thing.colour} goal" if isinstance(thing, Goal) else str(thing)

    def looks(self) -> Looks:
        """Goals are rings on the floor, and agents hold such rings."""
        return Looks(thing=_look, item=_ring, glyph=_glyph)

    def features(self) -> tuple[Feature, ...]:
        """The agents with their colours, what is around, and the nearest goal of each colour."""
        names = (*COLOURS[: self.colours], SHARED)

        def colours(item: Item) -> tuple[float, ...]:
            return tuple(float(item == name) for name in names[:-1])

        def goal(thing: Thing) -> int:
            return names.index(thing.colour) if isinstance(thing, Goal) else -1

        labels = tuple(f"{name} goal" for name in names)
        return Agents(names[:-1], colours), Around(("wall",), _walls), Nearest(labels, goal)

    def planes(self) -> Planes:
        """Walls, goals and agents."""
        goals = (f"{colour} goal" for colour in (*COLOURS, SHARED))
        return Planes(
            ("wall", *goals, "own", "others"), thing=lambda thing: {self.kind(thing): 1}, agent=_paint_agent
        )


def _glyph(thing: Thing) -> str | None:
    """A goal is a G and its colour."""
    if isinstance(thing, Goal):
        return f"G{thing.colour[0]}"
    return "##" if thing == "wall" else None


def _look(thing: Thing) -> Look | None:
    return (*bare_floor(), *_ring(thing.colour)) if isinstance(thing, Goal) else None


def _ring(item: Item) -> Look:
    colour = _PAINT[str(item)]
    return disk(colour, 0.5, 0.5, 0.42), disk(WHITE, 0.5, 0.5, 0.3), disk(colour, 0.5, 0.5, 0.18)


def _walls(thing: Thing) -> tuple[float, ...]:
    return (float(thing == "wall"),)


def _paint_agent(own: bool, facing: int, held: Item) -> Paint:
    """The number of the colour, from 1."""
    return {"own" if own else "others": 1 + (COLOURS.index(held) if held in COLOURS else 0)}
