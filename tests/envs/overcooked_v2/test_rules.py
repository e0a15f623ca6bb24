"""OvercookedV2: recipes, indicators, buttons, both ways to start a pot, and what is paid."""

from __future__ import annotations

from collections import Counter as Tally
from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid.envs.overcooked.objects import Counter, Pot, Soup
from cogrid.envs.overcooked_v2.game import KitchenV2
from cogrid.envs.overcooked_v2.layouts import PLANS
from cogrid.envs.overcooked_v2.objects import Button, Recipe
from tests.support import BACKENDS, DOWN, INTERACT, NOOP, RIGHT, UP, keys

each_backend = pytest.mark.parametrize("backend", BACKENDS)
#: Agent 1 stands beside the pot, agent 2 beside the serving; a button and an indicator.
BOARD = """
XPBSX
O1 2R
TD XX
XXXXX
"""
TWO = ("onion", "onion", "tomato")
FACING = {"right": 0, "down": 1, "left": 2, "up": 3}


def made(backend: str = "numpy", **options: Any) -> Any:
    given = {"observation": "lossless", "shaping": 1.0, "infos": True} | options
    return cogrid.make("OvercookedV2-CrampedRoomV2-V0", backend, layout=BOARD, **given)


def state_of(env: Any, *, recipe: Any = TWO, held: tuple[Any, Any] = (None, None), **things: Any) -> Any:
    """A state with a recipe, full hands and some things: pot=…, button=…, and facings."""
    fresh, _ = env.reset_fn(keys(0, 1)[0])
    cells = np.array(fresh.cells)
    places = {"pot": 1, "button": 2, "counter": 0}
    for name, place in places.items():
        if name in things:
            cells[place] = env.spec.symbols.number[things[name]]
    number = env.spec.symbols.item_number
    slot = recipe if isinstance(recipe, Recipe) else Recipe(recipe)
    slots = np.array(fresh.slots)
    slots[0] = env.rules.slots.number[slot]
    facing = things.get("facing", ("up", "up"))
    return env.replace(
        fresh,
        cells=cells,
        held=np.array([number[item] for item in held]),
        agent_dir=np.array([FACING[name] for name in facing]),
        slots=slots,
        **({"agent_pos": np.array(things["at"])} if "at" in things else {}),
    )


def stepped(env: Any, state: Any, *actions: int) -> tuple[Any, Any, list[float], dict[str, Any]]:
    state, obs, rewards, _, infos = env.step_fn(state, np.array(actions, np.int32))
    return state, np.asarray(obs), np.asarray(rewards).tolist(), infos


def recipe_of(env: Any, state: Any) -> Any:
    return env.rules.slots.things[int(np.asarray(state.slots)[0])]


def test_every_layout_is_an_id() -> None:
    ids = {f"OvercookedV2-{name}-V0" for name in PLANS}
    assert len(ids) == 23
    assert ids <= set(cogrid.registered())


@each_backend
@pytest.mark.parametrize(
    ("options", "soup", "paid"),
    [
        ({}, Soup(TWO), 20.0),
        ({}, Soup(("onion",) * 3), 0.0),
        ({"negative_rewards": True}, Soup(("onion",) * 3), -20.0),
        ({"negative_rewards": True}, Soup(TWO), 20.0),
        ({"soup_value": 7.0, "negative_rewards": True}, Soup(("onion",) * 3), -7.0),
    ],
)
def test_any_soup_is_delivered_and_the_recipe_pays(
    backend: str, options: Any, soup: Soup, paid: float
) -> None:
    env = made(backend, **options)
    state = state_of(env, held=(None, soup))
    after, _, rewards, infos = stepped(env, state, NOOP, INTERACT)
    assert rewards == [paid, paid]
    assert env.verbs[int(np.asarray(infos["verb"])[1])] == "deliver"
    assert np.asarray(after.held).tolist() == [0, 0]
    assert recipe_of(env, after) == Recipe(TWO)


@each_backend
def test_both_deliver_in_one_step_by_the_same_recipe(backend: str) -> None:
    """The recipe is drawn once, after all have acted."""
    env = cogrid.make(
        "OvercookedV2-CrampedRoomV2-V0",
        backend,
        layout=BOARD.replace("XPBSX", "XPSSX"),
        sample_recipe_on_delivery=True,
        indicate_successful_delivery=True,
        observation="none",
    )
    state = state_of(env, held=(Soup(TWO), Soup(TWO)), at=[(1, 2), (1, 3)])
    step, drawn = env.rules.backend.compiled(env.step_fn), Tally[Any]()
    for key in keys(3, 120):
        after, _, rewards, _, _ = step(env.replace(state, rng_key=key), np.array([INTERACT] * 2, np.int32))
        assert np.asarray(rewards).tolist() == [40.0, 40.0]
        assert recipe_of(env, after).served == 2
        drawn[recipe_of(env, after).items] += 1
    assert len(drawn) == 4
    assert min(drawn.values()) >= 11  # 30 expected, four standard deviations below


