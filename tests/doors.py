"""A small game of the tests' own in which agents end one by one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from cogrid.author import Ends, Game, Layout, Outcome, Part, Planes, Spec


@dataclass(frozen=True)
class Doors(Game):
    """Leave through a door, for one point to all; inside there is nothing to do."""

    legend: ClassVar[Mapping[str, Any]] = MappingProxyType({" ": "floor", "#": "wall", "E": "door"})

    def interact(self, held: Any, thing: Any) -> Outcome | None:
        return Outcome(held, thing, "leave", 1.0) if thing == "door" else None

    def parts(self) -> tuple[Part, ...]:
        return (Ends(verbs=("leave",)),)

    def planes(self) -> Planes:
        return Planes(
            ("door", "agent"),
            thing=lambda thing: {"door": int(thing == "door")},
            agent=lambda own, facing, held: {"agent": 1 + own},
        )


def hall(board: str, num_agents: int = 2, **options: Any) -> Spec:
    """The spec of a drawn hall; everybody begins facing up."""
    return Spec(Doors(), (Layout("hall", board),), num_agents=num_agents, observation="lossless", **options)
