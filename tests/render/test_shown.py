"""Orders and recipes in pictures: drawn where agents see them, and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import cogrid
from cogrid._apps.play.session import Session, film_of
from cogrid.author import Game, Looks, Part, Planes, Slot, box
from cogrid.envs.overcooked.orders import Order
from cogrid.render import tiles
from cogrid.render.picture import picture
from cogrid.render.shown import shown_of
from cogrid.render.svg import svg
from cogrid.render.tiles import look_of, views_of
from tests.render.scenes import ONIONS, TOMATOES, first, kitchen, orders, recipe

TILE = 16
OTHER = ("carrot", "carrot", "tomato")


def changed(*scenes: tuple[Any, Any]) -> set[str]:
    """The kinds of the cells that are drawn differently in two scenes."""
    env, state = scenes[0]
    height, width = env.rules.height, env.rules.width
    one, other = (
        picture(env.rules, state, TILE).reshape(height, TILE, width, TILE, 3) for env, state in scenes
    )
    cells = state.cells[(one != other).any(axis=(1, 3, 4)).reshape(-1)]
    return {env.spec.game.kind(env.spec.symbols.things[symbol]) for symbol in cells.tolist()}


def test_orders_are_drawn_at_the_serving() -> None:
    nobody, onions = orders(None), orders(Order(ONIONS, 100))
    assert changed(nobody, nobody) == set()
    assert changed(nobody, onions) == {"serving"}
    assert changed(onions, orders(Order(TOMATOES, 100))) == {"serving"}
    assert changed(onions, orders(None, Order(ONIONS, 100))) == {"serving"}  # the other place of the queue
    assert changed(onions, orders(Order(ONIONS, 100), Order(ONIONS, 100))) == {"serving"}


def test_the_clock_of_an_order_is_drawn_in_twelfths() -> None:
    scenes = [orders(Order(ONIONS, left)) for left in range(1, 101)]
    views = np.array([views_of(env.rules, state) for env, state in scenes])  # (100, cells)
    assert len(np.unique(views, axis=0)) == 12
    assert (views[1:] != views[:-1]).any(axis=1).sum() == 11  # equal ones follow each other


def test_recipes_are_drawn_where_they_can_be_read() -> None:
    plain = recipe(lit=5, served=0)
    assert changed(plain, recipe(OTHER, lit=5, served=0)) == {"indicator", "button"}
    dark = recipe(lit=0, served=0)
    assert changed(dark, recipe(OTHER, lit=0, served=0)) == {"indicator"}
    assert changed(plain, dark) == {"button"}
    assert changed(plain, recipe(lit=5, served=2)) == {"serving"}


def test_a_batch_shows_the_slots_of_each() -> None:
    env, state = orders()
    known = env.rules.slots
    fresh, _ = env.reset_fn(np.arange(12, dtype=np.uint32).reshape(6, 2))
    can_be = [
        [t for t, thing in enumerate(known.things) if (name, thing) in known.can_be] for name in known.names
    ]
    slots = np.array([[able[(3 * k + s) * 7 % len(able)] for s, able in enumerate(can_be)] for k in range(6)])
    many = env.replace(fresh, slots=slots)
    images = picture(env.rules, many, 8)
    assert len(np.unique(images.reshape(6, -1), axis=0)) == 6
    for place, image in enumerate(images):
        one = env.replace(state, slots=slots[place])
        np.testing.assert_array_equal(picture(env.rules, one, 8), image)


def test_a_card_is_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    env, state = orders()
    before = picture(env.rules, state, 9)

    def drawn_again(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(tiles, "draw", drawn_again)
    np.testing.assert_array_equal(picture(env.rules, state, 9), before)
    with pytest.raises(AssertionError):
        picture(env.rules, orders(Order(ONIONS, 50))[1], 9)


def test_who_shows_nothing_has_no_codes() -> None:
    env, state = kitchen()
    assert shown_of(env.rules) is None
    assert views_of(env.rules, state).max() < env.rules.n_things + env.rules.n_agents * env.rules.n_poses


@pytest.mark.parametrize("scene", [orders, recipe])
def test_a_view_tells_what_is_shown(scene: Any) -> None:
    env, state = scene()
    shown, game = shown_of(env.rules), env.spec.game
    shows, slot_look = game.planes().shows, game.looks().slot
    assert shown is not None
    assert shows is not None
    assert slot_look is not None
    for view, symbol in zip(views_of(env.rules, state).tolist(), state.cells.tolist(), strict=True):
        thing = env.spec.symbols.things[symbol]
        added = [
            slot_look(thing, name, env.rules.slots.things[number]) or ()
            for name, number in zip(env.rules.slots.names, state.slots.tolist(), strict=True)
        ]
        expected = tuple(shape for look in added for shape in look) if shows(thing) else ()
        look = look_of(env.rules, view)
        assert look[len(look) - len(expected) :] == expected
        assert bool(expected) == (env.spec.game.kind(thing) in ("serving", "indicator", "button"))


def test_the_page_shows_orders_as_they_come() -> None:
    """In the game, and in its replay."""
    session = Session("Overcooked-CrampedMixedKitchen-V0", people=[], seed=0)
    frame = session.greet()[1]
    rules, sprites, cards = session.env.rules, dict(frame["sprites"]), set()
    cell = frame["views"].index(rules.spec.symbols.number[rules.spec.game.legend["S"]])
    for _ in range(60):
        (frame,) = session.step()
        sprites |= frame["sprites"]
        cards.add(sprites[frame["views"][cell]])
    assert len(cards) > 4
    look: Any = rules.spec.game.looks().slot
    assert svg(look(None, "order 1", Order(ONIONS, 100))) in "".join(cards)
    film = film_of(session.replay())
    assert {film["sprites"][views[cell]] for views in film["views"][1:]} == cards


@dataclass(frozen=True)
class Clocks(Game):
    """Slots that count, each drawn in a look of its own."""

    legend: ClassVar = {" ": "floor", "#": "wall", "C": "clock"}

    def parts(self) -> tuple[Part, ...]:
        return tuple(Slot(f"clock {k}", 0, tick=lambda now: min(now + 1, 200)) for k in range(6))

    def planes(self) -> Planes:
        return Planes(shows=lambda thing: thing == "clock")

    def looks(self) -> Looks:
        return Looks(slot=lambda thing, name, inside: (box("#000000", 0, 0, inside / 200, 1),))


def test_too_many_looks_are_refused() -> None:
    env = cogrid.CoGridEnv(cogrid.Spec(Clocks(), "#####\n#1 C#\n#####", observation="none"))
    with pytest.raises(ValueError, match=r"Clocks have 67,937,289,638,464 looks together.*rounding clocks"):
        picture(env.rules, first(env))
