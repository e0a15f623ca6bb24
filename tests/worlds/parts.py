"""Parts: what the parts of a game say, read from `game.parts()` and not from what cogrid makes of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from cogrid.author import (
    Act,
    Aim,
    Away,
    Ends,
    Game,
    Generated,
    Hands,
    Joint,
    Moving,
    Near,
    OneCell,
    Part,
    Placed,
    Scattered,
    Slot,
)

P = TypeVar("P", bound=Part)
Item = Hashable


class PlainParts:
    """The parts of a game: those of which it has one, all of the others, and what absent ones mean."""

    def __init__(self, game: Game) -> None:
        parts = game.parts()
        self.acts = {part.name: part for part in parts if isinstance(part, (Act, Joint))}
        self.joint = only(parts, Joint)
        self.moving = only(parts, Moving) or Moving()
        self.hands = only(parts, Hands) or Hands()
        self.leaving = only(parts, Away)
        self.near = only(parts, Near)
        self.one_cell = every(parts, OneCell)
        self.slots = every(parts, Slot)
        self.placed = every(parts, Placed)
        self.scattered = only(parts, Scattered)
        self.generated = only(parts, Generated)
        self.ends = only(parts, Ends) or Ends()

    def aim(self, action: str) -> Aim:
        return self.acts[action].aim if action in self.acts else Aim()

    def can_move(self, held: Item) -> bool:
        return self.moving.when is None or bool(self.moving.when(held))

    def can_act(self, held: Item) -> bool:
        return self.hands.can_act is None or bool(self.hands.can_act(held))

    def is_away(self, held: Item) -> bool:
        return self.leaving is not None and bool(self.leaving.when(held))

    def slots_of(self, num_agents: int) -> dict[str, Slot]:
        """The slots by name, in the order in which events are offered to them."""
        found = {}
        for slot in self.slots:
            names = [f"{slot.name} {number}" for number in range(num_agents)] if slot.own else [slot.name]
            found.update(dict.fromkeys(names, slot))
        return found


def only(parts: Sequence[Part], kind: type[P]) -> P | None:
    found = every(parts, kind)
    return found[0] if found else None


def every(parts: Sequence[Part], kind: type[P]) -> tuple[P, ...]:
    return tuple(part for part in parts if isinstance(part, kind))


def strength(of: Callable[[Item], int] | None, held: Item) -> int:
    """What a hand counts in a part with such a function; 1 if it has none."""
    return 1 if of is None else of(held)
