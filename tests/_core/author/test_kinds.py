"""Games written wrongly: misspelt hooks, former names, answers that are no things, endless clocks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from cogrid._core.author.kinds import FORMER, KINDS, written
from cogrid.author import (
    Act,
    Aim,
    Chance,
    Game,
    Looks,
    Near,
    OneCell,
    Outcome,
    Part,
    Planes,
    Price,
    Slot,
    Spec,
)
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
    [("intract", "interact"), ("ticks", "tick"), ("part", "parts"), ("feature", "features")],
)
def test_a_name_that_resembles_a_hook(name: str, meant: str) -> None:
    with pytest.raises(
        TypeError, match=rf"Own\.{name} is not a name of `Game`: call it '{meant}' .* or '_{name}'"
    ):
        spec_of(**{name: lambda *about: None})


def test_helpers_and_options_are_left_alone() -> None:
    @dataclass(frozen=True)
    class Named(Lamp):
        starts: int = 3  # an option may have any name
        strength: int = 2  # that of a former hook too

        def brightness_of(self, thing: Any) -> int:
            return self.starts

        def _ticks(self) -> None:
            """A helper."""

    assert written(Spec(Named(), BOARD, observation="none").game) == ("legend",)


@pytest.mark.parametrize("name", FORMER)
@pytest.mark.parametrize("value", [lambda *about: None, ("light",)], ids=["method", "value"])
def test_a_former_name_is_an_error_that_names_its_part(name: str, value: Any) -> None:
    """Nothing would call it: it would be a rule that silently does nothing."""
    with pytest.raises(TypeError, match=rf"^Own\.{name} has no effect: return ([A-Z]\w+)\(") as caught:
        spec_of(**{name: value})
    assert str(caught.value) == f"Own.{name} has no effect: return {FORMER[name]}."
    part = FORMER[name].partition("(")[0]
    assert part in {kind.__name__ for kind in (*KINDS, Planes, Looks)}
    hook = {"Planes": "planes", "Looks": "looks"}.get(part, "parts")
    assert f" in {hook}()" in FORMER[name]


def test_a_former_name_in_a_base_is_found() -> None:
    class Old(Lamp):
        def toggle(self, held: Any, thing: Any) -> Any:
            return None

    class New(Old):
        """A game that was derived long ago."""

    with pytest.raises(TypeError, match=r"^New\.toggle has no effect: return Act\(\"toggle\", thing=…\) in"):
        Spec(New(), BOARD, observation="none")


@pytest.mark.parametrize("hook", ["parts", "planes", "looks"])
def test_values_where_methods_are_meant(hook: str) -> None:
    """Formerly, `planes` was a tuple of names."""
    with pytest.raises(TypeError, match=rf"^Own\.{hook} is \('lamp', 'agent'\): write a method"):
        spec_of(**{hook: ("lamp", "agent")})


def test_an_error_in_parts_says_who_raised_it() -> None:
    def parts() -> tuple[Part, ...]:
        return (Slot(3),)  # type: ignore[arg-type]

    with pytest.raises(TypeError, match=r"^Slot\.name is 3: name the slot") as caught:
        spec_of(parts=parts)
    assert caught.value.__notes__ == ["Own.parts was called"]


@pytest.mark.parametrize(
    ("hook", "wrong", "takes"),
    [
        (
            "parts",
            lambda: (Act("zap", things=None),),
            "Act takes name, thing, agent, aim: did you mean 'thing'?",
        ),
        ("parts", lambda: (Act("zap", aim=Aim(range=2)),), "Aim takes reach, width, adjacent."),
        ("rewards", lambda: (Price("cost", cost=None),), "Price takes name, points, team, shaping."),
        (
            "interact",
            lambda held, thing: Outcome(held, thing, "dig", values=1.0),
            "Outcome takes held, thing, verb, value: did you mean 'value'?",
        ),
    ],
)
def test_a_wrong_keyword_names_the_right_ones(hook: str, wrong: Callable[..., Any], takes: str) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument") as caught:
        made(spec_of(**{hook: wrong}), "numpy")
    assert len(caught.value.__notes__) == 2
    assert caught.value.__notes__[0].startswith(f"Own.{hook} was called")
    assert caught.value.__notes__[1] == takes


def test_other_errors_have_no_such_note() -> None:
    def parts(held: int = 0) -> tuple[Part, ...]:
        return parts(hold=1)  # type: ignore[call-arg]

    with pytest.raises(TypeError, match="unexpected keyword argument") as caught:
        spec_of(parts=parts)
    assert caught.value.__notes__ == ["Own.parts was called"]


def near(tick: Callable[[Any], Any]) -> Any:
    """`parts` of a game whose things tick by what is near, with a function of the game."""
    return lambda self: (Near(lambda thing: 1, tick(self), most=1),)


def test_a_tick_that_near_replaces() -> None:
    class Bakery(Lamp):
        parts = near(lambda self: lambda thing, count: thing)

        def tick(self, thing: Any) -> Any:
            return super().tick(thing)

    with pytest.raises(ValueError, match=r"^Bakery\.tick has no effect: Near\.tick takes its place"):
        Spec(Bakery(), BOARD, observation="none")


@pytest.mark.parametrize(
    "ticking",
    [
        lambda self: lambda thing, count: self.tick(thing),
        lambda self: functools.partial(lambda game, thing, count: game.tick(thing), self),
        lambda self: self.tick,
    ],
    ids=["in a lambda", "in what is no function", "as it is"],
)
def test_a_tick_that_near_calls(ticking: Callable[[Any], Any]) -> None:
    class Bakery(Lamp):
        parts = near(ticking)

        def tick(self, thing: Any, count: int = 0) -> Any:
            return thing

    class Kitchen(Lamp):
        parts = near(lambda self: self.warm)
        tick = Bakery.tick

        def warm(self, thing: Any, count: int) -> Any:
            return self.tick(thing)

    for game in (Bakery(), Kitchen()):
        assert made(Spec(game, BOARD, observation="none"), "numpy")


def test_slots_of_agents_alone() -> None:
    for rule in ({"tick": lambda eyes: 1 - eyes}, {"reply": lambda eyes, event: None}):
        eyes = Slot("eyes", 0, own=True, **rule)
        rules = made(spec_of(parts=lambda eyes=eyes: (eyes,)), "numpy").rules
        assert rules.slots.names == ("eyes 0", "eyes 1")


@pytest.mark.parametrize(
    ("hook", "function", "match"),
    [
        ("tick", lambda thing: None, r"Own\.tick returned None for thing '"),
        ("tick", lambda thing: Chance((None, 1), (thing, 1)), r"Own\.tick returned None for thing"),
        ("start", lambda thing: None, r"Own\.start returned None for thing"),
        (
            "parts",
            lambda: (Near(lambda thing: 1, lambda thing, count: None, most=1),),
            r"Near\.tick of Own returned None for thing '.*' and count 0",
        ),
        (
            "interact",
            lambda held, thing: Outcome(held, None, "take"),
            r"Own\.interact returned Outcome\(.*for hand None and thing '.*: return None or an Outcome",
        ),
        (
            "parts",
            lambda: (OneCell(lambda thing: thing == "lamp", lambda thing: None),),
            r"OneCell\.becomes of Own returned None for thing 'lamp'",
        ),
        (
            "parts",
            lambda: (Slot("order", "soup", tick=lambda order: None),),
            r"Slot\.tick of Own returned None for slot 'order' and thing 'soup'",
        ),
    ],
)
def test_none_is_no_thing(hook: str, function: Callable[..., Any], match: str) -> None:
    with pytest.raises(TypeError, match=f"^{match}"):
        made(spec_of(**{hook: function}), "numpy")


def test_an_answer_that_cannot_be_hashed_says_who_gave_it() -> None:
    def light(thing: Any) -> Any:
        return ["lit", 3] if thing == "lamp" else thing

    cannot = r"returned \['lit', 3\] for thing 'lamp'{}, which cannot be hashed: use tuples"
    with pytest.raises(TypeError, match=rf"^Own\.tick {cannot.format('')}"):
        made(spec_of(tick=light), "numpy")
    near = Near(lambda thing: 1, lambda thing, count: light(thing), most=1)
    with pytest.raises(TypeError, match=rf"^Near\.tick of Own {cannot.format(' and count 0')}"):
        made(spec_of(parts=lambda: (near,)), "numpy")


def test_an_endless_clock_names_its_function_and_value() -> None:
    def burn(thing: Any) -> Any:
        match thing:
            case "lamp":
                return "burning", 0
            case "burning", steps:
                return "burning", steps + 1
        return thing

    adds = r"adds \('burning', \d+\) for \('burning', \d+\): shorten a clock"
    with pytest.raises(ValueError, match=rf"Own\.tick {adds}"):
        made(spec_of(tick=burn), "numpy")
    near = Near(lambda thing: 1, lambda thing, count: burn(thing), most=1)
    with pytest.raises(ValueError, match=rf"Near\.tick of Own {adds}"):
        made(spec_of(parts=lambda: (near,)), "numpy")
