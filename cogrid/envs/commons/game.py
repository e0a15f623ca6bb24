"""The games of the commons: apples to eat, players to send out, an orchard or a river to look after."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar

from cogrid._io.messages import several
from cogrid.author import (
    GREEN,
    INK,
    SKY,
    VERMILLION,
    Act,
    Agents,
    Aim,
    AnyReward,
    Away,
    Chance,
    Faced,
    Feature,
    Game,
    Hands,
    Item,
    Layout,
    Look,
    Looks,
    Meeting,
    Near,
    OneCell,
    Outcome,
    Paint,
    Part,
    Place,
    Planes,
    Reward,
    Thing,
    View,
    bare_floor,
    box,
    checked_flag,
    checked_integer,
    disk,
    line,
)
from cogrid.envs.commons import layouts

FLOOR, WALL, APPLE, GRASS, PAD, WATER, DIRT = "floor", "wall", "apple", "grass", "pad", "water", "dirt"
EAT, ZAP, CLEAN = "eat", "zap", "clean"
#: Beams are three cells long, with one more cell to either side.
BEAM = Aim(reach=3, width=1)
RADIUS = 2  # within which apples help others to grow


@dataclass(frozen=True)
class Commons(Game):
    """Apples are eaten by walking onto them; a zap sends the first player in its beam out for a while."""

    timeout: int = 25  # steps for which a player that was zapped is out
    common: bool = False  # whether every apple pays all players

    timed: ClassVar[tuple[str, ...]] = (EAT,)

    def __post_init__(self) -> None:
        checked_integer("timeout", self.timeout, 1, 200)
        object.__setattr__(self, "common", checked_flag("common", self.common))

    def walkable(self, thing: Thing) -> bool:
        """All but walls: apples, grass, pads and the river."""
        return thing != WALL

    def enter(self, held: Item, thing: Thing) -> Outcome | None:
        """Eat an apple, unless the player was zapped in this very step."""
        return Outcome(held, GRASS, EAT, 1.0) if thing == APPLE and held is None else None

    def zap(self, held: Item, other: Item) -> Meeting | None:
        """Send the other player out; its hand already ticks in this step."""
        return Meeting(held, self.timeout + 1, ZAP) if held is other is None else None

    def parts(self) -> tuple[Part, ...]:
        """Beams; players who are out are off the board, and come back to the pads."""
        return (
            Act(ZAP, agent=self.zap, aim=BEAM),
            Hands(tick=_one_step_less),
            Away(when=lambda held: held is not None, back=lambda thing: thing == PAD),
        )

    def how_to_play(self, things: Collection[Thing], items: Collection[Item]) -> str:
        """Apples, how they grow, and beams."""
        who = "everybody" if self.common else "you"
        return " ".join(
            (
                f"Walk onto apples to eat them: each pays {who} 1 point.",
                self._growing,
                f"`{ZAP}` sends the first player within {several(BEAM.reach, 'cell')} ahead of you off the "
                f"board for {several(self.timeout, 'step')}.",
            )
        )

    @property
    def _growing(self) -> str:
        """What a new player is told about how apples grow."""
        raise NotImplementedError

    def rewards(self) -> tuple[AnyReward, ...]:
        """An apple pays 1 to the player that eats it, or to all."""
        return (Reward("apples", lambda event: event.value, team=self.common),)

    def features(self) -> tuple[Feature, ...]:
        """Who is out and for how long, what is ahead, where the player stands."""
        seen = (APPLE, GRASS, WATER, DIRT, WALL)

        def out(item: Item) -> tuple[float, float]:
            steps = item if isinstance(item, int) else 0  # one more than the timeout until the zap has ticked
            return float(item is None), min(steps, self.timeout) / self.timeout

        return (
            Agents(("nothing", "out"), out),
            Faced(seen, lambda thing: tuple(float(thing == one) for one in seen)),
            Place(),
        )

    def planes(self) -> Planes:
        """Every kind of thing but floor and pads has a plane; the window shows nine of eleven rows ahead."""
        return Planes(
            ("wall", "apple", "grass", "me", "other", "facing", "out", "others out"),
            thing=lambda thing: {str(thing): 1} if thing not in (FLOOR, PAD) else {},
            agent=_paint_player,
            away=_paint_out,
            view=View(ahead=9, behind=1, side=5),
        )

    def item_name(self, item: Item) -> str:
        """The only items are steps out."""
        return f"out {item}"

    def looks(self) -> Looks:
        """Flat colours; items are never seen: their holders are off the board."""
        return Looks(thing=_look, glyph=lambda thing: _GLYPHS.get(str(thing)))


_GLYPHS: Mapping[str, str] = MappingProxyType({WALL: "##", PAD: "p ", WATER: "~ "})


def _one_step_less(held: Item) -> Item:
    """A hand holds nothing, or the number of steps for which its player is still out."""
    return held - 1 if isinstance(held, int) and held > 1 else None


def _paint_player(own: bool, facing: int, held: Item) -> Paint:
    """Facing is 1 right, 2 down, 3 left, 4 up, relative to an observer who faces up."""
    return {"me": 1} if own else {"other": 1, "facing": facing + 1}


def _paint_out(own: bool, held: Item) -> Paint:
    """The player's own steps out, and the number of other players who are out."""
    steps = held if isinstance(held, int) else 1
    return {"out": steps} if own else {"others out": 1}


