"""Parts written wrongly: unknown ones, two of a kind, fields of wrong types, and halves of pairs."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, get_args

import pytest

from cogrid._core.author.kinds import KINDS
from cogrid._core.author.part import Parts
from cogrid._core.author.rewards import AnyReward
from cogrid._core.rules import compile_rules
from cogrid._io.messages import brief
from cogrid.author import (
    Act,
    Aim,
    Away,
    Chance,
    Counted,
    Ends,
    Game,
    Generated,
    Hands,
    Joint,
    Looks,
    Moving,
    Near,
    OneCell,
    Outcome,
    Part,
    Placed,
    Planes,
    Replies,
    Reply,
    Scattered,
    Slot,
    Spec,
)


def nothing(*about: Any) -> None:
    """What a rule returns that does nothing."""


def never(*about: Any) -> bool:
    return False


def unchanged(thing: Any, *about: Any) -> Any:
    return thing


def spec_of(parts: Any, **others: Any) -> Spec:
    """A spec whose game has these parts, and maybe planes and looks."""
    hooks = {name: lambda self, value=value: value for name, value in {"parts": parts, **others}.items()}
    own = dataclass(frozen=True)(type("Own", (Game,), hooks))
    return Spec(own(), "####\n#12#\n####", observation="none")


#: One part of every kind.
PARTS: tuple[Part, ...] = (
    Act("zap", thing=nothing),
    Joint("push", nothing),
    Moving(swaps=True),
    Hands(tick=unchanged),
    Away(never),
    Near(never, unchanged, most=1),
    OneCell(never, unchanged),
    Slot("bell"),
    Placed(1, unchanged),
    Scattered("rock", 0.5),
    Generated(unchanged),
    Ends(hand=never),
)
NAMES = "Act, Joint, Moving, Hands, Away, Near, OneCell, Slot, Placed, Scattered, Generated, Ends"


def test_there_is_one_of_every_kind() -> None:
    assert tuple(map(type, PARTS)) == KINDS, "PARTS above has one of each kind"
    assert [action.name for action in spec_of(PARTS).actions[-3:]] == ["noop", "zap", "push"]


def test_every_kind_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of a kind that nothing reads would do nothing."""
    read: set[type[Part]] = set()

    def reading(method: Callable[..., Any]) -> Callable[..., Any]:
        def read_by(self: Parts, kind: type[Part]) -> Any:
            reader = sys._getframe(1).f_globals["__name__"]
            if not reader.startswith("cogrid._core.author."):  # which only checks
                read.add(kind)
            return method(self, kind)

        return read_by

    for name in ("one", "every"):
        monkeypatch.setattr(Parts, name, reading(getattr(Parts, name)))
    compile_rules(spec_of(PARTS), "numpy")
    assert read == {*KINDS}


@pytest.mark.parametrize(
    "kind",
    [*KINDS, Counted, Planes, Looks, *get_args(AnyReward)],
    ids=lambda kind: kind.__name__,
)
def test_every_function_is_asked(kind: Any) -> None:
    """What is not in `_asks` would be neither checked nor remembered."""
    functions = [field.name for field in fields(kind) if "Callable" in str(field.type)]
    assert list(kind._asks) == [name for name in functions if (kind, name) != (Generated, "draw")]


@dataclass(frozen=True)
class Zap(Act):
    """An action that nothing would compile."""


WRONG = [7, Hands, False, Planes(), Replies("orders"), Zap("zap"), (Hands(),)]


@pytest.mark.parametrize("part", WRONG, ids=repr)
def test_what_is_no_part(part: Any) -> None:
    returned = rf"^Own\.parts returned {re.escape(brief(part))}, which is not a part: give some of {NAMES}"
    with pytest.raises(TypeError, match=returned):
        spec_of((Hands(), part))


def test_none_is_left_out() -> None:
    names = [
        [action.name for action in spec_of(parts).actions]
        for parts in ((None, Act("zap", thing=nothing), None), ())
    ]
    assert names[0] == [*names[1], "zap"]


@pytest.mark.parametrize("parts", [Hands(), None, {"hands": Hands()}, "Hands"], ids=repr)
def test_parts_are_a_tuple(parts: Any) -> None:
    with pytest.raises(TypeError, match=r"^Own\.parts returned .*: return a tuple of parts, even for one"):
        spec_of(parts)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: type(part).__name__)
def test_two_of_a_kind(part: Part) -> None:
    kind = type(part).__name__
    if not part.several:
        with pytest.raises(ValueError, match=rf"^Own\.parts has two {kind} parts: a game has one at most"):
            spec_of((part, part))
    elif hasattr(part, "name"):
        with pytest.raises(ValueError, match=rf"^Own\.parts (names|has) .* '{part.name}'"):
            spec_of((part, part))
        assert spec_of((part, replace(part, name="other"))).actions
    else:
        assert spec_of((part, part)).actions


