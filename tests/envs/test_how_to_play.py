"""What a person is told who plays for the first time: every id has a text, and its rules do what it says."""

from __future__ import annotations

import itertools
import re

import pytest

import cogrid
from cogrid._core.author.chance import Chance
from cogrid.envs.overcooked.game import AnyKitchen, Kitchen
from cogrid.envs.overcooked.objects import DISH, Pile, Pot, Serving, Soup
from cogrid.envs.overcooked_v2.game import KitchenV2
from cogrid.envs.registry import family_of, spec_of

IDS = cogrid.registered()
NUMBERS = {"one": 1, "two": 2, "three": 3}
KITCHENS = [id for id in IDS if family_of(id).startswith("overcooked")]


def told(id: str, **options: object) -> str:
    return spec_of(id, options).how_to_play


@pytest.mark.parametrize("id", IDS)
def test_every_id_tells_it_in_sentences(id: str) -> None:
    text, actions = told(id), [action.name for action in spec_of(id, {}).actions]
    parts = text.split("`")
    assert len(parts) % 2 == 1
    assert {*parts[1::2]} <= {*actions}
    assert 60 < len(text) < 800
    assert all(re.fullmatch(r"(`[a-z]+`|[A-Z][a-z]*) [^.]+", part) for part in _sentences(text)), text
    assert re.fullmatch(r"[\w\s.,:;()`-]+", text, re.ASCII)
    assert "_" not in text
    assert not re.search(r"\b(None|True|False|1 (points|steps|cells))\b", text)


def _sentences(text: str) -> list[str]:
    assert text.endswith(".")
    return text[:-1].replace("0.0", "0,0").split(". ")


def _read(soup: str) -> tuple[str, ...]:
    """Back from words: "two onions and one tomato"."""
    found = []
    for part in soup.split(" and "):
        number, name = part.split()
        found += [re.sub("(?<=to)es$|s$", "", name)] * NUMBERS[number]
    return tuple(sorted(found))


def _cooked(kitchen: AnyKitchen, piles: list[str]) -> dict[tuple[str, ...], tuple[float, int]]:
    """Every soup that can be cooked from the piles by the rules: what it scores, and how long it takes."""
    found = {}
    for size, kept in itertools.product((1, 2, 3), (False, True)):
        for items in itertools.combinations_with_replacement(sorted(piles), size):
            pot = Pot((), -1)
            for item in items:
                pot = kitchen.interact(item, pot).thing
            if kept and (started := kitchen.interact(None, pot)) is not None:
                pot = started.thing
            steps = 0
            while pot.timer > 0:
                pot, steps = kitchen.tick(pot), steps + 1
            plated = kitchen.interact(DISH, pot)
            if plated is not None and isinstance(plated.held, Soup):
                found[items] = kitchen.interact(plated.held, Serving()).value, steps
    return found


@pytest.mark.parametrize("id", KITCHENS)
def test_soups_score_and_cook_as_told(id: str) -> None:
    spec = spec_of(id, {})
    game, text = spec.game, spec.how_to_play
    assert isinstance(game, AnyKitchen)
    piles = [thing.item for thing in spec.symbols.things if isinstance(thing, Pile) and thing.item != DISH]
    made = _cooked(game, piles)
    (wait,) = re.findall(r"wait (?:(\d+) steps?|until it is done)\.", text)
    if isinstance(game, KitchenV2):
        named = re.findall(r"drawn from these: ([^.]+)\.", text) or re.findall(
            r"A soup of (.+?) scores", text
        )
        assert {_read(soup) for soup in named[0].split("; ")} == {*game.possible}
        assert f"{game.soup_value:g} points" in text
        assert {steps for _, steps in made.values()} == {int(wait)}
        return
    scoring = {soup: worth for soup, worth in made.items() if worth[0] > 0}
    if alike := re.search(r"A soup of (.+) scores ([\d.]+) points? for everybody", text):
        soups = re.split(r", | or ", alike[1])
        shown = {_read(soup): (float(alike[2]), int(wait)) for soup in soups}
    else:
        found = re.findall(r"(?:: |; )([a-z ]+) \(([\d.]+) points?(?:, (\d+) steps?)?\)", text)
        shown = {_read(soup): (float(value), int(steps or wait)) for soup, value, steps in found}
    assert shown == scoring


def test_options_change_the_text() -> None:
    room = "Overcooked-CrampedRoom-V0"
    assert "wait 7 steps" in told(room, cook_time=7)
    assert "scores 5 points" in told(room, soup_value=5)
    assert "three onions or two onions" not in told(room, orders=())  # two would not start
    assert "three onions, two onions or one onion" in told(room, orders=(), cook_start="interact")
    assert "empty hands to start it" in told(room, cook_start="interact")
    assert told(room, layout="#####\n#1 2#\n#XPS#\n#####") == "No soup can score here."
    assert Kitchen().how_to_play((), ()) == "No soup can score here."
    v2 = "OvercookedV2-GroundedCoordSimple-V0"
    assert "button" in told(v2)
    assert "button" not in told("OvercookedV2-TestTimeSimple-V0")
    assert "costs everybody 20 points" in told(v2, negative_rewards=True)
    assert "Another one is drawn" in told(v2, sample_recipe_on_delivery=True)
    orders = "Overcooked-CrampedMixedKitchen-V0"
    assert "within 9 steps costs everybody 3 points" in told(orders, order_time=9, expiry_cost=3)
    assert "within 100 steps is lost" in told(orders, expiry_cost=0)
    assert "nobody ordered" not in told(orders, wrong_cost=0)
    assert "loses 0.5" in told("Foraging-8x8-2p-3f-V0", penalty=0.5)
    assert "worth 1 point" not in told("Foraging-8x8-2p-3f-V0", normalize_reward=False)
    assert "level 3." in told("Foraging-8x8-2p-2f-coop-V0", max_food_level=3)
    assert "pays everybody 1 point" in told("CommonsHarvest-Open-V0", common=True)
    assert "for 1 step." in told("CommonsHarvest-Open-V0", timeout=1)
    assert "black" not in told("Goals-V0", shared_goals=0)
    assert "own colour" not in told("Goals-V0", own_goals=0)
    assert "Every step" not in told("Goals-V0", step_price=0)
    assert "within 12 steps" in told("SearchRescue-Office-V0", wait=12)
    assert "key" in told("SearchRescue-Office-V0")
    assert "key" not in told("SearchRescue-Ruins-V0")
    assert "red victim" not in told("SearchRescue-Ruins-V0", victims=(1, 1, 0))


@pytest.mark.parametrize("river", [10, 56, 57])
def test_nothing_grows_with_as_much_dirt_as_told(river: int) -> None:
    spec = spec_of("CleanUp-V0", {"river": river})
    (dirt,) = re.findall(r"while (\d+) cells or more", spec.how_to_play)
    assert spec.game.grow("grass", int(dirt)) == "grass"
    assert isinstance(spec.game.grow("grass", int(dirt) - 1), Chance)
