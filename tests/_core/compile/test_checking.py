"""Every hook broken once: the error names the author's function, what it was called with and what it said."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from cogrid._core.author.answers import BySlot, Meeting, Near, OneCell, Outcome, Placed, Price, Reward, Tally
from cogrid._core.author.game import Game
from cogrid._core.compile.checking import check_looks
from cogrid._core.compile.spec import Spec
from cogrid._core.see.features import Agents, Each, Faced, NearestLying, SlotFeature
from tests._core.worlds import made

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
    "one_cell": (OneCell(bool, str), r"OneCell\(.*: return a tuple of OneCells, even for a single one"),
    "placed": (4, "4: return a tuple of Placed, even for a single one"),
    "slots": (["bell"], r"\['bell'\]: return a Mapping"),
    "own_slots": (["eyes"], r"\['eyes'\]: return a Mapping"),
    "rewards": (Reward("one", lambda event: 1.0), r"Reward\(.*: return a tuple of Reward, Price"),
    "features": (7, "7: return a tuple of features, even for a single one"),
    "aim": (3, "3 for action 'up': return an Aim"),
    "can_move": (None, "None for hand None: return True or False"),
    "can_act": ("yes", "'yes' for hand None: return True or False"),
    "away": ((), r"\(\) for hand None: return True or False"),
    "finished": (0.5, "0.5 for hand None: return True or False"),
    "strength": (-1, "-1 for hand None: return a whole number of 0 or more"),
    "item_name": (None, "None for item 'coat': return a name"),
    "walkable": ((), r"\(\) for thing '\w+': return True or False"),
    "spawn": ([], r"\[\] for thing '\w+': return True or False"),
    "remaining": (None, r"None for thing '\w+': return a whole number"),
    "scattered": (("wall", 2.0), r"\('wall', 2.0\): return None or a thing and its density from 0 to 1"),
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
    "interact": ("lamp", r"'lamp' for hand None and thing '\w+': return None or an Outcome"),
    "toggle": ("lamp", r"'lamp' for hand None and thing '\w+': return None or an Outcome"),
    "enter": ("lamp", r"'lamp' for hand None and thing 'floor': return None or an Outcome"),
    "join": ("lamp", r"'lamp' for hand None and thing '\w+': return None or an Outcome"),
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
    with pytest.raises(TypeError, match=rf"^Own\.{hook} returned {words}"):
        made.__wrapped__(broken(hook, lambda *about: answer), "numpy")


def test_wrong_answers_that_depend() -> None:
    """Hooks that are asked before, or only about some of what occurs."""
    for wrong in ("yes", None):
        answer = {"floor": True, "wall": False, "lamp": wrong}.__getitem__
        with pytest.raises(
            TypeError, match=rf"Own\.walkable returned {wrong!r} for thing 'lamp': return True or False"
        ):
            broken("walkable", answer)
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

    with pytest.raises(TypeError, match=r"Ringing\.reply returned 'ring' for slot 'bell', 0 and Event"):
        made.__wrapped__(Spec(Ringing(), BOARD, observation="none"), "numpy")


@pytest.mark.parametrize("hook", ["paint", "paint_agent", "paint_away", "paint_slot"])
def test_a_misspelt_plane(hook: str) -> None:
    """A kind may go without a plane, but nothing else may."""
    painted = rf"^Own\.{hook} paints 'lam', which is not one of its planes: \('lamp', 'agents'\)"
    with pytest.raises(ValueError, match=painted):
        made.__wrapped__(broken(hook, lambda *about: {"lam": 1}), "numpy")
    made.__wrapped__(broken(hook, lambda *about: {"wall": 1}), "numpy")


@pytest.mark.parametrize("hook", ["look", "look_item", "look_agent"])
def test_a_wrong_drawing(hook: str) -> None:
    spec = broken(hook, lambda *about: ("red",))
    made.__wrapped__(spec, "numpy")  # pictures alone need it
    with pytest.raises(
        TypeError, match=rf"^Own\.{hook} returned \('red',\) for .*: return a tuple of Shapes"
    ):
        check_looks(spec)


def test_placed_takes_a_function() -> None:
    with pytest.raises(TypeError, match="Placed's thing is 'gem': give a function"):
        Placed(1, "gem")  # type: ignore[arg-type]


def variant(**changes: Any) -> Spec:
    """A spec whose game has these in its class."""
    return Spec(dataclass(frozen=True)(type("Own", (Whole,), changes))(), BOARD, observation="none")


def compiled(**changes: Any) -> None:
    """Compile such a spec."""
    made.__wrapped__(variant(**changes), "numpy")


def lights(self: Any, held: Any, thing: Any) -> Any:
    return Outcome(held, thing, "light") if thing == "lamp" else None


def test_texts_where_a_tuple_is_meant() -> None:
    with pytest.raises(
        TypeError, match=r"Own\.actions is the text 'push': write a tuple, even for one action"
    ):
        variant(actions="push")
    with pytest.raises(
        TypeError, match=r"Own\.final_verbs is the text 'light': write a tuple, even for one verb"
    ):
        compiled(final_verbs="light", interact=lights)


@pytest.mark.parametrize("hook", ["final_verbs", "timed"])
def test_verbs_that_no_rule_says(hook: str) -> None:
    compiled(interact=lights, **{hook: ("light",)})
    with pytest.raises(
        ValueError, match=f"Own.{hook} has 'lihgt', which no rule returns: the verbs are 'light'"
    ):
        compiled(interact=lights, **{hook: ("lihgt",)})


def test_two_terms_of_one_name() -> None:
    term = Reward("points", lambda event: event.value)
    with pytest.raises(ValueError, match=r"Own\.rewards has two terms named 'points': rename one"):
        compiled(rewards=lambda self: (term, term))


@pytest.mark.parametrize(
    "term",
    [
        Reward("points", lambda event: "one"),
        Price("points", lambda action, held: "one"),
        Tally("points", count=lambda thing: 1, points=lambda total: "one", most=1),
        BySlot("points", "bell", lambda event, thing: "one"),
    ],
    ids=lambda term: type(term).__name__,
)
def test_points_that_are_no_numbers(term: Any) -> None:
    with pytest.raises(TypeError, match=r"^the term 'points' pays 'one' for .+: return a number"):
        compiled(interact=lights, rewards=lambda self: (term,))


def test_ticks_that_answer_outcomes() -> None:
    def tick_near(self: Any, thing: Any, count: int) -> Any:
        return Outcome(None, thing, "burn")

    with pytest.raises(TypeError, match=r"Own\.tick_near returned Outcome\(.* for thing '\w+' and count 0"):
        compiled(tick_near=tick_near)


@pytest.mark.parametrize("value", ["5", None, float("inf")])
def test_values_that_are_no_numbers(value: Any) -> None:
    def interact(self: Any, held: Any, thing: Any) -> Any:
        return Outcome(held, thing, "light", value) if thing == "lamp" else None

    with pytest.raises(TypeError, match=r"interact returned Outcome\(.* for hand None and thing 'lamp'"):
        compiled(interact=interact)


def test_hands_that_count_without_end() -> None:
    def interact(self: Any, held: Any, thing: Any) -> Any:
        return (
            Outcome((held if isinstance(held, int) else 0) + 1, thing, "count") if thing == "lamp" else None
        )

    def meet(self: Any, action: str, held: Any, other: Any) -> Any:
        return Meeting((held if isinstance(held, int) else 0) + 1, other, "count")

    with pytest.raises(ValueError, match=r"interact adds \d+ for \d+ and 'lamp': shorten"):
        compiled(interact=interact)
    with pytest.raises(ValueError, match=r"meet adds \d+ for"):
        compiled(meet=meet)


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (
            Faced(("a", "b"), lambda thing: (0.25,)),
            r"labels \('a', 'b'\), but its function returns 1 number",
        ),
        (Faced(("a",), lambda thing: 0.25), "returns one number instead of a tuple"),
        (Agents(("a",), lambda item: ()), "returns 0 numbers"),
        (Each("lamp", ("a",), lambda thing: (5.0,)), r"returns 5\.0: stay within -1 and 1"),
        (Faced(("a",), lambda thing: (0.5,) if thing == "lamp" else ()), "returns 0 numbers"),
        (Faced(("a",), lambda thing: ("1",)), r"returns \('1',\) for '\w+': return a tuple of numbers"),
        (SlotFeature("bell", ("a", "b"), lambda thing: (0.25,)), r"labels \('a', 'b'\), .* returns 1 number"),
        (SlotFeature("bell", ("a",), lambda thing: 0.25), "returns one number instead of a tuple"),
        (SlotFeature("bell", ("a",), lambda thing: ("x",)), r"returns \('x',\) for 0: return a tuple"),
        (SlotFeature("bell", ("a",), lambda thing: (2.0,)), r"returns 2\.0: stay within -1 and 1"),
        (NearestLying(("a", "b"), lambda item: 2), r"labels \('a', 'b'\), .* returns 2 for 'coat': return"),
        (NearestLying(("a",), lambda item: (1.0,)), r"returns \(1\.0,\) for 'coat': return the number of"),
    ],
)
def test_features_have_a_number_for_each_label(part: Any, words: str) -> None:
    hooks = {
        "features": lambda self: (part,),
        "lying": lambda self, thing: "coat" if thing == "lamp" else None,
    }
    spec = dataclasses.replace(variant(**hooks), observation="features")
    with pytest.raises((TypeError, ValueError), match=rf"{type(part).__name__} of features\(\) .*{words}"):
        made.__wrapped__(spec, "numpy")


def test_a_spec_needs_a_game_and_a_legend_of_values() -> None:
    with pytest.raises(TypeError, match="the game of a spec is the class Whole: give a game, such as MyGame"):
        Spec(Whole, BOARD)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Own.legend has \['lamp'\] for 'l', which cannot be hashed"):
        variant(legend={" ": "floor", "#": "wall", "l": ["lamp"]})
    with pytest.raises(TypeError, match="Near's mark='lamp' is not a function of a thing"):
        Near("lamp", most=1)  # type: ignore[arg-type]


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
    assert "was called" in note


def _oops(*about: Any) -> Any:
    raise KeyError("oops")


def test_the_note_has_the_names_of_the_author_s_arguments() -> None:
    @dataclass(frozen=True)
    class Sad(Whole):
        def can_move(self, held: Any) -> bool:
            return bool({"coat": True}[held])

    with pytest.raises(KeyError) as caught:
        made.__wrapped__(Spec(Sad(), BOARD, observation="none"), "numpy")
    assert caught.value.__notes__ == ["Sad.can_move was called with held None"]

    @dataclass(frozen=True)
    class Dear(Whole):
        def interact(self, held: Any, thing: Any) -> Any:
            return Outcome(held, thing, "look") if thing == "lamp" else None

        def rewards(self) -> Any:
            return (Reward("dear", lambda event: {"see": 1.0}[event.verb]),)

    with pytest.raises(KeyError, match="look") as caught:
        made(Spec(Dear(), BOARD, observation="none"), "numpy")
    (note,) = caught.value.__notes__
    assert note.startswith("Dear.rewards.<lambda> was called with event Event(verb='look', held=None, thing=")