def test_names_that_are_taken() -> None:
    with pytest.raises(ValueError, match=r"^Own\.parts names the action 'push' twice: write one"):
        spec_of((Act("push", thing=nothing), Joint("push", nothing)))
    with pytest.raises(ValueError, match=r"^Own\.parts has two slots named 'bell': rename one"):
        spec_of((Slot("bell"), Slot("bell", own=True)))
    built_in = "'up', 'down', 'left', 'right', 'interact', 'toggle', 'noop' are built in"
    with pytest.raises(ValueError, match=f"^Own has the action 'up', which is taken: {built_in}, so choose"):
        spec_of((Act("up", thing=nothing),))


@pytest.mark.parametrize("name", ["Interact", "TOGGLE", "Noop", "Up"])
def test_names_that_differ_from_a_built_in_by_case(name: str) -> None:
    """They would be actions beside it."""
    differs = f"^Own has the action '{name}', which differs from '{name.lower()}' in upper and lower case"
    for part in (Act(name, thing=nothing), Joint(name, nothing)):
        with pytest.raises(ValueError, match=differs):
            spec_of((part,))


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ((Act("zap", aim=Aim(reach=2)),), "Act of Own does nothing: give at least one of thing and agent,"),
        ((Act("interact"),), "Act of Own does nothing"),
        ((Act("zap"), Act("hit", agent=nothing)), r'Act\("zap"\) of Own does nothing'),
        (
            (Moving(),),
            "Moving of Own does nothing: give at least one of first, swaps and when, or None in place",
        ),
        ((Hands(),), "Hands of Own does nothing: give at least one of tick and can_act,"),
        (
            (Ends(),),
            "Ends of Own does nothing: give at least one of verbs, hand, remaining, in_hands and in_s",
        ),
    ],
    ids=["an aim alone", "interact", "one of two", "Moving", "Hands", "Ends"],
)
def test_a_part_that_does_nothing(parts: tuple[Part, ...], words: str) -> None:
    with pytest.raises(ValueError, match=f"^{words}"):
        spec_of(parts)


def test_an_aim_is_enough_for_interact() -> None:
    assert spec_of((Act("interact", aim=Aim(reach=2)),)).actions


FIELDS: list[tuple[Callable[[], Any], str]] = [
    (lambda: Act("zap", thing=3), r"Act\.thing is 3: give a function"),
    (lambda: Act("zap", agent="hit"), r"Act\.agent is 'hit': give a function"),
    (lambda: Act("zap", aim=3), r"Act\.aim is 3: give an Aim"),
    (lambda: Act(None), r"Act\.name is None: name the action"),
    (lambda: Joint("push", None), r"Joint\.work is None: give a function"),
    (lambda: Joint("push", "hard"), r"Joint\.work is 'hard': give a function"),
    (lambda: Joint("push", nothing, strength=2), r"Joint\.strength is 2: give a function"),
    (lambda: Joint("push", nothing, aim=(3, 1)), r"Joint\.aim is \(3, 1\): give an Aim"),
    (lambda: Joint("push", nothing, most="two"), r"Joint\.most='two' is not an integer"),
    (lambda: Moving(first="yes"), r"Moving\.first='yes' is neither True nor False"),
    (lambda: Moving(when=True), r"Moving\.when is True: give a function"),
    (lambda: Hands(tick="coat"), r"Hands\.tick is 'coat': give a function"),
    (lambda: Away(None), r"Away\.when is None: give a function"),
    (lambda: Away(never, back="floor"), r"Away\.back is 'floor': give a function"),
    (lambda: Near("lamp", unchanged, most=1), r"Near\.mark is 'lamp': give a function"),
    (lambda: Near(never, None, most=1), r"Near\.tick is None: give a function"),
    (lambda: OneCell(None, unchanged), r"OneCell\.qualifies is None: give a function"),
    (lambda: OneCell(never, None), r"OneCell\.becomes is None: give a function"),
    (lambda: OneCell("lamp", unchanged), r"OneCell\.qualifies is 'lamp': give a function"),
    (lambda: Counted("lamp", 3), r"Counted\.count is 'lamp': give a function"),
    (lambda: Slot(3), r"Slot\.name is 3: name the slot"),
    (lambda: Slot("bell", own="yes"), r"Slot\.own='yes' is neither True nor False"),
    (lambda: Slot("bell", tick="ring"), r"Slot\.tick is 'ring': give a function"),
    (lambda: Slot("bell", reply=nothing, to="ring"), r"Slot\.to is 'ring': give a tuple of verbs"),
    (lambda: Placed(1, None), r"Placed\.thing is None: give a thing, a Chance, or a function"),
    (lambda: Placed(1, ["x"]), r"Placed\.thing is \['x'\], which cannot be hashed: use tuples"),
    (lambda: Placed(1, Chance((None, 1), ("x", 1))), r"Placed\.thing is Chance\(.*: give a thing, a Chance"),
    (lambda: Placed(1, Outcome(None, "x", "put")), r"Placed\.thing is Outcome\(.*: give a thing, a Chance"),
    (lambda: Slot("bell", never), r"Slot\.start is <function never.*>: give a thing, a Chance or a Counted"),
    (lambda: Slot("bell", Chance((never, 1))), r"Slot\.start is Chance\(.*: give a thing, a Chance or"),
    (lambda: Slot("bell", Reply(0)), r"Slot\.start is Reply\(.*: give a thing, a Chance or a Counted"),
    (lambda: Slot("bell", [1]), r"Slot\.start is \[1\], which cannot be hashed: use tuples"),
    (lambda: Slot("bell", Chance(([1], 1))), r"Slot\.start is Chance\(.*, which cannot be hashed"),
    (lambda: Scattered(None, 0.1), r"Scattered\.thing is None: give a thing"),
    (lambda: Scattered(["x"], 0.1), r"Scattered\.thing is \['x'\], which cannot be hashed: use tuples"),
    (
        lambda: Scattered(Chance(("x", 1)), 0.1),
        r"Scattered\.thing is Chance\(.*: give a thing without chance",
    ),
    (lambda: Placed(1, unchanged, strength=2), r"Placed\.strength is 2: give a function"),
    (lambda: Scattered("rock", "many"), r"Scattered\.density='many' is not a number"),
    (lambda: Generated("board"), r"Generated\.draw is 'board': give a function of a Sketch"),
    (lambda: Ends(verbs="leave"), r"Ends\.verbs is 'leave': give a tuple of verbs, even for one"),
    (lambda: Ends(remaining=3), r"Ends\.remaining is 3: give a function"),
    (lambda: Planes("lamp"), r"Planes\.names is 'lamp': give a tuple of names, even for one"),
    (lambda: Planes(("lamp",), thing="lamp"), r"Planes\.thing is 'lamp': give a function"),
    (lambda: Planes(view=(3, 1, 2)), r"Planes\.view is \(3, 1, 2\): give a View"),
    (lambda: Planes(("a",), countdown="late"), r"Planes\.countdown is 'late': give a plane and a number of"),
    (
        lambda: Planes(("a",), countdown=("a",)),
        r"Planes\.countdown is \('a',\): give a plane and a number of",
    ),
    (lambda: Looks(thing="red"), r"Looks\.thing is 'red': give a function"),
]


