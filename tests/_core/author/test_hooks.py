"""Games written wrongly: misspelt hooks, halves of pairs, answers that are no things, endless clocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from cogrid._core.author.answers import Near, OneCell, Outcome
from cogrid._core.author.chance import Chance
from cogrid._core.author.game import Game
from cogrid._core.author.hooks import written
from cogrid._core.compile.spec import Spec
from tests._core.worlds import made

BOARD = "#####\n#1l2#\n#####"


class Lamp(Game):
    """A lamp, and whatever a test adds to it."""

    legend: ClassVar[Any] = {" ": "floor", "#": "wall", "l": "lamp"}


def spec_of(**namespace: Any) -> Spec:
    """A spec of a lamp with these hooks, each a function without self."""
    own = {name: _method(value) if callable(value) else value for name, value in namespace.items()}
    return Spec(dataclass(frozen=True)(type("Own", (Lamp,), own))(), BOARD, observation="none")


def _method(function: Any) -> Any:
    return lambda self, *about: function(*about)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("intract", "interact"), ("ticks", "tick"), ("can_moves", "can_move"), ("final_verb", "final_verbs")],
)
def test_a_name_that_resembles_a_hook(name: str, meant: str) -> None:
    with pytest.raises(
        TypeError, match=rf"Own\.{name} is not a hook of a game: call it '{meant}' .* or '_{name}'"
    ):
        spec_of(**{name: lambda *about: None})


def test_helpers_and_options_are_left_alone() -> None:
    @dataclass(frozen=True)
    class Named(Lamp):
        starts: int = 3  # an option may have any name

        def brightness_of(self, thing: Any) -> int:
            return self.starts

        def _ticks(self) -> None:
            """A helper."""

    assert written(Spec(Named(), BOARD, observation="none").game) == ("legend",)


@pytest.mark.parametrize(
    ("hook", "other"),
    [("tick_near", "near"), ("act", "actions"), ("join", "joint"), ("reply", "slots"), ("spawn", "away")],
)
def test_half_of_a_pair(hook: str, other: str) -> None:
    with pytest.raises(TypeError, match=rf"Own\.{hook} is never called, because Own has no '{other}'"):
        spec_of(**{hook: lambda *about: None})


@pytest.mark.parametrize(
    ("hooks", "others"),
    [
        ({"own_slots": lambda: {"eyes": 0}, "tick_slot": lambda slot, thing: 1 - thing}, ()),
        ({"own_slots": lambda: {"eyes": 0}, "reply": lambda slot, thing, event: None}, ()),
        ({"sees": lambda thing: {}}, "own_slots"),
        ({"paint": lambda thing: {}}, "planes"),
        ({"paint_agent": lambda own, facing, held: {}}, "planes"),
        ({"countdown": ("late", 9)}, "planes"),
    ],
)
def test_slots_of_agents_and_planes(hooks: dict[str, Any], others: str) -> None:
    if not others:
        assert set(written(spec_of(**hooks).game)) > set(hooks)
        return
    with pytest.raises(TypeError, match=rf"Own\.{next(iter(hooks))} is never called, .* has no '{others}'"):
        spec_of(**hooks)


@pytest.mark.parametrize(
    ("hooks", "match"),
    [
        ({"tick": lambda thing: None}, r"Own\.tick returned None for thing '"),
        ({"tick": lambda thing: Chance((None, 1), (thing, 1))}, r"Own\.tick returned None for thing"),
        ({"start": lambda thing: None}, r"Own\.start returned None for thing"),
        (
            {"near": lambda: Near(lambda thing: 1, 1), "tick_near": lambda thing, count: None},
            r"Own\.tick_near returned None for thing '.*' and count 0",
        ),
        (
            {"interact": lambda held, thing: Outcome(held, None, "take")},
            r"Own\.interact returned Outcome\(.*for hand None and thing '.*: return None or an Outcome",
        ),
        (
            {"one_cell": lambda: (OneCell(lambda thing: thing == "lamp", lambda thing: None),)},
            r"Own\.one_cell turns 'lamp' into None",
        ),
        (
            {"slots": lambda: {"order": "soup"}, "tick_slot": lambda slot, thing: None},
            r"Own\.tick_slot returned None for slot 'order' and thing 'soup'",
        ),
    ],
)
def test_none_is_no_thing(hooks: dict[str, Any], match: str) -> None:
    for name, hook in hooks.items():
        hook.__name__ = name
    spec = spec_of(**hooks)
    for name in hooks:
        getattr(type(spec.game), name).__name__ = name
    with pytest.raises(TypeError, match=match):
        made(spec, "numpy")


def test_an_answer_that_cannot_be_hashed_says_who_gave_it() -> None:
    @dataclass(frozen=True)
    class Listing(Lamp):
        def tick(self, thing: Any) -> Any:
            return ["lit", 3] if thing == "lamp" else thing

    with pytest.raises(TypeError, match="unhashable type: 'list'") as caught:
        made(Spec(Listing(), BOARD, observation="none"), "numpy")
    assert caught.value.__notes__ == ["Listing.tick was called with thing 'lamp'"]


def test_an_endless_clock_names_its_function_and_value() -> None:
    @dataclass(frozen=True)
    class Endless(Lamp):
        def tick(self, thing: Any) -> Any:
            return (
                ("burning", 0) if thing == "lamp" else ("burning", thing[1] + 1) if len(thing) == 2 else thing
            )

        def kind(self, thing: Any) -> str:
            return thing if isinstance(thing, str) else thing[0]

    match = r"Endless\.tick adds \('burning', \d+\) for \('burning', \d+\): shorten a clock"
    with pytest.raises(ValueError, match=match):
        made(Spec(Endless(), BOARD, observation="none"), "numpy")
