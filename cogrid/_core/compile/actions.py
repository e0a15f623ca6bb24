"""Action sets: what each action number means."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

RIGHT, DOWN, LEFT, UP = range(4)
FACINGS = ("right", "down", "left", "up")
#: Row and column step of each facing.
STRIDES = ((0, 1), (1, 0), (0, -1), (-1, 0))

#: Intents: what an action does with the cell ahead, or on entering a cell. The game's own actions follow.
NOTHING, INTERACT, TOGGLE, ENTER, FURTHER = range(5)


class Action(NamedTuple):
    """One action: the facing after it (absolute or by a turn), whether the agent walks, what it does."""

    name: str
    face: int | None = None
    turn: int = 0
    walks: bool = False
    intent: int = NOTHING

    def facing_after(self, facing: int) -> int:
        return self.face if self.face is not None else (facing + self.turn) % 4


_WALKS = (
    Action("up", face=UP, walks=True),
    Action("down", face=DOWN, walks=True),
    Action("left", face=LEFT, walks=True),
    Action("right", face=RIGHT, walks=True),
)
ACTION_SETS: Mapping[str, tuple[Action, ...]] = MappingProxyType(
    {
        "cardinal": (
            *_WALKS,
            Action("interact", intent=INTERACT),
            Action("toggle", intent=TOGGLE),
            Action("noop"),
        ),
        "rotation": (
            Action("forward", walks=True),
            Action("interact", intent=INTERACT),
            Action("toggle", intent=TOGGLE),
            Action("rotate left", turn=-1),
            Action("rotate right", turn=1),
            Action("noop"),
        ),
        # For games in which nothing is interacted with or toggled.
        "moves": (*_WALKS, Action("noop")),
    }
)