@pytest.mark.parametrize(("make", "words"), FIELDS)
def test_a_field_of_a_wrong_type(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(TypeError, match=f"^{words}"):
        make()


VALUES: list[tuple[Callable[[], Any], str]] = [
    (lambda: Act("interact", thing=nothing), r'Act\("interact"\) has a thing: write Game\.interact for that'),
    (lambda: Joint("push", nothing, most=0), r"Joint\.most=0 is out of range: it must be from 1 to 1024"),
    (lambda: Near(never, unchanged, most=0), r"Near\.most=0 is out of range"),
    (lambda: Near(never, unchanged, most=1, shape="ring"), r"Near\.shape is 'ring', which is unknown"),
    (lambda: OneCell(never, unchanged, 3, 2), r"OneCell\.weight=3 is out of range"),
    (lambda: Slot("bell", rank=unchanged), r"Slot\.rank has no effect without Slot\.reply: give both"),
    (lambda: Slot("bell", to=("ring",)), r"Slot\.to has no effect without Slot\.reply: give both"),
    (lambda: Scattered("wall", 2.0), r"Scattered\.density=2\.0 is out of range: it must be from 0 to 1"),
    (lambda: Aim(reach=2, adjacent=True), "leave reach and width out"),
    (lambda: Planes(("lamp", "lamp")), r"Planes\.names is \('lamp', 'lamp'\): no name can be there twice"),
    (lambda: Planes(thing=nothing), r"Planes\.thing has no effect without Planes\.names: give both"),
    (lambda: Planes(("lamp",), countdown=("late", 9)), r"Planes\.countdown names 'late', which is not one"),
    (lambda: Planes(countdown=("late", 9)), r"Planes\.countdown names 'late', which is not one"),
]


@pytest.mark.parametrize(("make", "words"), VALUES)
def test_a_field_of_a_wrong_value(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()


NAMED = Planes(("bell",))
#: Functions that nothing would call, and what the game lacks.
UNUSED = [
    ("Planes.away", NAMED, (Slot("bell"),), "the game has no Away"),
    ("Planes.slot", NAMED, (Away(never),), "the game has no slots"),
    ("Planes.shows", NAMED, (), "the game has no slots"),
    ("Planes.shows", Planes(), (), "the game has no slots"),
    ("Planes.sees", NAMED, (Slot("bell"),), "no slot is every agent's own"),
    ("Looks.slot", Looks(), (), "the game has no slots"),
    ("Looks.slot", Looks(), (Slot("bell"),), r"the game has no Planes\.shows"),
]
NEEDED = (Slot("bell", own=True), Away(never))


@pytest.mark.parametrize(("name", "value", "parts", "reason"), UNUSED)
def test_what_needs_another_part(name: str, value: Any, parts: tuple[Part, ...], reason: str) -> None:
    kind, field = name.split(".")
    given = {kind.lower(): replace(value, **{field: nothing})}
    with pytest.raises(ValueError, match=rf"^{kind}\.{field} of Own has no effect: {reason}"):
        spec_of(parts, **given)
    assert spec_of(NEEDED, **{"planes": Planes(shows=never)} | given).actions
