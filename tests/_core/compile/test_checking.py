"""Every function broken once: the error names it, what it was called with and what it returned."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest

from cogrid._core.compile.checking import check_looks
from cogrid._io.messages import brief
from cogrid.author import (
    Act,
    Agents,
    Away,
    BySlot,
    Chance,
    Counted,
    Each,
    Ends,
    Faced,
    Game,
    Hands,
    Joint,
    Meeting,
    Moving,
    Near,
    NearestLying,
    OneCell,
    Outcome,
    Part,
    Place,
    Placed,
    Planes,
    Price,
    Replies,
    Reply,
    Reward,
    Slot,
    SlotFeature,
    Spec,
    Tally,
)
from cogrid.envs.features import Around
from tests._core.worlds import made

BOARD = "#####\n#1l2#\n#####"


def nothing(*about: Any) -> None:
    """What a rule returns that does nothing."""


def never(*about: Any) -> bool:
    return False


def unchanged(thing: Any, *about: Any) -> Any:
    return thing


@dataclass(frozen=True)
class Whole(Game):
    """A lamp that can be lit, and a part of every kind that has functions."""

    legend: ClassVar[Any] = {" ": "floor", "#": "wall", "l": "lamp"}

    def hand(self, agent: int) -> Any:
        return "coat"

    def interact(self, held: Any, thing: Any) -> Any:
        return Outcome(held, thing, "light") if thing == "lamp" else None

    def parts(self) -> tuple[Part, ...]:
        return (
            Act("toggle", agent=nothing),
            Joint("push", nothing),
            Moving(swaps=True),
            Hands(tick=unchanged),
            Away(when=never),
            Near(lambda thing: 1, unchanged, most=2),
            OneCell(lambda thing: thing == "lamp", unchanged),
            Slot("bell", 0, reply=nothing),
            Slot("eyes", "open", own=True, reply=nothing),
            Placed(1, lambda strength: "lamp", weakest=1),
            Ends(hand=never),
        )

    def rewards(self) -> Any:
        return (
            Reward("score", lambda event: event.value, supply=never, demand=never),
            Tally("lamps", never, lambda total: 0.0, most=1),
        )

    def planes(self) -> Planes:
        return Planes(("lamp", "agents"), shows=never)


def broken(name: str, value: Any, base: type[Game] = Whole) -> Spec:
    """A spec whose game has this, a function without self, for a hook or for a field of its parts."""
    kind, _, field = name.rpartition(".")
    hooks = {"": field, "Planes": "planes", "Looks": "looks", "Reward": "rewards", "Tally": "rewards"}
    hook = hooks.get(kind, "parts")

    def method(self: Any, *about: Any) -> Any:
        return changed(getattr(base, hook)(self)) if kind else value(*about)

    def changed(part: Any) -> Any:
        if isinstance(part, tuple):
            return tuple(map(changed, part))
        return replace(part, **{field: value}) if type(part).__name__ == kind else part

    own = type("Own", (base,), {hook: method if kind or callable(value) else value})
    return Spec(dataclass(frozen=True)(own)(), BOARD, observation="lossless")


WRONG: dict[str, tuple[Any, str]] = {
    "parts": (4, "4: return a tuple of parts, even for one"),
    "planes": (("lamp",), r"\('lamp',\): return Planes\(…\)"),
    "looks": (None, r"None: return Looks\(…\)"),
    "rewards": (Reward("one", lambda event: 1.0), r"Reward\(.*: return a tuple of Reward, Price"),
    "features": (7, "7: return a tuple of features, even for a single one"),
    "item_name": (None, "None for item 'coat': return a name"),
    "walkable": ([], r"\[\] for thing '\w+': return True or False"),
    "kind": (3, r"3 for thing '\w+': return a name"),
    "start": (None, r"None for thing '\w+': return a thing"),
    "interact": ("lamp", r"'lamp' for hand 'coat' and thing '\w+': return None or an Outcome"),
    "enter": ("lamp", r"'lamp' for hand 'coat' and thing 'floor': return None or an Outcome"),
    "Act.thing": ("lamp", r"'lamp' for hand 'coat' and thing '\w+': return None or an Outcome"),
    "Act.agent": (
        Outcome(None, None, "hit"),
        r"Outcome.* for 'toggle', hand 'coat' and other 'coat': return None or a Meeting",
    ),
    "Joint.agent": ("coat", r"'coat' for 'push', hand 'coat' and other 'coat': return None or a Meeting"),
    "Joint.work": ("lamp", r"'lamp' for hand 'coat' and thing '\w+': return None or an Outcome"),
    "Joint.strength": (-1, "-1 for hand 'coat': return a whole number of 0 or more"),
    "Moving.when": (None, "None for hand 'coat': return True or False"),
    "Hands.can_act": ("yes", "'yes' for hand 'coat': return True or False"),
    "Away.when": ((), r"\(\) for hand 'coat': return True or False"),
    "Away.back": ([], r"\[\] for thing '\w+': return True or False"),
    "Near.mark": (0.5, r"0\.5 for thing '\w+': return a whole number of 0 or more"),
    "Near.tick": (None, r"None for thing '\w+' and count 0: return a thing"),
    "OneCell.qualifies": ("no", r"'no' for thing '\w+': return True or False"),
    "OneCell.becomes": (None, "None for thing 'lamp': return a thing"),
    "Slot.reply": ("ring", "'ring' for slot 'bell', 0 and Event.*'light'.*: return None or a Reply"),
    "Slot.tick": (None, "None for slot 'bell' and thing 0: return a thing"),
    "Slot.rank": ("first", "'first' for slot 'bell' and thing 0: return a whole number"),
    "Placed.thing": (None, "None for strength 1: return a thing\\.$"),
    "Placed.strength": (0.5, "0.5 for hand 'coat': return a whole number of 0 or more"),
    "Ends.hand": (0.5, "0.5 for hand 'coat': return True or False"),
    "Ends.remaining": (None, r"None for thing '\w+': return a whole number"),
    "Ends.in_hands": ("one", "'one' for hand 'coat': return a whole number"),
    "Ends.in_slots": (None, "None for slot 'bell' and thing 0: return a whole number"),
    "Tally.count": (0.5, r"0\.5 for thing '\w+': return a whole number"),
    "Reward.supply": (0.5, r"0\.5 for thing '\w+' and no hand None: return a whole number"),
    "Reward.demand": (2**31, r"2147483648 for thing '\w+': return a whole number below"),
    "Planes.sees": ("a", "'a' for own slot 'open': return a mapping of planes to planes"),
    "Planes.shows": ("lamp", r"'lamp' for thing '\w+': return True, False or the names of planes"),
    "Planes.thing": (
        {"lamp": 300},
        r"\{'lamp': 300\} for thing '\w+': return a mapping of planes to whole numbers",
    ),
    "Planes.agent": (None, "None for own False and facing 0 and hand 'coat': return a mapping"),
    "Planes.away": ({"agents": -1}, r"\{'agents': -1\} for own False and hand 'coat': return a mapping"),
    "Planes.slot": ({"lamp": 0.5}, r"\{'lamp': 0.5\} for slot 'bell' and thing 0: return a mapping"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_answer_names_function_question_and_answer(name: str) -> None:
    answer, words = WRONG[name]
    with pytest.raises(TypeError, match=rf"^{named(name)} returned {words}"):
        made.__wrapped__(broken(name, lambda *about: answer), "numpy")


def named(name: str) -> str:
    """A function of the game Own as errors name it, for a regular expression."""
    part, _, field = name.rpartition(".")
    part = {"Slot": r'Slot\("bell"\)'}.get(part, part)  # the first of two
    return rf"{part}\.{field} of Own" if part else rf"Own\.{field}"


def test_wrong_answers_that_depend() -> None:
    """Functions that are asked before, or only about some of what occurs."""
    for wrong in ("yes", None):
        answer = {"floor": True, "wall": False, "lamp": wrong}.__getitem__
        with pytest.raises(
            TypeError, match=rf"Own\.walkable returned {wrong!r} for thing 'lamp': return True or False"
        ):
            broken("walkable", answer)
    with pytest.raises(
        ValueError, match=r"Planes\.sees of Own names 'moon' for 'open': the planes are 'lamp', 'agents'"
    ):
        made.__wrapped__(broken("Planes.sees", lambda thing: {"lamp": "moon"}), "numpy")


@pytest.mark.parametrize("field", ["thing", "agent", "away", "slot"])
def test_a_misspelt_plane(field: str) -> None:
    """A kind may go without a plane, but nothing else may."""
    painted = rf"^Planes\.{field} of Own paints 'lam', which is not one of its planes: \('lamp', 'agents'\)"
    with pytest.raises(ValueError, match=painted):
        made.__wrapped__(broken(f"Planes.{field}", lambda *about: {"lam": 1}), "numpy")
    made.__wrapped__(broken(f"Planes.{field}", lambda *about: {"wall": 1}), "numpy")


@pytest.mark.parametrize(
    ("field", "wrong", "words"),
    [
        ("thing", ("red",), r"\('red',\) for thing 'floor': return a tuple of Shapes"),
        ("item", ("red",), r"\('red',\) for item 'coat': return a tuple of Shapes"),
        ("agent", ("red",), r"\('red',\) for agent 0: return a tuple of Shapes"),
        ("glyph", "lamp", "'lamp' for thing 'floor': return two characters"),
    ],
)
def test_a_wrong_drawing(field: str, wrong: Any, words: str) -> None:
    spec = broken(f"Looks.{field}", lambda *about: wrong)
    made.__wrapped__(spec, "numpy")  # pictures alone need it
    with pytest.raises(TypeError, match=rf"^Looks\.{field} of Own returned {words}"):
        check_looks(spec)


def test_none_is_the_usual_drawing() -> None:
    for field in ("thing", "item", "agent", "glyph"):
        check_looks(broken(f"Looks.{field}", nothing))


def variant(**changes: Any) -> Spec:
    """A spec whose game has these in its class."""
    return Spec(dataclass(frozen=True)(type("Own", (Whole,), changes))(), BOARD, observation="none")


def compiled(**changes: Any) -> None:
    """Compile such a spec."""
    made.__wrapped__(variant(**changes), "numpy")


def test_a_text_where_a_tuple_is_meant() -> None:
    with pytest.raises(TypeError, match=r"Own\.timed is the text 'light': write a tuple, even for one verb"):
        compiled(timed="light")


@pytest.mark.parametrize("name", ["timed", "Ends.verbs"])
def test_verbs_that_no_rule_returns(name: str) -> None:
    made.__wrapped__(broken(name, ("light",)), "numpy")
    with pytest.raises(
        ValueError, match=f"^{named(name)} has 'lihgt', which no rule returns: the verbs are 'light'"
    ):
        made.__wrapped__(broken(name, ("lihgt",)), "numpy")


def test_verbs_that_a_slot_waits_for_in_vain() -> None:
    def parts(self: Any) -> Any:
        return (Slot("bell", 0, reply=nothing, to=("light",)), Slot("gong", 0, reply=nothing, to=("lihgt",)))

    with pytest.raises(ValueError, match=r'^Slot\("gong"\)\.to of Own has \'lihgt\', which no rule returns'):
        compiled(parts=parts)


def test_a_slot_may_wait_for_a_verb_of_another_board() -> None:
    def parts(self: Any) -> Any:
        return (Slot("bell", 0, reply=nothing, to=("light",)),)

    def interact(self: Any, held: Any, thing: Any) -> Any:
        if thing == "lamp":
            raise ValueError("this world has no lamps")

    dark = {"layout": BOARD.replace("l", " ")}
    assert made.__wrapped__(replace(variant(parts=parts), **dark), "numpy")
    assert made.__wrapped__(replace(variant(parts=parts, interact=interact), **dark), "numpy")


def test_two_slots_of_one_name() -> None:
    def parts(self: Any) -> Any:
        return Slot("bell 0", "lost"), Slot("bell", "kept", own=True)

    with pytest.raises(
        ValueError, match=r"^Own\.parts has two slots named 'bell 0', one of which is an agent"
    ):
        compiled(parts=parts)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (["x"], r"\['x'\] for thing 'lamp', which cannot be hashed: use tuples"),
        (Outcome(None, "x", "y"), r"Outcome\(.* for thing 'lamp': return a thing"),
        (Chance(("lamp", 1)), r"Chance\(.* for thing 'lamp': return a thing, and write a OneCell for each"),
    ],
)
def test_what_a_cell_cannot_become(wrong: Any, words: str) -> None:
    with pytest.raises(TypeError, match=rf"^OneCell\.becomes of Own returned {words}"):
        made.__wrapped__(broken("OneCell.becomes", lambda thing: wrong), "numpy")


def test_what_cannot_be_placed() -> None:
    words = r"^Placed\.thing of Own returned \['x'\] for strength 1, which cannot be hashed: use tuples"
    with pytest.raises(TypeError, match=words):
        made.__wrapped__(broken("Placed.thing", lambda strength: ["x"]), "numpy")


@pytest.mark.parametrize("wrong", [0.5, None])
def test_slots_that_do_not_count(wrong: Any) -> None:
    counted = Counted(lambda thing: wrong, 3)
    words = rf"^Slot\.start\.count of Own returned {wrong} for thing '\w+': return a whole number"
    with pytest.raises(TypeError, match=words):
        compiled(parts=lambda self: (Slot("stock", counted),))


@pytest.mark.parametrize("value", ["5", None, float("inf")])
def test_replies_that_are_no_numbers(value: Any) -> None:
    """With a term that pays them, and without one."""
    for rewards in ({}, {"rewards": lambda self: (Replies("bells"),)}):
        for field, words in (
            ("tick", "for slot 'bell' and thing 0: return a thing or a Reply with a finite value"),
            ("reply", "for slot 'bell', 0 and Event.*: return None or a Reply with a thing and a finite"),
        ):
            slot: Any = Slot("bell", 0, **{field: lambda *about: Reply(0, value)})
            with pytest.raises(TypeError, match=rf"^Slot\.{field} of Own returned Reply\(.* {words}"):
                compiled(parts=lambda self, slot=slot: (slot,), **rewards)


def test_an_item_that_no_hand_can_hold() -> None:
    lying = r"^Own\.lying returned 'pear' for thing 'lamp', which no hand can hold: return an item or None"
    with pytest.raises(ValueError, match=lying):
        compiled(lying=lambda self, thing: "pear" if thing == "lamp" else None)


def test_one_of_several_parts_is_named() -> None:
    def parts(self: Any) -> Any:
        return (
            Act("zap", thing=nothing),
            Act("hit", thing=lambda held, thing: 5),
            OneCell(never, unchanged),
            OneCell(lambda thing: thing == "lamp", nothing),
            Slot("bell"),
        )

    with pytest.raises(TypeError, match=r'^Act\("hit"\)\.thing of Own returned 5 for hand \'coat\''):
        compiled(parts=parts)
    with pytest.raises(TypeError, match=r"^OneCell\[1\]\.becomes of Own returned None for thing 'lamp'"):
        compiled(parts=lambda self: parts(self)[2:])


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
        compiled(rewards=lambda self: (term,))


def test_ticks_that_answer_outcomes() -> None:
    def burn(thing: Any, count: int) -> Any:
        return Outcome(None, thing, "burn")

    with pytest.raises(
        TypeError, match=r"Near\.tick of Own returned Outcome\(.* for thing '\w+' and count 0"
    ):
        made.__wrapped__(broken("Near.tick", burn), "numpy")


#: Functions that return things, items or other answers, and what they return with one of a wrong kind inside.
WRONG_KINDS = {
    **dict.fromkeys(
        ("hand", "tick", "start", "Hands.tick", "Near.tick", "OneCell.becomes", "Placed.thing"),
        lambda inner: inner,
    ),
    "Slot.tick": lambda inner: inner if type(inner) is not Reply else Reply(inner),
    "Slot.reply": Reply,
    "interact": lambda inner: Outcome(inner, "lamp", "light"),
    "enter": lambda inner: Outcome(None, inner, "enter"),
    "Act.agent": lambda inner: Meeting(None, inner, "hit"),
}


@dataclass(frozen=True)
class Plain(Whole):
    """Without what takes the place of `tick`."""

    def parts(self) -> tuple[Part, ...]:
        return tuple(part for part in super().parts() if not isinstance(part, Near))


@pytest.mark.parametrize("name", WRONG_KINDS)
@pytest.mark.parametrize("inner", [Outcome(None, "x", "y"), Meeting(None, None, "y"), Reply("x")], ids=repr)
def test_answers_of_a_wrong_kind(name: str, inner: Any) -> None:
    """They would be taken for things and items, and go into each other without end."""
    answer = WRONG_KINDS[name](inner)
    with pytest.raises(
        TypeError, match=rf"^{named(name)} returned {type(answer).__name__}\(.* for .*: return"
    ):
        made.__wrapped__(broken(name, lambda *about: answer, Plain if name == "tick" else Whole), "numpy")


def test_an_endless_nest_is_named_without_its_contents() -> None:
    nest: Any = None
    for _ in range(100_000):
        nest = ("coat", nest)
    assert brief(nest) == "a tuple of many values inside each other"


@pytest.mark.parametrize("value", ["5", None, float("inf")])
def test_values_that_are_no_numbers(value: Any) -> None:
    def interact(self: Any, held: Any, thing: Any) -> Any:
        return Outcome(held, thing, "light", value) if thing == "lamp" else None

    with pytest.raises(TypeError, match=r"interact returned Outcome\(.* for hand 'coat' and thing 'lamp'"):
        compiled(interact=interact)


def test_hands_that_count_without_end() -> None:
    def count(held: Any) -> int:
        return (held if isinstance(held, int) else 0) + 1

    def interact(held: Any, thing: Any) -> Any:
        return Outcome(count(held), thing, "count") if thing == "lamp" else None

    def meet(held: Any, other: Any) -> Any:
        return Meeting(count(held), other, "count")

    with pytest.raises(ValueError, match=r"Own\.interact adds \d+ for \d+ and 'lamp': shorten"):
        made.__wrapped__(broken("interact", interact), "numpy")
    with pytest.raises(ValueError, match=r"Act\.agent of Own adds \d+ for"):
        made.__wrapped__(broken("Act.agent", meet), "numpy")


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
    spec = replace(variant(**hooks), observation="features")
    with pytest.raises((TypeError, ValueError), match=rf"{type(part).__name__} of features\(\) .*{words}"):
        made.__wrapped__(spec, "numpy")


@pytest.mark.parametrize("part", [Place(nearest=("pot",)), Each("pot", ("a",), lambda thing: (1.0,))])
def test_features_of_an_unknown_kind(part: Any) -> None:
    spec = replace(variant(features=lambda self: (part,)), observation="features")
    kinds = rf"^{type(part).__name__} names the kind 'pot', but the legend has floor, lamp, wall"
    with pytest.raises(ValueError, match=kinds):
        made.__wrapped__(spec, "numpy")


@pytest.mark.parametrize("wrong", [3, Place, "lamp"])
def test_what_is_no_feature(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"^Own\.features returned \(.*: return a tuple of features"):
        compiled(features=lambda self: (wrong,))


class Own(Around):
    """A feature of an author's, whose function is not known as one."""

    _asks = ()