def _look(thing: Thing) -> Look | None:
    """Flat colours: grass green, water blue, dirt brown."""
    match thing:
        case "grass":
            return _grass()
        case "apple":
            return (*_grass(), disk(INK, 0.5, 0.55, 0.3), disk(VERMILLION, 0.5, 0.55, 0.25), *_stalk())
        case "pad":
            return (*bare_floor(), disk("#00000018", 0.5, 0.5, 0.36))
        case "water":
            return (box(SKY, 0, 0, 1, 1),)
        case "dirt":
            spots = (disk("#6b4f2a", x, y, 0.15) for x, y in ((0.3, 0.35), (0.65, 0.3), (0.5, 0.7)))
            return (box("#8fa6a0", 0, 0, 1, 1), *spots)
    return None


def _grass() -> Look:
    return box("#dcebcf", 0, 0, 1, 1), box(GREEN + "30", 0.06, 0.06, 0.94, 0.94, 0.1)


def _stalk() -> Look:
    return (line(INK, 0.06, (0.5, 0.33), (0.58, 0.18)),)


@dataclass(frozen=True)
class Harvest(Commons):
    """Commons Harvest: apples grow back near other apples, so a patch that is emptied is lost."""

    legend: ClassVar[Mapping[str, Thing]] = MappingProxyType(
        {" ": FLOOR, "#": WALL, "a": APPLE, ".": GRASS, "P": PAD}
    )
    layouts: ClassVar[Mapping[str, Layout]] = layouts.HARVESTS
    #: Chances out of 1000, by the number of apples within the radius: none, one, two, three or more.
    growth: ClassVar[tuple[int, ...]] = (0, 1, 5, 25)

    @property
    def _growing(self) -> str:
        lost = "; a patch that has been emptied is lost" * (not self.growth[0])
        return f"The more apples are within {several(RADIUS, 'cell')}, the faster one grows back{lost}."

    def grow(self, thing: Thing, apples: int) -> Thing | Chance:
        """Grass grows an apple by chance."""
        if thing != GRASS or not (weight := self.growth[apples]):
            return thing
        return Chance((APPLE, weight), (GRASS, 1000 - weight))

    def parts(self) -> tuple[Part, ...]:
        """Growth by the apples in a circle."""
        near = Near(lambda thing: int(thing == APPLE), self.grow, most=3, radius=RADIUS)
        return (*super().parts(), near)


@dataclass(frozen=True)
class CleanUp(Commons):
    """Clean Up: the dirtier the river, the fewer apples grow; somebody has to clean it."""

    river: int = layouts.RIVER  # cells of the river in the layout; at two fifths of dirt nothing grows

    legend: ClassVar[Mapping[str, Thing]] = MappingProxyType(
        {" ": FLOOR, "#": WALL, "a": APPLE, ".": GRASS, "P": PAD, "w": WATER, "d": DIRT}
    )
    layouts: ClassVar[Mapping[str, Layout]] = layouts.CLEAN_UPS

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_integer("river", self.river, 1, 2**12)

    @property
    def most_dirt(self) -> int:
        """The number of dirty cells from which on nothing grows."""
        return -(-2 * self.river // 5)

    @property
    def _growing(self) -> str:
        return (
            "They grow faster the cleaner the river is, and not at all while "
            f"{several(self.most_dirt, 'cell')} or more of it are dirty. "
            f"`{CLEAN}` cleans the first dirty cell within {several(BEAM.reach, 'cell')} ahead of you."
        )

    def clean(self, held: Item, thing: Thing) -> Outcome | None:
        """The first dirt in the beam becomes water."""
        return Outcome(held, WATER, CLEAN) if held is None and thing == DIRT else None

    def grow(self, thing: Thing, dirt: int) -> Thing | Chance:
        """Grass grows an apple with 0.05 · (1 − dirt / (0.4 · river)) = (2 river − 5 dirt) / 40 river."""
        weight = 2 * self.river - 5 * dirt
        if thing != GRASS or weight <= 0:
            return thing
        return Chance((APPLE, weight), (GRASS, 40 * self.river - weight))

    def parts(self) -> tuple[Part, ...]:
        """Growth by all dirt, up to where nothing grows; from step 50 on, half of the steps dirty a cell."""
        return (
            *super().parts(),
            Act(CLEAN, thing=self.clean, aim=BEAM),
            Near(lambda thing: int(thing == DIRT), self.grow, most=self.most_dirt, radius=None),
            OneCell(lambda thing: thing == WATER, lambda thing: DIRT, weight=1, out_of=2, since=50),
        )

    def planes(self) -> Planes:
        """Those of all commons, and the river."""
        planes = super().planes()
        return replace(planes, names=(*planes.names, WATER, DIRT))