@each_backend
def test_a_delivery_is_shown_on_every_serving_for_one_step(backend: str) -> None:
    env = made(backend, indicate_successful_delivery=True)
    plane = env.feature_names.index("delivered")
    state, obs, _, _ = stepped(env, state_of(env, held=(None, Soup(TWO))), NOOP, INTERACT)
    expected = np.zeros((2, 4, 5))
    expected[:, 0, 3] = 1
    np.testing.assert_array_equal(obs[..., plane], expected)
    _, obs, _, _ = stepped(env, state, NOOP, NOOP)
    assert not obs[..., plane].any()


@each_backend
def test_a_button_is_lit_for_nine_observations_and_costs_five(backend: str) -> None:
    env = made(backend)
    planes = [env.feature_names.index(f"recipe {name}") for name in ("onion", "tomato")]
    state = state_of(env, at=[(1, 2), (1, 3)])
    state, obs, rewards, _ = stepped(env, state, INTERACT, NOOP)
    assert rewards == [-5.0, -5.0]
    seen = []
    for _ in range(12):
        seen.append(obs[0, 0, 2, planes].tolist())
        assert obs[0, 1, 4, planes].tolist() == [2, 1]  # the indicator always shows
        state, obs, rewards, _ = stepped(env, state, NOOP, NOOP)
        assert rewards == [0.0, 0.0]
    assert seen == [[2, 1]] * 9 + [[0, 0]] * 3


@each_backend
def test_a_button_can_be_pressed_while_it_is_lit_and_only_by_an_empty_hand(backend: str) -> None:
    env = made(backend)
    state = state_of(env, button=Button(3), at=[(1, 2), (1, 3)])
    assert stepped(env, state, INTERACT, NOOP)[0].cells[2] == env.spec.symbols.number[Button(9)]
    laden = state_of(env, button=Button(3), at=[(1, 2), (1, 3)], held=("dish", None))
    after, _, rewards, _ = stepped(env, laden, INTERACT, NOOP)
    assert after.cells[2] == env.spec.symbols.number[Button(2)]
    assert rewards == [0.0, 0.0]


@each_backend
@pytest.mark.parametrize(
    ("held", "pot", "paid"),
    [
        ("onion", Pot((), -1), 3.0),
        ("onion", Pot(("onion",), -1), 3.0),
        ("onion", Pot(("onion", "onion"), -1), 0.0),
        ("tomato", Pot(("onion", "onion"), -1), 3.0),
        ("tomato", Pot(("onion", "tomato"), -1), 0.0),
        ("dish", Pot(TWO, 0), 5.0),
        ("dish", Pot(("onion",) * 3, 0), 0.0),
        ("dish", Pot(TWO, 1), 0.0),
    ],
)
def test_shaping_pays_the_actor_for_what_the_recipe_asks(
    backend: str, held: str, pot: Pot, paid: float
) -> None:
    env = made(backend)
    assert stepped(env, state_of(env, held=(held, None), pot=pot), INTERACT, NOOP)[2] == [paid, 0.0]


@each_backend
def test_pots_start_by_an_empty_hand(backend: str) -> None:
    env = made(backend, cook_start="interact")
    number = env.spec.symbols.number
    for pot, paid in ((Pot(TWO, -1), 5.0), (Pot(("onion",), -1), 0.0)):
        after, _, rewards, _ = stepped(env, state_of(env, pot=pot), INTERACT, NOOP)
        assert after.cells[1] == number[Pot(pot.items, 19)]
        assert rewards == [paid, 0.0]
    full = state_of(env, pot=Pot(("onion", "onion"), -1), held=("tomato", None))
    assert stepped(env, full, INTERACT, NOOP)[0].cells[1] == number[Pot(TWO, -1)]


#: What agent 1 does while agent 2 takes a dish, and what agent 2 is paid: hands count as the step began,
#: pots and counters as agent 1 has left them.
DISHES = """
XPXDX
X1 2X
XOXXX
"""


