"""Digests: texts without addresses, orders of sets or integer widths; every field of every part counts."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from cogrid._core.author.kinds import KINDS
from cogrid._core.digest import digest, text
from cogrid._core.rules import compile_rules
from cogrid.author import (
    Act,
    Aim,
    Away,
    Chance,
    Ends,
    Game,
    Hands,
    Joint,
    Meeting,
    Moving,
    Near,
    OneCell,
    Outcome,
    Part,
    Placed,
    Reply,
    Scattered,
    Slot,
    Spec,
)


@dataclass(frozen=True)
class Pot:
    items: frozenset[str]
    timer: int = 0


class Nameless:
    """Its repr is an address."""


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (frozenset({"b", "a"}), "{'a', 'b'}"),
        (Pot(frozenset({"b", "a"}), 3), "Pot({'a', 'b'}, 3)"),
        (("soup", None, 1.5), "tuple('soup', None, 1.5)"),
        ({"b": 1, "a": 2}, "{'a': 2, 'b': 1}"),
        (np.array([1, 2], np.int8), "[1, 2]"),
        (np.array([1, 2], np.int64), "[1, 2]"),
        (np.int16(4), "4"),
        (Nameless(), "Nameless"),
        (lambda thing: 0, "function"),
    ],
)
def test_text_of_values(value: Any, words: str) -> None:
    assert text(value) == words


BOARD = "#######\n#1 x 2#\n# y   #\n#     #\n#######"
#: What a part is changed to, field by field; the rest of it is as in `PARTS`.
CHANGES: Mapping[str, Any] = {
    "Act.name": "shout",
    "Act.thing": lambda held, thing: Outcome("b", thing, "call") if thing == "x" else None,
    "Act.agent": lambda held, other: Meeting(held, "b", "greet"),
    "Act.aim": Aim(reach=2),
    "Joint.name": "heave",
    "Joint.work": lambda held, total, thing: Outcome(held, thing, "strain") if thing == "x" else None,
    "Joint.most": 4,
    "Joint.strength": lambda held: 2,
    "Joint.aim": Aim(adjacent=True),
    "Joint.agent": lambda held, other: Meeting(held, "b", "bump"),
    "Moving.first": True,
    "Moving.swaps": True,
    "Moving.when": lambda held: held != "b",
    "Hands.tick": lambda held: "b" if held == "a" else held,
    "Hands.can_act": lambda held: held != "b",
    "Away.when": lambda held: held == "b",
    "Away.back": lambda thing: thing == "floor",
    "Near.mark": lambda thing: int(thing == "y"),
    "Near.tick": lambda thing, count: "x" if thing == "y" and count else thing,
    "Near.most": 3,
    "Near.radius": 2,
    "Near.shape": "square",
    "OneCell.qualifies": lambda thing: thing == "y",
    "OneCell.becomes": lambda thing: "y",
    "OneCell.weight": 2,
    "OneCell.out_of": 5,
    "OneCell.since": 3,
    "Slot.name": "gong",
    "Slot.start": 1,
    "Slot.reply": lambda thing, event: Reply(1 - thing, 2.0),
    "Slot.tick": lambda thing: 1 - thing,
    "Slot.rank": lambda thing: -thing,
    "Slot.own": True,
    "Slot.to": ("call",),
    "Placed.count": 2,
    "Placed.thing": "y",
    "Placed.weakest": 1,
    "Placed.apart": 2,
    "Placed.margin": 2,
    "Placed.strength": lambda held: 2,
    "Scattered.thing": "y",
    "Scattered.density": 0.5,
    "Ends.verbs": ("call",),
    "Ends.hand": lambda held: held == "b",
    "Ends.remaining": lambda thing: int(thing == "y"),
    "Ends.in_hands": lambda held: int(held == "b"),
    "Ends.in_slots": lambda name, thing: thing,
}
PARTS: tuple[Part, ...] = (
    Act(
        "call",
        thing=lambda held, thing: Outcome(held, thing, "call") if thing == "x" else None,
        agent=lambda held, other: Meeting(held, other, "greet"),
    ),
    Joint(
        "push", lambda held, total, thing: Outcome(held, "floor", "push") if thing == "x" else None, most=2
    ),
    Moving(when=lambda held: True),
    Hands(can_act=lambda held: True),
    Away(when=lambda held: held == "c", back=lambda thing: thing in ("floor", "x")),
    Near(
        lambda thing: int(thing == "x"), lambda thing, count: "y" if thing == "x" and count > 1 else thing, 2
    ),
    OneCell(lambda thing: thing == "x", lambda thing: "floor", out_of=4),
    Slot("bell", 0, reply=lambda thing, event: Reply(1 - thing, 1.0), tick=lambda thing: thing),
    Slot("other", 0, reply=lambda thing, event: Reply(1 - thing, 1.0)),
    Placed(1, "x", strength=lambda held: 1),
    Scattered("x", 0.25),
    Ends(verbs=("greet",), hand=lambda held: held == "c", remaining=lambda thing: int(thing == "x")),
)


@dataclass(frozen=True)
class Own(Game):
    """A world with every part."""

    changed: Part | None = None  # takes the place of the first of its kind
    legend: ClassVar[Any] = {" ": "floor", "#": "wall", "x": "x", "y": "y"}

    def hand(self, agent: int) -> Any:
        return ("a", "c")[agent] if agent else Chance(("a", 1), ("b", 1))

    def walkable(self, thing: Any) -> bool:
        return bool(thing != "wall")

    def parts(self) -> tuple[Part, ...]:
        replaced = next((part for part in PARTS if type(part) is type(self.changed)), None)
        return tuple(self.changed if part is replaced and self.changed else part for part in PARTS)


def digest_with(part: Part | None) -> str:
    """The digest of the world with one part changed; the option itself is not in it."""
    return digest(compile_rules(Spec(Own(part), BOARD, observation="none"), "numpy"))


def test_every_field_of_every_part_is_in_the_digest() -> None:
    fields = {f"{kind.__name__}.{field.name}" for kind in KINDS for field in dataclasses.fields(kind)}
    # Array code, which no digest can read.
    assert fields - set(CHANGES) == {"Generated.draw"}, "CHANGES above has another value for every field"
    before = digest_with(None)
    for name, value in CHANGES.items():
        kind, field = name.split(".")
        part = next(part for part in PARTS if type(part).__name__ == kind)
        assert digest_with(dataclasses.replace(part, **{field: value})) != before, name  # type: ignore[type-var]
    first = next(part for part in PARTS if isinstance(part, Slot))
    assert digest_with(dataclasses.replace(first)) == before
