"""The rules of search and rescue."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar

from cogrid._io.messages import brief, several
from cogrid.author import (
    FLOOR,
    WALL,
    Act,
    Agents,
    AnyReward,
    Chance,
    Ends,
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
    Thing,
    checked_integer,
    checked_number,
)
from cogrid.envs.features import Around, Nearest
from cogrid.envs.search_rescue import looks
from cogrid.envs.search_rescue.layouts import LAYOUTS
from cogrid.envs.search_rescue.objects import (
    COLOURS,
    DEBRIS,
    DOOR,
    DOORWAY,
    GREEN,
    KEY,
    MEDKIT,
    PICKAXE,
    POINTS,
    RED,
    RUBBLE,
    TOOLS,
    YELLOW,
    Rescuer,
    Tool,
    Victim,
)
from cogrid.envs.search_rescue.rewards import CLEAR, DROP, RESCUE, REWARDS, TAKE, TREAT, UNLOCK

#: What the agents start with, in turn: a medic, an engineer, a scout.
ROLES = (MEDKIT, PICKAXE, None)
_SEEN = (*(f"{colour} victim" for colour in COLOURS), "treated victim", RUBBLE, DOOR, *TOOLS)


@dataclass(frozen=True)
class SearchRescue(Game):
    """A medic, an engineer and scouts look for victims, and clear the way to them.

    Green victims need a hand, yellow ones a medkit, red ones a medkit and then another agent. A pickaxe
    clears rubble, a key unlocks doors. An agent with a free hand picks up a tool by walking onto it; toggle
    puts it down.
    """

    wait: int = 30  # steps that a treated red victim waits for another agent
    victims: tuple[int, int, int] = (
        0,
        0,
        0,
    )  # numbers of green, yellow and red ones that reset adds on the floor
    rubble: float = 0.5  # probability that a `?` of the layout is rubble

    legend: ClassVar[Mapping[str, Thing]] = MappingProxyType(
        {
            FLOOR: "floor",
            WALL: "wall",
            **{colour[0]: Victim(colour) for colour in COLOURS},
            **{tool[0]: Tool(tool) for tool in TOOLS},
            "x": RUBBLE,
            "d": DOOR,
            "?": DEBRIS,
        }
    )
    layouts: ClassVar[Mapping[str, Layout]] = LAYOUTS

    def __post_init__(self) -> None:
        checked_integer("wait", self.wait, 1, 200)
        if not isinstance(self.victims, Sequence) or len(self.victims) != len(COLOURS):
            raise ValueError(
                f"victims={brief(self.victims)} is not three numbers: give green, yellow and red ones."
            )
        object.__setattr__(self, "victims", tuple(self.victims))
        for colour, count in zip(COLOURS, self.victims, strict=True):
            checked_integer(f"the number of {colour} victims", count, 0, 20)
        object.__setattr__(self, "rubble", checked_number("rubble", self.rubble, 0.0, 1.0))

    def hand(self, agent: int) -> Item:
        """An agent's number, and the tool of its role."""
        return Rescuer(agent, ROLES[agent % len(ROLES)])

    def start(self, thing: Thing) -> Thing | Chance:
        """Some of the debris is rubble."""
        rubble = round(self.rubble * 1000)
        options = [(kind, weight) for kind, weight in ((RUBBLE, rubble), (DOORWAY, 1000 - rubble)) if weight]
        return Chance(*options) if thing == DEBRIS else thing

    def walkable(self, thing: Thing) -> bool:
        """Floor, tools that lie there, and open doors."""
        return thing in ("floor", DOORWAY) or isinstance(thing, Tool)

    def enter(self, held: Item, thing: Thing) -> Outcome | None:
        """A free hand takes a tool."""
        if not isinstance(thing, Tool) or not isinstance(held, Rescuer) or held.tool is not None:
            return None
        return Outcome(replace(held, tool=thing.name), "floor", TAKE)

    def interact(self, held: Item, thing: Thing) -> Outcome | None:
        """Rescue, clear or unlock what is ahead."""
        if not isinstance(held, Rescuer):
            return None
        match thing:
            case Victim():
                return self._help(held, thing)
            case _ if thing == RUBBLE and held.tool == PICKAXE:
                return Outcome(held, "floor", CLEAR)
            case _ if thing == DOOR and held.tool == KEY:
                return Outcome(held, DOORWAY, UNLOCK)
        return None

    def _help(self, held: Rescuer, victim: Victim) -> Outcome | None:
        rescue = Outcome(held, "floor", RESCUE, POINTS[victim.colour])
        if victim.treated_by >= 0:
            return rescue if held.agent != victim.treated_by else None
        if victim.colour in (YELLOW, RED) and held.tool != MEDKIT:
            return None
        treated = Victim(RED, held.agent, self.wait + 1)  # which already ticks in this step
        return Outcome(held, treated, TREAT) if victim.colour == RED else rescue

    def drop(self, held: Item, thing: Thing) -> Outcome | None:
        """Put the tool down on the floor ahead."""
        if not isinstance(held, Rescuer) or held.tool is None or thing != "floor":
            return None
        return Outcome(replace(held, tool=None), Tool(held.tool), DROP)

    def tick(self, thing: Thing) -> Thing:
        """A treated victim waits, and then has to be treated again."""
        if not isinstance(thing, Victim) or thing.treated_by < 0:
            return thing
        return replace(thing, left=thing.left - 1) if thing.left > 1 else Victim(thing.colour)

    def parts(self) -> tuple[Part, ...]:
        """Toggle drops a tool; victims leave paths between them; the episode ends when none is left."""
        wanted = zip(self.victims, COLOURS, strict=True)
        victims = (Placed(count, Victim(colour), apart=3) for count, colour in wanted if count)
        ends = Ends(remaining=lambda thing: int(isinstance(thing, Victim)))
        return (Act("toggle", thing=self.drop), *victims, ends)

    def rewards(self) -> tuple[AnyReward, ...]:
        """One, two and three points for green, yellow and red victims, to all."""
        return REWARDS

    def how_to_play(self, things: Collection[Thing], items: Collection[Item]) -> str:
        """Victims, what is in the way, and tools."""
        return " ".join(self._told({self.kind(thing) for thing in things}))

    def _told(self, kinds: Collection[str]) -> Iterator[str]:
        how = {
            GREEN: "has to be freed with `interact`",
            YELLOW: "needs the same from somebody who holds a medkit",
            RED: "has to be treated with a medkit first, and then freed by another player within "
            f"{several(self.wait, 'step')}",
        }
        for colour, task in how.items():
            if f"{colour} victim" in kinds:
                yield f"A {colour} victim {task}: {several(int(POINTS[colour]), 'point')} for everybody."
        if RUBBLE in kinds:
            yield "A pickaxe clears rubble, with `interact`."
        if DOOR in kinds:
            yield "A key opens doors, with `interact`."
        yield "With a free hand you pick up a tool by walking onto it; `toggle` puts it down ahead of you."
        yield "The episode ends when all victims are saved."

    def kind(self, thing: Thing) -> str:
        """Victims by their colour, tools by their name."""
        match thing:
            case Victim(colour, treated_by):
                return "treated victim" if treated_by >= 0 else f"{colour} victim"
            case Tool(name):
                return f"lying {name}"
        return str(thing)

    def item_name(self, item: Item) -> str:
        """The tool."""
        return (item.tool or "nothing") if isinstance(item, Rescuer) else str(item)

    def looks(self) -> Looks:
        """Victims, rubble, doors and tools."""
        return Looks(thing=lambda thing: looks.look(thing, self.wait), item=_look_item, glyph=_glyph)

    def features(self) -> tuple[Feature, ...]:
        """The agents and their tools, what is around, and the nearest of everything that matters."""
        kinds = ("wall", *_SEEN)

        def tools(item: Item) -> tuple[float, ...]:
            return tuple(float(isinstance(item, Rescuer) and item.tool == tool) for tool in TOOLS)

        def around(thing: Thing) -> tuple[float, ...]:
            return tuple(float(self._seen(thing) == kind) for kind in kinds)

        def near(thing: Thing) -> int:
            return _SEEN.index(self._seen(thing)) if self._seen(thing) in _SEEN else -1

        return Agents(TOOLS, tools), Around(kinds, around), Nearest(_SEEN, near)

    def _seen(self, thing: Thing) -> str:
        return thing.name if isinstance(thing, Tool) else self.kind(thing)

    def planes(self) -> Planes:
        """What it is and how long a treated victim can wait; agents and their tools."""
        names = ("wall", *_SEEN, "time left", "own", "others", "facing", "tool")
        return Planes(names, thing=self._paint, agent=_paint_agent)

    def _paint(self, thing: Thing) -> Paint:
        return {self._seen(thing): 1, "time left": thing.left if isinstance(thing, Victim) else 0}


def _glyph(thing: Thing) -> str | None:
    """The letter of the legend; a treated victim has a +."""
    if isinstance(thing, Victim) and thing.treated_by >= 0:
        return f"{thing.colour[0]}+"
    return {"wall": "##", DOORWAY: "' "}.get(str(thing))


def _look_item(item: Item) -> Look:
    """The tool, if any."""
    return looks.tool(item.tool) if isinstance(item, Rescuer) and item.tool else ()


def _paint_agent(own: bool, facing: int, held: Item) -> Paint:
    """Facing is 1 right, 2 down, 3 left, 4 up; tools are numbered from 1."""
    tool = held.tool if isinstance(held, Rescuer) else None
    return {
        "own" if own else "others": 1,
        "facing": facing + 1,
        "tool": TOOLS.index(tool) + 1 if tool else 0,
    }