@each_backend
@pytest.mark.parametrize(
    ("held", "pot", "facing", "paid"),
    [
        (None, Pot((), -1), "right", 0.0),
        (None, Pot(("onion",), -1), "right", 3.0),
        ("onion", Pot((), -1), "up", 3.0),  # the first onion counts at once
        ("dish", Pot(("onion",), -1), "right", 0.0),  # a dish in the other hand
        ("dish", Pot(("onion",) * 3, 0), "up", 0.0),  # the soup is gone, and the dish still counts
        ("dish", Pot(("onion",), -1), "left", 0.0),  # put down just now: it lies there, and it counts
    ],
)
def test_the_dish_rule_counts_hands_as_before_and_pots_as_left(
    backend: str, held: Any, pot: Pot, facing: str, paid: float
) -> None:
    assert paid_for_a_dish(backend, DISHES, held, {1: pot}, facing) == paid


@each_backend
def test_a_dish_that_was_in_a_hand_is_meant_for_the_pot_that_is_left(backend: str) -> None:
    """Agent 1 plates the soup of one pot; the other pot is in use, and the dish of before counts for it."""
    pots = {1: Pot(("onion",) * 3, 0), 9: Pot(("onion",), -1)}
    two = DISHES.replace("X1 2X", "X1 2P")
    assert paid_for_a_dish(backend, two, "dish", pots, "up") == 0.0
    assert paid_for_a_dish(backend, two, None, pots, "right") == 3.0


def paid_for_a_dish(backend: str, board: str, held: Any, pots: dict[int, Pot], facing: str) -> float:
    """What agent 2 is paid for taking a dish while agent 1 interacts."""
    env = cogrid.make("OvercookedV2-CrampedRoom-V0", backend, layout=board, shaping=1.0, observation="none")
    fresh, _ = env.reset_fn(keys(0, 1)[0])
    cells, symbols = np.array(fresh.cells), env.spec.symbols
    for cell, pot in pots.items():
        cells[cell] = symbols.number[pot]
    state = env.replace(
        fresh,
        cells=cells,
        held=np.array([symbols.item_number[held], 0]),
        agent_dir=np.array([FACING[facing], FACING["up"]]),
    )
    rewards = env.step_fn(state, np.array([INTERACT, INTERACT], np.int32))[2]
    return float(np.asarray(rewards)[1])


def test_agents_see_the_ingredients_in_orders_of_their_own() -> None:
    """Of two ingredients the planes of one are seen in the place of the other's, or not; in all groups."""
    env = made(permuted_ingredients=[0, 1])
    states, obs = env.reset_fn(keys(5, 200))
    swapped = np.array([thing == ("tomato", "onion") for thing in env.rules.slots.things])
    own = swapped[np.asarray(states.slots)[:, 1:]]  # (B, n)
    assert 60 <= own[:, 0].sum() <= 140
    assert 60 <= (own[:, 0] != own[:, 1]).sum() <= 140
    names = env.feature_names
    change = {"onion": "tomato", "tomato": "onion"}
    other = [names.index(" ".join(change.get(word, word) for word in name.split(" "))) for name in names]
    seen = np.asarray(obs)
    for b in range(200):
        for agent in range(2):
            straight = seen[b, agent] if not own[b, agent] else seen[b, agent][..., other]
            assert straight[1, 0, names.index("onion pile")] == 1
            assert straight[2, 0, names.index("tomato pile")] == 1


def test_a_random_reset_has_the_odds_of_jaxmarl() -> None:
    env = cogrid.make(
        "OvercookedV2-CrampedRoomV2-V0", random_reset=True, random_start=True, observation="none"
    )
    count = 4000
    state, _ = env.reset_fn(keys(8, count))
    symbols = env.spec.symbols
    pots = [symbols.things[k] for k in np.asarray(state.cells)[:, 2]]
    lying = [symbols.things[k] for k in np.asarray(state.cells)[:, 0]]
    hands = [symbols.items[k] for k in np.asarray(state.held)[:, 0]]

    def near(found: int, share: float) -> None:
        deviation = (count * share * (1 - share)) ** 0.5
        assert abs(found - count * share) <= 4.5 * deviation, (found, count * share)

    near(sum(pot == Pot((), -1) for pot in pots), 0.4)
    near(sum(pot.timer == -1 and bool(pot.items) for pot in pots), 0.35)
    near(sum(pot.timer == -1 and len(pot.items) == 3 for pot in pots), 0.35 / 3)
    near(sum(pot.timer > 0 for pot in pots), 0.15)
    near(sum(pot.timer > 0 and pot.items == TWO for pot in pots), 0.15 * 3 / 8)
    near(sum(pot.timer == 0 for pot in pots), 0.1)
    assert {pot.timer for pot in pots} == set(range(-1, 21))
    near(sum(thing == Counter(None) for thing in lying), 0.5)
    near(sum(thing == Counter("dish") for thing in lying), 0.1)
    near(sum(thing == Counter("tomato") for thing in lying), 0.15)
    near(sum(isinstance(thing.item, Soup) for thing in lying), 0.1)
    near(sum(hand is None for hand in hands), 0.5)
    near(sum(hand == "dish" for hand in hands), 0.1)
    near(sum(hand == "onion" for hand in hands), 0.125)
    near(sum(isinstance(hand, Soup) for hand in hands), 0.15)
    recipes = Tally(env.rules.slots.things[k].items for k in np.asarray(state.slots)[:, 0])
    assert len(recipes) == 4
    for times in recipes.values():
        near(times, 0.25)