@dataclass(frozen=True)
class Dark(Whole):
    """What is around divides by zero."""

    kind_of_feature: Any = Around

    def features(self) -> Any:
        return (self.kind_of_feature(("x",), lambda thing: 1 / 0),)


@pytest.mark.parametrize(
    ("kind", "told"), [(Around, "Around.of_thing of Dark was called"), (Own, "Dark.features was called")]
)
def test_an_error_in_a_feature_has_its_name(kind: Any, told: str) -> None:
    """Never that of a lambda."""
    with pytest.raises(ZeroDivisionError) as caught:
        made.__wrapped__(Spec(Dark(kind), BOARD, observation="features"), "numpy")
    assert caught.value.__notes__ == [f"{told} with thing 'floor'"]


def test_a_spec_needs_a_game_and_a_legend_of_values() -> None:
    with pytest.raises(TypeError, match="the game of a spec is the class Whole: give a game, such as MyGame"):
        Spec(Whole, BOARD)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Own.legend has \['lamp'\] for 'l', which cannot be hashed"):
        variant(legend={" ": "floor", "#": "wall", "l": ["lamp"]})


#: Functions whose answers become tables.
ASKED = (
    *("hand", "item_name", "kind", "lying", "start", "interact", "enter"),
    *("Act.thing", "Act.agent", "Joint.work", "Joint.strength", "Joint.agent", "Moving.when"),
    *("Hands.tick", "Hands.can_act", "Away.when", "Away.back", "Near.mark", "Near.tick"),
    *("OneCell.qualifies", "OneCell.becomes", "Slot.tick", "Slot.rank", "Placed.thing", "Placed.strength"),
    *("Ends.hand", "Ends.remaining", "Ends.in_hands", "Ends.in_slots"),
    *("Planes.thing", "Planes.agent", "Planes.slot", "Planes.shows"),
)


