"""The game: what an environment author writes, as plain Python on small hashable values."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from cogrid._core.author.answers import (
    Aim,
    AnyReward,
    Counted,
    Event,
    Item,
    Meeting,
    Near,
    OneCell,
    Outcome,
    Placed,
    Reply,
    Reward,
    Thing,
    View,
)
from cogrid._core.author.chance import Chance
from cogrid._core.author.layout import FLOOR, WALL, Layout
from cogrid._core.author.look import Look, bare_floor, closed_wall, figure, plate, token
from cogrid.backend.env_state import EnvState

if TYPE_CHECKING:
    from cogrid._core.see.features import Feature
    from cogrid._core.state.sketch import Sketch
    from cogrid.backend.array import Array


@dataclass(frozen=True)
class Game:
    """The rules of a world; derive a frozen dataclass from it, whose fields are the world's options."""

    #: Letters of the ASCII layouts.
    legend: ClassVar[Mapping[str, Thing]] = MappingProxyType({FLOOR: "floor", WALL: "wall"})
    #: Layouts that can be chosen by name.
    layouts: ClassVar[Mapping[str, Layout]] = MappingProxyType({})
    #: Further actions of the game's own, numbered after the noop.
    actions: ClassVar[tuple[str, ...]] = ()
    #: The one of these whose strengths add up, and the limit of the sum.
    joint: ClassVar[str] = ""
    most_strength: ClassVar[int] = 1
    #: Whether agents move before they act, and whether two neighbours can change places.
    moves_first: ClassVar[bool] = False
    swaps: ClassVar[bool] = False
    #: Actions of these verbs end the episode for the acting agent.
    final_verbs: ClassVar[frozenset[str]] = frozenset()
    #: Verbs whose time steps are summed in the infos' counts, so that the mean time is known.
    timed: ClassVar[tuple[str, ...]] = ()
    #: Names of the planes of grid observations, and the one that is all ones near the end, with its steps.
    planes: ClassVar[tuple[str, ...]] = ()
    countdown: ClassVar[tuple[str, int] | None] = None
    #: Adds the family's own views to the state.
    state_type: ClassVar[type[EnvState]] = EnvState

    # Rules. Wherever a rule returns a value, it may return a `Chance` of such values.

    def interact(self, held: Item, thing: Thing) -> Outcome | Chance | None:
        """What the interact action does; None for nothing."""
        return None

    def toggle(self, held: Item, thing: Thing) -> Outcome | Chance | None:
        """What the toggle action does; None for nothing."""
        return None

    def act(self, action: str, held: Item, thing: Thing) -> Outcome | Chance | None:
        """What one of the game's own `actions` does with the thing ahead; None for nothing."""
        return None

    def strength(self, held: Item) -> int:
        """What an agent with this hand adds to joint work; 0 for nothing."""
        return 1

    def join(self, held: Item, total: int, thing: Thing) -> Outcome | None:
        """What joint work of this total strength does, for each agent involved: its hand, event and value.

        The resulting thing must be the same for all of them.
        """
        return None

    def meet(self, action: str, held: Item, other: Item) -> Meeting | Chance | None:
        """What the named action does with another agent, by what that agent holds; None for nothing."""
        return None

    def aim(self, action: str) -> Aim:
        """Where an action looks for a thing or agent that it works on; the first one found is the target."""
        return Aim()

    def enter(self, held: Item, thing: Thing) -> Outcome | Chance | None:
        """What happens to an agent that has just walked onto a thing; None for nothing.

        A thing that appears under an agent is not entered; the resulting thing must be walkable.
        """
        return None

    def tick(self, thing: Thing) -> Thing | Chance:
        """What a thing becomes by itself in one step."""
        return thing

    def near(self) -> Near | None:
        """What `tick_near` counts around every cell; None for nothing."""
        return None

    def tick_near(self, thing: Thing, count: int) -> Thing | Chance:
        """What a thing becomes by itself, given the count of what is near it before any tick."""
        return self.tick(thing)

    def start(self, thing: Thing) -> Thing | Chance:
        """What a letter's thing is when an episode starts; a cell with an agent in it keeps its thing."""
        return thing

    def hand(self, agent: int) -> Item | Chance:
        """What an agent holds when an episode starts: a role, a level, a tool."""
        return None

    def tick_hand(self, held: Item) -> Item | Chance:
        """What a hand becomes by itself in one step."""
        return held

    def can_move(self, held: Item) -> bool:
        """Whether an agent with this hand can turn and walk."""
        return True

    def can_act(self, held: Item) -> bool:
        """Whether an agent with this hand can do anything other than turn and walk."""
        return True

    def away(self, held: Item) -> bool:
        """Whether an agent with this hand is off the board, where it neither moves nor acts."""
        return False

    def spawn(self, thing: Thing) -> bool:
        """Whether an agent can come back to a cell with this thing; a free one is drawn at random."""
        return self.walkable(thing)

    def one_cell(self) -> tuple[OneCell, ...]:
        """Random changes of a single cell, made in this order after the ticks."""
        return ()

    def slots(self) -> Mapping[str, Thing | Chance | Counted]:
        """Things without a cell, by name, and what each is when an episode starts."""
        return {}

    def own_slots(self) -> Mapping[str, Thing | Chance]:
        """Slots that every agent has one of: "name" gives the slots "name 0", "name 1" …"""
        return {}

    def reply(self, slot: str, thing: Thing, event: Event) -> Reply | Chance | None:
        """What a slot replies to an event; None passes it on to the next slot."""
        return None

    def rank(self, slot: str, thing: Thing) -> int:
        """Of several slots that could reply to an event, the one with the lowest rank does, or the first."""
        return 0

    def tick_slot(self, slot: str, thing: Thing) -> Thing | Reply | Chance:
        """What a slot becomes by itself in one step, after the replies; a `Reply` pays all agents."""
        return thing

    def finished(self, held: Item) -> bool:
        """Whether an agent with this hand has ended, after a step."""
        return False

    def remaining(self, thing: Thing) -> int:
        """How much work a thing still needs: the episode ends for all agents when the board needs none."""
        return 1

    # Names, looks and observations

    def walkable(self, thing: Thing) -> bool:
        """Whether an agent can stand there."""
        return thing == "floor"

    def kind(self, thing: Thing) -> str:
        """The name of the thing's type; "floor" counts as no object."""
        return str(thing)

    def lying(self, thing: Thing) -> Item:
        """The item that visibly lies there, or None."""
        return None

    def item_name(self, item: Item) -> str:
        """The name of an item's type."""
        return str(item)

    def glyph(self, thing: Thing) -> str:
        """Two characters: the letter of the legend, or the initial of the kind, and what lies there."""
        kind, item = self.kind(thing), self.lying(thing)
        letter = next((c for c, t in self.legend.items() if self.kind(t) == kind), kind[:1] or "?")
        return letter + (" " if item is None else self.item_name(item)[0])

    def look(self, thing: Thing) -> Look:
        """The drawing of a thing; what lies there is drawn over it."""
        kind, bare = self.kind(thing), {"floor": bare_floor, "wall": closed_wall}
        return bare[kind]() if kind in bare else plate(kind, self.glyph(thing)[0])

    def look_slot(self, thing: Thing, slot: str, inside: Thing) -> Look:
        """What a slot adds to the look of a thing that `shows` it; round clocks to a few looks."""
        return ()

    def look_item(self, item: Item) -> Look:
        """The drawing of an item at the size of a cell; it is drawn smaller in hands and on things."""
        return token(self.item_name(item))

    def look_agent(self, agent: int) -> Look:
        """The drawing of an agent that faces right; it is rotated for other facings."""
        return figure(agent)

    def rewards(self) -> tuple[AnyReward, ...]:
        """The terms whose sum is the reward."""
        return (Reward("score", points=lambda event: event.value, team=True),)

    def features(self) -> tuple[Feature, ...]:
        """The parts of the flat observation."""
        return ()

    def paint(self, thing: Thing) -> Mapping[str, int]:
        """Values of the planes in a cell with this thing; where an agent stands only the agent is painted."""
        return {}

    def paint_agent(self, own: bool, facing: int, held: Item) -> Mapping[str, int]:
        """Values of the planes in a cell with an agent."""
        return {}

    def paint_away(self, own: bool, held: Item) -> Mapping[str, int]:
        """Values that an agent off the board adds to the planes in every cell."""
        return {}

    def view(self) -> View | None:
        """The window of observation="window" if it turns with the agent; None for the square of the spec."""
        return None

    def shows(self, thing: Thing) -> bool | Collection[str]:
        """Whether the slots are painted in a cell with this thing, or in which of the planes."""
        return False

    def paint_slot(self, slot: str, thing: Thing) -> Mapping[str, int]:
        """Values that a slot adds to the planes in the cells that show it."""
        return {}

    def sees(self, thing: Thing) -> Mapping[str, str]:
        """Planes that an agent with this in its own slot sees instead of others: {plane: plane seen}."""
        return {}

    def default_layouts(self) -> tuple[Layout, ...]:
        """The boards to use when the spec names none."""
        return ()

    def placed(self) -> tuple[Placed, ...]:
        """Things that reset puts on the floor, in this order."""
        return ()

    def generate(self, sketch: Sketch) -> Array:
        """A board drawn by `reset`, (*B, H, W) codes of letters: the one hook that is written in arrays.

        The layouts limit it: their size, their letters, and the number of each kind that is counted.
        """
        raise NotImplementedError

    def scattered(self) -> tuple[Thing, float] | None:
        """A thing that reset scatters over the floor, and its density."""
        return None