@each_backend
def test_a_full_pot_that_a_random_reset_left_idle_is_lit_by_any_hand(backend: str) -> None:
    env = made(backend, random_reset=True)
    for held in (None, "dish", "onion", Soup(TWO)):
        state = state_of(env, held=(held, None), pot=Pot(TWO, -1))
        after, _, rewards, infos = stepped(env, state, INTERACT, NOOP)
        assert after.cells[1] == env.spec.symbols.number[Pot(TWO, 19)]
        assert env.verbs[int(np.asarray(infos["verb"])[0])] == "light"
        assert rewards == [0.0, 0.0]
        assert np.asarray(after.held)[0] == env.spec.symbols.item_number[held]


def test_features_tell_the_recipe_while_it_is_shown() -> None:
    env = cogrid.make(
        "OvercookedV2-CrampedRoomV2-V0", layout=BOARD.replace("R", "X"), recipes=["001", "111"], infos=True
    )
    names = env.feature_names
    shown, onion = names.index("recipe shown"), names.index("recipe onion")
    state, obs = env.reset_fn(keys(0, 1)[0])
    assert (obs[:, [shown, onion]] == 0).all()
    state = env.replace(
        state, agent_pos=np.array([(1, 2), (1, 3)]), slots=np.array([env.rules.slots.number[Recipe(TWO)]])
    )
    _, obs, _, _, _ = env.step_fn(state, np.array([INTERACT, NOOP], np.int32))
    np.testing.assert_allclose(obs[:, [shown, onion]], [[1, 2 / 3]] * 2, rtol=1e-6)


def test_the_recipe_can_be_read() -> None:
    env = made()
    ids = env.type_ids
    assert state_of(env).recipe.tolist() == [ids["onion"], ids["onion"], ids["tomato"]]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"recipes": ["002"]}, r"recipe '002' is not possible: it takes three of onion, tomato"),
        ({"recipes": ["00"]}, r"recipe '00' is not possible"),
        ({"recipes": "000"}, r"recipes='000' is not a list"),
        ({"ingredients": 5}, r"ingredients=5 is out of range: it must be from 1 to 4"),
        ({"permuted_ingredients": ["onion", "leek"]}, r"are not some of onion, tomato"),
        ({"permuted_ingredients": [0, 0]}, r"are not some of onion, tomato"),
        ({"negative_rewards": 1}, r"negative_rewards=1 is neither True nor False"),
        ({"cook_start": "never"}, r"cook_start='never' is unknown"),
        (
            {"ingredients": 1},
            r"the layout has a pile of tomato, but ingredients=1 means only onion: set ingredients=2",
        ),
    ],
)
def test_wrong_options_are_refused(options: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        made(**options)


def test_recipes_by_name_and_by_number_are_the_same() -> None:
    by_name = KitchenV2(ingredients=2, recipes=["onion,tomato,onion"])  # type: ignore[list-item,arg-type]
    assert by_name == KitchenV2(ingredients=2, recipes=[[0, 0, 1]])  # type: ignore[list-item,arg-type]
    assert by_name.possible == (TWO,)
    assert len(KitchenV2(ingredients=4).possible) == 20


def test_directions_are_where_they_were() -> None:
    """The numbers of the actions are those of every environment."""
    env = made()
    state = state_of(env, at=[(1, 1), (1, 3)])
    assert stepped(env, state, RIGHT, NOOP)[0].agent_pos.tolist() == [[1, 2], [1, 3]]
    assert stepped(env, state, DOWN, UP)[0].agent_dir.tolist() == [1, 3]