@pytest.mark.parametrize("name", ASKED)
def test_an_error_of_the_author_s_own_says_what_was_asked(name: str) -> None:
    with pytest.raises(KeyError, match="oops") as caught:
        made.__wrapped__(broken(name, _oops), "numpy")
    (note,) = caught.value.__notes__
    assert re.match(rf"{named(name)} was called with ", note)


def _oops(*about: Any) -> Any:
    raise KeyError("oops")


@dataclass(frozen=True)
class Bare(Whole):
    """The same, but the second agent has no coat."""

    def hand(self, agent: int) -> Any:
        return None if agent else "coat"


#: Functions that are asked about hands, and an answer that is right.
OF_HANDS: dict[str, Any] = {
    **dict.fromkeys(("interact", "enter", "Act.thing", "Act.agent", "Joint.work", "Joint.agent")),
    **dict.fromkeys(
        ("Moving.when", "Hands.can_act", "Joint.strength", "Ends.in_hands", "Placed.strength"), 1
    ),
    **dict.fromkeys(("Away.when", "Ends.hand"), False),
    **{key: {"agents": 1} for key in ("Planes.agent", "Planes.away")},
    "Hands.tick": "coat",
}


@pytest.mark.parametrize("name", OF_HANDS)
@pytest.mark.parametrize("wrong", ["an error", "a wrong answer"])
def test_the_empty_hand_matters_only_where_a_hand_can_be_empty(name: str, wrong: str) -> None:
    def of_coats(*about: Any) -> Any:
        if None not in about:
            return OF_HANDS[name]
        return ["no hand"] if wrong == "a wrong answer" else {}["no hand"]

    made.__wrapped__(broken(name, of_coats), "numpy")
    with pytest.raises((TypeError, KeyError), match=r"no hand|cannot be hashed"):
        made.__wrapped__(broken(name, of_coats, Bare), "numpy")


def test_the_note_has_the_names_of_the_author_s_arguments() -> None:
    @dataclass(frozen=True)
    class Sad(Game):
        def is_merry(self, held: Any) -> bool:
            return bool({"coat": True}[held])

        def parts(self) -> tuple[Part, ...]:
            return (Moving(when=self.is_merry),)

    with pytest.raises(KeyError) as caught:
        made.__wrapped__(Spec(Sad(), "####\n#12#\n####", observation="none"), "numpy")
    assert caught.value.__notes__ == ["Moving.when of Sad was called with held None"]

    @dataclass(frozen=True)
    class Dear(Whole):
        def rewards(self) -> Any:
            return (Reward("dear", lambda event: {"see": 1.0}[event.verb]),)

    with pytest.raises(KeyError, match="light") as caught:
        made(Spec(Dear(), BOARD, observation="none"), "numpy")
    (note,) = caught.value.__notes__
    assert note.startswith(
        "Reward.points of Dear was called with event Event(verb='light', held='coat', thing="
    )
