"""Mistakes in the options of a spec or a game."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

import cogrid
from cogrid._core.author.game import Game
from tests.errors.support import ARENA, ROOM, assert_names, complaint


def test_spec_override_refuses_unknown_names_too() -> None:
    spec = cogrid.make(ROOM).spec
    assert_names(
        complaint(lambda: spec.override(cooktime=3), TypeError), "'cooktime'", "'cook_time'", "max_steps"
    )


@pytest.mark.parametrize(
    ("name", "value", "kind", "parts"),
    [
        ("max_steps", 0, ValueError, ("from 1 to 2147483647",)),
        ("max_steps", -5, ValueError, ("from 1 to 2147483647",)),
        ("max_steps", 2**31, ValueError, ("from 1 to 2147483647",)),
        ("max_steps", 2.5, TypeError, ("integer",)),
        ("max_steps", True, TypeError, ("integer",)),
        ("max_steps", None, TypeError, ("integer",)),
        ("num_agents", 0, ValueError, ("from 1",)),
        ("num_agents", 1000, ValueError, ("from 1",)),
        ("num_agents", "2", TypeError, ("integer",)),
        ("num_agents", 2.0, TypeError, ("integer",)),
        ("cook_time", 0, ValueError, ("from 1",)),
        ("cook_time", 2.5, TypeError, ("integer",)),
        ("cook_time", True, TypeError, ("integer",)),
        ("cook_start", "manual", ValueError, ("'auto'", "'interact'")),
        ("cook_start", None, ValueError, ("'auto'", "'interact'")),
        ("observation", "pixels", ValueError, ("'features'", "'lossless'", "'window'", "'none'")),
        ("observation", None, ValueError, ("'features'", "'lossless'", "'window'", "'none'")),
        ("action_set", "diagonal", ValueError, ("'cardinal'", "'rotation'")),
        ("action_set", ["cardinal"], ValueError, ("'cardinal'", "'rotation'")),
        ("observation", {"a": 1}, ValueError, ("'features'", "'lossless'", "'window'", "'none'")),
        ("window", 4, ValueError, ("odd",)),
        ("window", 0, ValueError, ("from 1",)),
        ("window", 3.0, TypeError, ("integer",)),
        ("render_mode", "holographic", ValueError, ("ansi", "None")),
        ("shaping", "much", None, ()),
        ("shaping", None, None, ()),
        ("shaping", float("nan"), None, ()),
        ("shaping", float("inf"), None, ()),
        ("random_start", "yes", None, ()),
        ("random_start", None, None, ()),
        ("soup_value", "much", None, ()),
        ("soup_value", float("nan"), None, ()),
        ("order_bonus", None, None, ()),
    ],
)
def test_bad_option_of_a_kitchen(name, value, kind, parts) -> None:
    kinds = (ValueError, TypeError) if kind is None else (kind,)
    text = complaint(lambda: cogrid.make(ROOM, **{name: value}), *kinds)
    assert_names(text, f"{name}={value!r}", *parts)
    assert cogrid.make(ROOM).reset(seed=0)


@pytest.mark.parametrize(
    ("name", "value", "kind", "parts"),
    [
        ("density", -0.1, ValueError, ("from 0 to 1",)),
        ("density", 1.5, ValueError, ("from 0 to 1",)),
        ("density", float("nan"), ValueError, ("from 0 to 1",)),
        ("density", "thick", TypeError, ()),
        ("density", None, TypeError, ()),
        ("map_size", 2, ValueError, ("from 3",)),
        ("map_size", 10**6, ValueError, ("from 3",)),
        ("map_size", 5.0, TypeError, ("integer",)),
        ("map_size", True, TypeError, ("integer",)),
        ("window", 6, ValueError, ("odd",)),
        ("num_agents", 0, ValueError, ("from 1",)),
    ],
)
def test_bad_option_of_the_arena(name, value, kind, parts) -> None:
    assert_names(complaint(lambda: cogrid.make(ARENA, **{name: value}), kind), f"{name}={value!r}", *parts)


def test_observation_that_a_game_lacks() -> None:
    assert_names(complaint(lambda: cogrid.make(ARENA, observation="features")), "Arena", "features")


@pytest.mark.parametrize(
    ("name", "value", "parts"),
    [
        ("orders", [("onion",) * 4], ("('onion', 'onion', 'onion', 'onion')", "onion, tomato")),
        ("orders", [("leek",)], ("leek", "onion, tomato")),
        ("orders", [()], ("()", "onion, tomato")),
        ("orders", [None], ("None", "onion, tomato")),
        ("bonus_orders", [5], ("5", "onion, tomato")),
        ("orders", [[["onion"]]], ("[['onion']]", "onion, tomato")),
        ("bonus_orders", [("leek",)], ("leek", "onion, tomato")),
        ("recipes", [(("onion",), 5, 0)], ("0", "('onion',)", "cook time")),
        ("recipes", [(("onion",), 5, 2.5)], ("2.5", "('onion',)", "cook time")),
        ("recipes", [(("leek",), 5, 3)], ("leek", "onion, tomato")),
        ("recipes", [("onion",)], ("onion",)),
        ("recipes", [(("onion",), "much", 3)], ("'much'", "onion")),
    ],
)
def test_bad_soup(name, value, parts) -> None:
    assert_names(complaint(lambda: cogrid.make(ROOM, **{name: value}), ValueError, TypeError), *parts)


@pytest.mark.parametrize("soup", [4.5, None, 1, ["onion", 2], ["onion", ["onion"]]])
def test_soups_that_are_no_lists_of_words(soup) -> None:
    assert_names(complaint(lambda: cogrid.make(ROOM, bonus_orders=[soup])), "soup", repr(soup), "onion")


@pytest.mark.parametrize("name", ["orders", "bonus_orders", "recipes", "layout"])
def test_number_in_place_of_a_list(name) -> None:
    assert_names(complaint(lambda: cogrid.make(ROOM, **{name: 5}), TypeError), name, "5")


def test_clock_too_long_for_the_symbols(monkeypatch) -> None:
    monkeypatch.setattr("cogrid._core.compile.symbols.MAX_SYMBOLS", 60)
    assert_names(complaint(lambda: cogrid.make(ROOM, cook_time=77)), "Kitchen", "pot", "60", "shorten")
    monkeypatch.undo()
    assert cogrid.make(ROOM, cook_time=77).spec.game.cook_time == 77


@pytest.mark.parametrize("letter", ["3", "cc", "", 5])
def test_letters_that_no_board_can_hold(letter) -> None:
    @dataclass(frozen=True)
    class Keys(Game):
        legend: ClassVar[Any] = {" ": "floor", "#": "wall", letter: "key"}

    text = complaint(lambda: cogrid.Spec(Keys(), "####\n#12#\n####"))
    assert_names(text, f"Keys.legend has {letter!r}", "one character", "digits 1 to 9")


BOARD = "####\n#12#\n####"


class Coin(Game):
    """A game with a value that is no option."""

    def __init__(self, value: float) -> None:
        self.value = value


class Purse(Game):
    """The same, hidden."""

    def __init__(self, value: float) -> None:
        self._value = value


@dataclass(frozen=True)
class Change(Game):
    """An option, and what its author keeps beside it."""

    value: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "cents", int(100 * self.value))


@pytest.mark.parametrize(
    ("game", "field"),
    [
        (Coin(5.0), "value: float = 5.0"),
        (Purse(5.0), "_value: float = 5.0"),
        (Change(), "cents: int = 100"),
    ],
    ids=repr,
)
def test_what_is_set_on_a_game_beside_its_options(game, field) -> None:
    """Equal games share their rules, and games are compared by their options."""
    name = type(game).__name__
    text = complaint(lambda: cogrid.Spec(game, BOARD), TypeError)
    assert_names(text, f"{name}.{field.partition(':')[0]} is no option", f"above {name}", f"`{field}`")


def test_what_a_game_caches_is_no_option() -> None:
    @dataclass(frozen=True)
    class Cents(Game):
        value: float = 1.0

        @functools.cached_property
        def _cents(self) -> int:
            return int(100 * self.value)

    game = Cents()
    assert game._cents == 100
    assert cogrid.Spec(game, BOARD).override(value=2.0).game._cents == 200


def test_options_that_cannot_be_compared_or_hashed() -> None:
    @dataclass(frozen=True, eq=False)
    class Same(Game):
        value: float = 1.0

    @dataclass(frozen=True)
    class Sizes(Game):
        sizes: Any = (1, 2)

    assert Same(1.0) == Same(5.0), "by the comparison of Game"
    text = complaint(lambda: cogrid.Spec(Same(), BOARD), TypeError)
    assert_names(text, "Same", "eq=False", "leave eq out")
    spec = cogrid.Spec(Sizes(), BOARD)
    for make in (lambda: cogrid.Spec(Sizes([1, 2]), BOARD), lambda: spec.override(sizes=[1, 2])):
        assert_names(complaint(make, TypeError), "Sizes.sizes is [1, 2], which cannot be hashed: use tuples")


def test_an_option_of_a_class_that_is_no_dataclass() -> None:
    class Bare(Game):
        legend: ClassVar[Any] = {" ": "floor", "#": "wall"}
        growth: int = 9

    @dataclass(frozen=True)
    class Decorated(Bare):
        growth_time: int = 9

    spec = cogrid.Spec(Bare(), BOARD)
    text = complaint(lambda: spec.override(growth=5), TypeError)
    assert_names(text, "has no option 'growth': write @dataclass(frozen=True) above Bare.")
    text = complaint(lambda: cogrid.Spec(Decorated(), BOARD).override(growth=5), TypeError)
    assert_names(text, "write @dataclass(frozen=True) above Bare.")
    for name in ("legend", "grow"):
        assert_names(complaint(lambda name=name: spec.override(**{name: 5}), TypeError), "valid ones are")


@pytest.mark.parametrize("maker", [cogrid.CoGridEnv, lambda spec: cogrid.VectorEnv(spec, 2)])
@pytest.mark.parametrize("spec", [ROOM, None])
def test_what_is_not_a_spec(maker, spec) -> None:
    assert_names(complaint(lambda: maker(spec), TypeError), f"needs a Spec, not {spec!r}", "cogrid.make")
