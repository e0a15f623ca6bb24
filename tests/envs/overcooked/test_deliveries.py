"""The score: which soups are worth what, and to whom."""

from __future__ import annotations

from tests.envs.overcooked.boards import (
    SHARED,
    check,
    draw,
    each_backend,
    kitchen,
    picture,
    read,
    state_of,
    step,
)
from tests.support import INTERACT, NOOP, RIGHT, UP


@each_backend
def test_a_delivery_pays_everyone(backend) -> None:
    env = kitchen(SHARED, backend)
    before = """
        X X X P X
        O > X >sS
        X   P   X
        X D X D X
    """
    after = """
        X X X P X
        O > X > S
        X   P   X
        X D X D X
    """
    check(env, before, [NOOP, INTERACT], after, [20.0, 20.0])


@each_backend
def test_two_deliveries_in_one_step_pay_twice(backend) -> None:
    before = """
        X P S S X
        O   ^s^sX
        X D X X X
    """
    check(kitchen(before, backend), before, [INTERACT] * 2, before.replace("^s", "^ "), [40.0, 40.0])


MIXED = """
    X T X P X
    O   X > S
    X   P   X
    X D X D X
"""


def delivers(env, soup) -> list[float]:
    before = MIXED.replace("> S", ">sS")
    state, rewards = step(env, state_of(env, before, soup=soup), [INTERACT])
    assert draw(env, state) == picture(MIXED)  # accepted, whatever it was worth
    return rewards


SOUPS = ("onion,onion,onion", "onion,onion,tomato", "onion,tomato,tomato", "tomato,tomato,tomato")


@each_backend
def test_the_classic_order_is_three_onions(backend) -> None:
    env = kitchen(MIXED, backend)
    assert [delivers(env, soup) for soup in SOUPS] == [[20.0], [0.0], [0.0], [0.0]]
    assert "soup:onion" not in env.type_ids  # the auto rule never makes a small one


@each_backend
def test_an_empty_list_of_orders_takes_every_soup(backend) -> None:
    env = kitchen(MIXED, backend, orders=())
    assert [delivers(env, soup) for soup in SOUPS] == [[20.0]] * 4


@each_backend
def test_other_soups_than_ordered_are_accepted_for_nothing(backend) -> None:
    env = kitchen(MIXED, backend, orders=(("tomato", "onion", "onion"), "onion,onion,onion"))
    assert delivers(env, "onion,onion,tomato") == [20.0]
    assert delivers(env, "onion,onion,onion") == [20.0]
    assert delivers(env, "onion,tomato,tomato") == [0.0]


@each_backend
def test_bonus_orders_pay_twice(backend) -> None:
    soups = (("onion",) * 3, ("tomato",) * 3)
    env = kitchen(MIXED, backend, orders=soups, bonus_orders=soups[1:], soup_value=8.0)
    assert delivers(env, "onion,onion,onion") == [8.0]
    assert delivers(env, "tomato,tomato,tomato") == [16.0]
    assert delivers(env, "onion,tomato,tomato") == [0.0]


@each_backend
def test_recipes_have_their_own_values_and_times(backend) -> None:
    recipes = ((("tomato", "onion", "onion"), 7.5, 4), (("tomato",) * 3, None, 9), (("onion",) * 3, 3, None))
    env = kitchen(MIXED, backend, recipes=recipes, cook_time=15, bonus_orders=(("onion", "onion", "tomato"),))
    assert delivers(env, "onion,onion,tomato") == [15.0]
    assert delivers(env, "tomato,tomato,tomato") == [20.0]  # a recipe is an order where none are given
    assert delivers(env, "onion,onion,onion") == [3.0]
    assert delivers(env, "onion,tomato,tomato") == [0.0]
    before = """
        X T X P X
        O   X   S
        X >tP2  X
        X D X D X
    """
    for inside, timer in ((["onion", "onion"], 4), (["tomato", "tomato"], 9), (["onion", "tomato"], 15)):
        state = state_of(env, before, pots=[[], inside])
        state, _ = step(env, state, [INTERACT])
        assert read(env, state).pot_timer.tolist() == [-1, timer - 1]


@each_backend
def test_tomatoes(backend) -> None:
    env = kitchen(MIXED, backend, shaping=1.0)
    before = """
        X T X P X
        O ^ X   S
        X   P   X
        X D X D X
    """
    check(env, before, [INTERACT], before.replace("^ ", "^t"), [0.0])
    before = """
        X T X P X
        O   X   S
        X >tP1  X
        X D X D X
    """
    check(env, before, [INTERACT], before.replace(">t", "> ").replace("P1", "P2"), [3.0])
    state, _ = step(env, state_of(env, before), [INTERACT])
    ids = env.type_ids
    assert read(env, state).pot_contents.tolist() == [[-1] * 3, [ids["onion"], ids["tomato"], -1]]
    counter = """
        X T X P X
        O >tX   S
        X   P   X
        X D X D X
    """
    check(env, counter, [INTERACT], counter.replace(">tX ", "> Xt"), [0.0])


@each_backend
def test_a_soup_keeps_its_recipe_from_pot_to_counter_to_hand(backend) -> None:
    env = kitchen(MIXED, backend)
    before = """
        X T X P X
        O   X   S
        X >dP*  X
        X D X D X
    """
    state = state_of(env, before, pots=[[], ["onion", "tomato", "tomato"]])
    soup = env.type_ids["soup:onion,tomato,tomato"]
    state, _ = step(env, state, [INTERACT])
    assert read(env, state).agent_inv.tolist() == [[soup]]
    for action in (UP, RIGHT, INTERACT):
        state, _ = step(env, state, [action])
    assert read(env, state).agent_inv.tolist() == [[-1]]
    assert read(env, state).object_state_map[1, 2] == soup
    state, _ = step(env, state, [INTERACT])
    assert read(env, state).agent_inv.tolist() == [[soup]]
    assert not read(env, state).object_state_map.any()
