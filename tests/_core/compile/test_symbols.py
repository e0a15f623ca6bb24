"""The closure: what is numbered, and what is refused in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

import cogrid
from cogrid._core.rules import compile_rules
from cogrid.author import Game, Layout, Outcome, Spec

BOARD = Layout("board", "######\n#12 d#\n######")


def test_the_classic_kitchen_has_four_items_and_32_things() -> None:
    symbols = cogrid.make("Overcooked-CrampedRoom-V0").spec.symbols
    assert (len(symbols.items), len(symbols.things)) == (4, 32)
    assert symbols.items[0] is None


def test_a_clock_that_explodes_is_refused_with_its_sizes() -> None:
    with pytest.raises(ValueError, match=r"more than .* things \([\d,]+ of pot.* shorten a clock"):
        cogrid.make("Overcooked-CrampedRoom-V0", cook_time=32_767)


def test_a_long_clock_widens_the_symbols() -> None:
    env = cogrid.make("Overcooked-CrampedRoom-V0", cook_time=1000)
    assert len(env.spec.symbols.things) == 32 + 980


@dataclass(frozen=True)
class Doors(Game):
    """A door that anybody can open and close."""

    legend: ClassVar[Any] = {" ": "floor", "#": "wall", "d": "closed door"}
    slams: bool = False

    def interact(self, held: Any, thing: Any) -> Outcome | None:
        turned = {"closed door": "open door", "open door": "closed door"}
        return Outcome(held, turned[thing], "turn") if thing in turned else None

    def tick(self, thing: Any) -> Any:
        return "closed door" if self.slams and thing == "open door" else thing

    def walkable(self, thing: Any) -> bool:
        return thing in ("floor", "open door")


@dataclass(frozen=True)
class Wordless(Doors):
    """Answers that are no outcome."""

    def interact(self, held: Any, thing: Any) -> Any:
        return (held, thing)


def test_a_tick_that_closes_on_an_agent_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"tick turns 'open door', where an agent may stand, into 'closed door'"
    ):
        compile_rules(Spec(Doors(slams=True), (BOARD,), observation="none"), "numpy")


def test_an_answer_that_is_no_outcome_is_refused() -> None:
    with pytest.raises(TypeError, match="return None or an Outcome with a verb"):
        compile_rules(Spec(Wordless(), (BOARD,), observation="none"), "numpy")
