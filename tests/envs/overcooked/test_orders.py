"""The order queue: who is answered, what expires and costs, how often orders come, what is seen of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid._core.compile.spec import Spec
from cogrid.envs.overcooked.objects import Soup
from cogrid.envs.overcooked.orders import Order, OrderKitchen
from tests._core.worlds import after, bounds, fresh, made, parity
from tests.envs.overcooked.boards import each_backend
from tests.support import BACKENDS, keys

BOARD = """
    XPSSX
    O1 2T
    XDXXX
"""
ONION, TOMATO = ("onion",) * 3, ("tomato",) * 3
SPEC = Spec(OrderKitchen(cook_time=3, order_gap=10**6), BOARD, observation="lossless")
UP = 3


def serving(backend: str, orders: list[Any], *held: Any) -> Any:
    """Both agents at a serving with these soups, and these orders open."""
    env = made(SPEC, backend)
    number, items = env.rules.slots.number, env.spec.symbols.item_number
    return env.replace(
        fresh(SPEC, backend),
        agent_pos=np.array([(1, 2), (1, 3)]),
        agent_dir=np.array([UP, UP]),
        held=np.array([items[None if soup is None else Soup(soup)] for soup in held]),
        slots=np.array([number[thing] for thing in (*orders, None)]),
    )


@each_backend
@pytest.mark.parametrize(
    ("orders", "held", "left", "points"),
    [
        # The oldest that matches, in whichever place it is.
        ([(ONION, 9), (ONION, 5)], (ONION, None), [(ONION, 8), None], 20),
        ([(ONION, 5), (ONION, 9)], (ONION, None), [None, (ONION, 8)], 20),
        ([(TOMATO, 5), (ONION, 9)], (ONION, None), [(TOMATO, 4), None], 20),
        ([(ONION, 7), (ONION, 7)], (ONION, None), [None, (ONION, 6)], 20),
        # Two soups in one step: the second agent finds what the first one left.
        ([(ONION, 9), (ONION, 5)], (ONION, ONION), [None, None], 40),
        ([(TOMATO, 9), (ONION, 5)], (ONION, ONION), [(TOMATO, 8), None], 0),
        ([(TOMATO, 9), (ONION, 5)], (TOMATO, ONION), [None, None], 40),
        # Nobody has ordered it.
        ([(TOMATO, 9), (TOMATO, 5)], (ONION, None), [(TOMATO, 8), (TOMATO, 4)], -20),
        ([None, None], (TOMATO, ONION), [None, None], -40),
        # In its last step an order is still answered; after it, it expires.
        ([(ONION, 1), (TOMATO, 50)], (ONION, None), [None, (TOMATO, 49)], 20),
        ([(ONION, 1), (TOMATO, 50)], (None, None), [None, (TOMATO, 49)], -20),
        ([(ONION, 1), (TOMATO, 1)], (None, None), [None, None], -40),
        ([(ONION, 1), (ONION, 2)], (ONION, ONION), [None, None], 40),
        ([(ONION, 1), (TOMATO, 2)], (TOMATO, None), [None, None], 0),
    ],
)
def test_who_is_answered(backend: str, orders: Any, held: Any, left: Any, points: float) -> None:
    before = [order and Order(*order) for order in orders]
    state, rewards, _, infos = after(SPEC, backend, serving(backend, before, *held), "interact", "interact")
    things = made(SPEC, backend).rules.slots.things
    assert [things[k] for k in np.asarray(state.slots)] == [order and Order(*order) for order in left] + [
        None
    ]
    assert rewards.tolist() == [points, points]
    assert infos["verbs"] == ["deliver" if soup else "" for soup in held]


def test_the_second_of_two_soups_is_wrong_only_if_no_order_is_left() -> None:
    """Agents are answered in their order: here the first takes the only order."""
    state = serving("numpy", [Order(ONION, 3), None], ONION, ONION)
    _, rewards, _, _ = after(SPEC, "numpy", state, "interact", "interact")
    assert rewards.tolist() == [0.0, 0.0]
    free = SPEC.override(wrong_cost=0.0)
    assert made(free, "numpy").rules.slots.names == ("order 1", "order 2")


def test_orders_come_as_often_as_said_and_expire() -> None:
    """600 steps of 256 kitchens in which nobody cooks: counts within exact bounds, costs for what expired."""
    spec = SPEC.override(order_gap=25, order_time=40, observation="none", max_steps=1000)
    env = made(spec, "numpy")
    things = env.rules.slots.things
    is_open = np.array([thing is not None for thing in things])
    is_onion = np.array([thing is not None and thing.soup == ONION for thing in things])
    is_new = np.array([thing is not None and thing.left == 40 for thing in things])
    state, _ = env.reset_fn(keys(4, 256))
    assert not is_open[state.slots].any()
    chances, came, onions, costs = 0, 0, 0, 0.0
    for _ in range(600):
        before = state.slots
        state, _, rewards, _, _ = env.step_fn(state, np.full((256, 2), 6))
        lasts = np.array([thing is not None and thing.left == 1 for thing in things])[before[:, :2]]
        chances += int((~is_open[before[:, :2]] | lasts).sum())
        new = is_new[state.slots[:, :2]]
        came, onions = came + int(new.sum()), onions + int((new & is_onion[state.slots[:, :2]]).sum())
        costs += float(rewards[:, 0].sum())
        np.testing.assert_array_equal(rewards[:, 0], -20.0 * lasts.sum(axis=1))
    low, high = bounds(chances, round(2**24 / 25))
    assert low <= came <= high
    low, high = bounds(came, 2**23)
    assert low <= onions <= high
    assert costs < -20 * 1000


@each_backend
def test_orders_are_seen(backend: str) -> None:
    """At both servings, in planes of their own; and as named numbers."""
    orders = [Order(TOMATO, 7), Order(ONION, 60)]
    env = made(SPEC, backend)
    planes = np.asarray(env._see(serving(backend, orders, None, None)))[0]  # (H, W, planes)
    shown = {name: planes[..., k] for k, name in enumerate(env.feature_names) if name.startswith("order")}
    places = np.zeros((3, 5), np.uint8)
    places[0, 2:4] = 1
    expected = {"order 1 onions": 0, "order 1 tomatoes": 3, "order 1 time left": 7}
    expected |= {"order 2 onions": 3, "order 2 tomatoes": 0, "order 2 time left": 60}
    assert shown.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(shown[name], value * places, err_msg=name)
    flat = made(SPEC.override(observation="features"), backend)
    state = flat.replace(fresh(flat.spec, backend), slots=serving(backend, orders, None, None).slots)
    told = dict(zip(flat.feature_names, np.asarray(flat._see(state))[0].tolist(), strict=True))
    assert told["order 1 tomato,tomato,tomato"] == told["order 2 onion,onion,onion"] == 1.0
    assert told["order 1 onion,onion,onion"] == told["order 2 tomato,tomato,tomato"] == 0.0
    assert told["order 1 time left"] == np.float32(0.07)


def test_backends_agree() -> None:
    counts, tape = parity(
        SPEC.override(order_gap=5, order_time=30, max_orders=3, cook_time=1), BACKENDS, ("interact",)
    )
    assert min(counts[verb] for verb in ("take onion", "put down", "pot onion")) > 0
    assert (tape["rewards"] <= -20).any()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"orders": ()}, "orders=() names no soup"),
        ({"orders": None}, "orders=None names no soup"),
        ({"max_orders": 9}, "max_orders=9 is out of range: it must be from 1 to 8"),
        ({"order_time": 0}, "order_time=0 is out of range"),
        ({"expiry_cost": -1.0}, "expiry_cost=-1.0 is out of range"),
        ({"order_time": 4000}, "the slots of OrderKitchen can be more than 4,096 things"),
    ],
)
def test_options_are_checked(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words.replace("(", r"\(").replace(")", r"\)")):
        cogrid.make("Overcooked-CrampedMixedKitchen-V0", **options)


def test_always_an_order() -> None:
    env = cogrid.make("Overcooked-CrampedMixedKitchen-V0", order_gap=1)
    env.reset(seed=0)
    env.step({0: 6, 1: 6})
    assert all(env.rules.slots.things[k] is not None for k in env.env_state.slots[:2])
