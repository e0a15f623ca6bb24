"""A small game of the tests' own in which agents end one by one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from cogrid._core.author.answers import Outcome
from cogrid._core.author.game import Game
from cogrid._core.author.layout import Layout
from cogrid._core.compile.spec import Spec


@dataclass(frozen=True)
class Doors(Game):
    """Leave through a door, for one point to all; inside there is nothing to do."""

    legend: ClassVar[Mapping[str, Any]] = MappingProxyType({" ": "floor", "#": "wall", "E": "door"})
    final_verbs: ClassVar[frozenset[str]] = frozenset({"leave"})
    planes: ClassVar[tuple[str, ...]] = ("door", "agent")

    def interact(self, held: Any, thing: Any) -> Outcome | None:
        return Outcome(held, thing, "leave", 1.0) if thing == "door" else None

    def paint(self, thing: Any) -> Mapping[str, int]:
        return {"door": int(thing == "door")}

    def paint_agent(self, own: bool, facing: int, held: Any) -> Mapping[str, int]:
        return {"agent": 1 + own}


def hall(board: str, num_agents: int = 2, **options: Any) -> Spec:
    """The spec of a drawn hall; everybody begins facing up."""
    return Spec(Doors(), (Layout("hall", board),), num_agents=num_agents, observation="lossless", **options)
