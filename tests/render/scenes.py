"""States that show much, for the tests of pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

import cogrid
from cogrid.envs.overcooked.orders import Order
from cogrid.envs.overcooked_v2.objects import Button, Recipe
from examples.own_environment import MINE, Treasure
from tests.episodes import shared
from tests.support import keys

BOARD = """
    XXPPXTX
    O 1   D
    X  2  X
    XDXXSPX
"""


def first(env: Any) -> Any:
    """The state that seed 0 begins with."""
    return env.rules.backend.compiled(env.reset_fn)(env.rules.backend.key(keys(0, 1)[0]))[0]


def kitchen() -> tuple[Any, Any]:
    """Pots that are filled, cook and are ready; items on counters and in hands."""
    env = shared("Overcooked-CrampedRoom-V0", "numpy", layout=BOARD)
    ids = env.type_ids
    onion, tomato, dish = ids["onion"], ids["tomato"], ids["dish"]
    red, plain = ids["soup:onion,onion,tomato"], ids["soup:onion,onion,onion"]
    lying = np.zeros((4, 7), int)
    lying[0, 0], lying[0, 1], lying[3, 2], lying[3, 3], lying[2, 6] = onion, tomato, dish, red, plain
    state = env.replace(
        first(env),
        agent_pos=[[1, 2], [2, 3]],
        agent_dir=[3, 0],
        agent_inv=[[onion], [red]],
        object_state_map=lying,
        pot_contents=[[onion, tomato, -1], [onion, onion, tomato], [onion, onion, onion]],
        pot_timer=[-1, 13, 0],
        time=123,
    )
    return env, state


def mine() -> tuple[Any, Any]:
    """A world that says nothing about its looks."""
    env = cogrid.CoGridEnv(cogrid.Spec(Treasure(), (MINE,), max_steps=100))
    return env, env.replace(first(env), agent_inv=[[env.type_ids["gold"]], [-1]])


def crowd() -> tuple[Any, Any]:
    """More agents than colours."""
    env = shared("Arena-V0", "numpy", num_agents=20, map_size=9)
    return env, first(env)


ONIONS, TOMATOES = ("onion",) * 3, ("tomato",) * 3


def orders(*open: Order | None) -> tuple[Any, Any]:
    """A queue of two places, with two orders unless told otherwise: one is new, the other almost over."""
    env = shared("Overcooked-CrampedMixedKitchen-V0", "numpy", observation="none")
    queue = [*(open or (Order(ONIONS, 100), Order(TOMATOES, 20))), None, None][:2]
    return env, env.replace(first(env), slots=_numbers(env, *queue, None))


def recipe(items: tuple[str, ...] = ("carrot", "onion", "tomato"), lit: int = 5, served: int = 2) -> Any:
    """An indicator, a button that is lit or not, and a serving after a correct delivery or not."""
    options = {"recipes": (items,), "indicate_successful_delivery": True, "sample_recipe_on_delivery": True}
    env = shared("OvercookedV2-GroundedCoordSimple-V0", "numpy", observation="none", **options)
    state, numbers = first(env), env.spec.symbols.number
    cells = np.where(state.cells == numbers[Button(0)], numbers[Button(lit)], state.cells)
    return env, env.replace(state, cells=cells, slots=_numbers(env, Recipe(items, served)))


def _numbers(env: Any, *things: Any) -> Any:
    return np.array([env.rules.slots.number[thing] for thing in things])
