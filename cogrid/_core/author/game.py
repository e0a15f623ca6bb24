"""The game: what an environment author writes, as plain Python on small hashable values."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from cogrid._core.author.chance import Chance
from cogrid._core.author.layout import FLOOR, WALL, Layout
from cogrid._core.author.look import Looks
from cogrid._core.author.part import Part
from cogrid._core.author.planes import Planes
from cogrid._core.author.rewards import AnyReward, Reward
from cogrid._core.author.values import Item, Outcome, Thing
from cogrid.backend.env_state import EnvState

if TYPE_CHECKING:
    from cogrid._core.see.features import Feature


@dataclass(frozen=True)
class Game:
    """The rules of a world; derive a frozen dataclass from it, whose fields are the world's options.

    A step runs in this order: agents act one after the other, each finding what earlier ones left, and then
    together (`Joint`); all move at once (before they act, with `Moving.first`); those that moved enter what
    they stand on; slots reply to what happened and tick; things tick, then hands; single cells change
    (`OneCell`); agents leave and come back (`Away`); rewards are paid, and ends are looked at. Whatever
    changed in a step also ticks in that step: a countdown of n that an action sets is n − 1 when the step
    ends, and lasts for n − 1 further steps. Functions depend on their arguments alone; each is asked every
    question once, when the rules are compiled.
    """

    #: Letters of the ASCII layouts.
    legend: ClassVar[Mapping[str, Thing]] = MappingProxyType({FLOOR: "floor", WALL: "wall"})
    #: Layouts that can be chosen by name.
    layouts: ClassVar[Mapping[str, Layout]] = MappingProxyType({})
    #: Verbs whose time steps are summed in the infos' counts, so that the mean time is known.
    timed: ClassVar[tuple[str, ...]] = ()
    #: Adds the family's own views to the state.
    state_type: ClassVar[type[EnvState]] = EnvState

    # Rules. Wherever a rule returns a value, it may return a `Chance` of such values.

    def interact(self, held: Item, thing: Thing) -> Outcome | Chance | None:
        """What the interact action does with the thing ahead; None for nothing."""
        return None

    def enter(self, held: Item, thing: Thing) -> Outcome | Chance | None:
        """What happens to an agent that has just walked onto a thing; None for nothing.

        A thing that appears under an agent is not entered; the resulting thing must be walkable.
        """
        return None

    def tick(self, thing: Thing) -> Thing | Chance:
        """What a thing becomes by itself in one step; see `Near` for ticks that depend on what is near."""
        return thing

    def start(self, thing: Thing) -> Thing | Chance:
        """What a letter's thing is when an episode starts; a cell with an agent in it keeps its thing."""
        return thing

    def hand(self, agent: int) -> Item | Chance:
        """What an agent holds when an episode starts: a role, a level, a tool."""
        return None

    def walkable(self, thing: Thing) -> bool:
        """Whether an agent can stand there."""
        return thing == "floor"

    def parts(self) -> tuple[Part | None, ...]:
        """All other rules: actions, joint work, slots, ends and more, each a value of its own kind.

        It is called once; None stands for no part, for rules that depend on an option. A derived game adds to
        the parts of its base: `(*super().parts(), Act(…))`.
        """
        return ()

    def rewards(self) -> tuple[AnyReward, ...]:
        """The terms whose sum is the reward; by default the value of every event, to all agents."""
        return (Reward("score", points=lambda event: event.value, team=True),)

    def default_layouts(self) -> tuple[Layout, ...]:
        """The boards to use when the spec names none."""
        return ()

    def how_to_play(self, things: Collection[Thing], items: Collection[Item]) -> str:
        """What a person has to know to score, in a few sentences; "" for nothing.

        It is given what can occur on the spec's boards. Write actions in backticks, as in "`interact` with a
        chest": a page shows the key instead.
        """
        return ""

    # Names, observations and looks

    def kind(self, thing: Thing) -> str:
        """The name of the thing's type, of a tuple its first entry; "floor" counts as no object."""
        return str(thing[0]) if type(thing) is tuple and thing else str(thing)

    def item_name(self, item: Item) -> str:
        """The name of an item's type."""
        return str(item)

    def lying(self, thing: Thing) -> Item:
        """The item that visibly lies there, or None."""
        return None

    def features(self) -> tuple[Feature, ...]:
        """The parts of the flat observation."""
        return ()

    def planes(self) -> Planes:
        """The planes of the grid observations; it is called once."""
        return Planes()

    def looks(self) -> Looks:
        """How things, items, agents and slots are drawn; it is called once."""
        return Looks()
