"""Every hook broken once: the error names the author's function, what it was asked about and what it said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from cogrid.core.answers import Near, OneCell, Reward
from cogrid.core.game import Game, Outcome
from cogrid.core.rewards import terms
from cogrid.core.spec import Spec
from tests.core.worlds import made

BOARD = "#####\n#1l2#\n#####"


@dataclass(frozen=True)
class Whole(Game):
    """Writes all that the other halves of hooks need."""

    legend: ClassVar[Any] = {" ": "floor", "#": "wall", "l": "lamp"}
    actions: ClassVar[tuple[str, ...]] = ("push",)
    joint: ClassVar[str] = "push"
    planes: ClassVar[tuple[str, ...]] = ("lamp", "agents")

    def hand(self, agent: int) -> Any:
        return "coat"

    def slots(self) -> Mapping[str, Any]:
        return {"bell": 0}

    def own_slots(self) -> Mapping[str, Any]:
        return {"eyes": "open"}

    def away(self, held: Any) -> bool:
        return False

    def near(self) -> Any:
        return Near(lambda thing: 1, most=2)


def broken(hook: str, function: Callable[..., Any]) -> Spec:
    """A spec whose game has this function, without self, for a hook."""

    def method(self: Any, *about: Any) -> Any:
        return function(*about)

    method.__name__, method.__qualname__ = hook, f"Own.{hook}"
    own = type("Own", (Whole,), {hook: method})
    return Spec(dataclass(frozen=True)(own)(), BOARD, observation="lossless")


WRONG: dict[str, tuple[Any, str]] = {
    "near": ((1, 2), r"\(1, 2\): return a Near or None"),
    "view": ((3, 1, 2), r"\(3, 1, 2\): return a View or None"),
    "one_cell": (OneCell(bool, str), r"OneCell\(.*: return a tuple of OneCells, also of one"),
    "placed": (4, "4: return a tuple of Placed, also of one"),
    "slots": (["bell"], r"\['bell'\]: return a Mapping"),
    "own_slots": (["eyes"], r"\['eyes'\]: return a Mapping"),
    "rewards": (Reward("one", lambda event: 1.0), r"Reward\(.*: return a tuple of Reward, Price"),
    "features": (7, "7: return a tuple of features, also of one"),
    "aim": (3, "3 for action 'up': return an Aim"),
    "can_move": ("yes", "'yes' for hand None: return True or False"),
    "can_act": ("yes", "'yes' for hand None: return True or False"),
    "away": ((), r"\(\) for hand None: return True or False"),
    "finished": (0.5, "0.5 for hand None: return True or False"),
    "strength": (-1, "-1 for hand None: return a whole number from 0 on"),
    "item_name": (None, "None for item 'coat': return a name"),
    "walkable": ((), r"\(\) for thing '\w+': return True or False"),
    "spawn": ([], r"\[\] for thing '\w+': return True or False"),
    "remaining": (None, r"None for thing '\w+': return a whole number"),
    "kind": (3, r"3 for thing '\w+': return a name"),
    "glyph": ("lamp", r"'lamp' for thing '\w+': return two characters"),
    "shows": ("lamp", r"'lamp' for thing '\w+': return True, False or the names of planes"),
    "rank": ("first", "'first' for slot 'bell' and thing 0: return a whole number"),
    "paint": ({"lamp": 300}, r"\{'lamp': 300\} for thing '\w+': return a mapping of planes to whole numbers"),
    "paint_agent": (None, "None for own False and facing 0 and hand None: return a mapping"),
    "paint_away": ({"agents": -1}, r"\{'agents': -1\} for own False and hand None: return a mapping"),
    "paint_slot": ({"lamp": 0.5}, r"\{'lamp': 0.5\} for slot 'bell' and thing 0: return a mapping"),
    "tick_near": (None, r"None for thing '\w+' and count 0: return a thing"),
    "start": (None, r"None for thing '\w+': return a thing"),
    "interact": ("lamp", r"'lamp' for hand None and thing '\w+': an interaction returns None or an Outcome"),
    "toggle": ("lamp", r"'lamp' for hand None and thing '\w+': an interaction returns None or an Outcome"),
    "enter": ("lamp", r"'lamp' for hand None and thing 'floor': an interaction returns None or an Outcome"),
    "join": ("lamp", r"'lamp' for hand None and thing '\w+': an interaction returns None or an Outcome"),
    "meet": (
        Outcome(None, None, "hit"),
        r"Outcome.* for 'interact', hand None and other None: return None or",
    ),
    "reply": ("ring", "'ring' for slot 'bell', 0 and Event.*: return None or a Reply"),
    "tick_slot": (None, "None for slot 'bell' and thing 0: return a thing"),
    "sees": ({"lamp": "moon"}, ""),
}


@pytest.mark.parametrize("hook", [hook for hook in WRONG if hook not in ("walkable", "reply", "sees")])
def test_a_wrong_answer_names_hook_question_and_answer(hook: str) -> None:
    answer, words = WRONG[hook]
    with pytest.raises(TypeError, match=rf"^Own\.{hook} answers {words}"):
        made.__wrapped__(broken(hook, lambda *about: answer), "numpy")


def test_wrong_answers_that_depend() -> None:
    """Hooks that are asked before, or only about some of what occurs."""
    spec = broken("walkable", lambda thing: "yes" if thing == "lamp" else thing == "floor")
    with pytest.raises(
        TypeError, match=r"Own\.walkable answers 'yes' for thing 'lamp': return True or False"
    ):
        made.__wrapped__(spec, "numpy")
    with pytest.raises(
        ValueError, match=r"Own\.sees names 'moon' for 'open': the planes are 'lamp', 'agents'"
    ):
        made.__wrapped__(broken("sees", lambda thing: {"lamp": "moon"}), "numpy")

    @dataclass(frozen=True)
    class Ringing(Whole):
        def interact(self, held: Any, thing: Any) -> Any:
            return Outcome(held, thing, "ring") if thing == "lamp" else None

        def reply(self, slot: str, thing: Any, event: Any) -> Any:
            return "ring"

    with pytest.raises(TypeError, match=r"Ringing\.reply answers 'ring' for slot 'bell', 0 and Event"):
        made.__wrapped__(Spec(Ringing(), BOARD, observation="none"), "numpy")


#: Hooks whose answers become tables, without the pairs that others need.
ASKED = (
    *(
        "can_move",
        "can_act",
        "away",
        "finished",
        "strength",
        "tick_hand",
        "hand",
        "item_name",
        "aim",
        "tick_near",
    ),
    *("spawn", "remaining", "kind", "lying", "start", "shows", "paint", "paint_agent", "paint_slot", "rank"),
)


@pytest.mark.parametrize("hook", ASKED)
def test_an_error_of_the_author_s_own_says_what_was_asked(hook: str) -> None:
    with pytest.raises(KeyError, match="oops") as caught:
        made.__wrapped__(broken(hook, _oops), "numpy")
    (note,) = caught.value.__notes__
    assert "was asked" in note


def _oops(*about: Any) -> Any:
    raise KeyError("oops")


def test_the_note_has_the_names_of_the_author_s_arguments() -> None:
    @dataclass(frozen=True)
    class Sad(Whole):
        def can_move(self, held: Any) -> bool:
            return bool({"coat": True}[held])

    with pytest.raises(KeyError) as caught:
        made.__wrapped__(Spec(Sad(), BOARD, observation="none"), "numpy")
    assert caught.value.__notes__ == ["Sad.can_move was asked about held None"]

    @dataclass(frozen=True)
    class Dear(Whole):
        def interact(self, held: Any, thing: Any) -> Any:
            return Outcome(held, thing, "look") if thing == "lamp" else None

        def rewards(self) -> Any:
            return (Reward("dear", lambda event: {"see": 1.0}[event.verb]),)

    with pytest.raises(KeyError, match="look") as caught:
        terms(made(Spec(Dear(), BOARD, observation="none"), "numpy").rules)
    (note,) = caught.value.__notes__
    assert note.startswith("Dear.rewards.<lambda> was asked about event Event(verb='look', held=None, thing=")
