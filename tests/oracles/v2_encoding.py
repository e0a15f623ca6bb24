"""OvercookedV2 in the numbers of JaxMARL: what a state of ours is there, without JaxMARL."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from cogrid._core.compile.actions import DOWN, LEFT, RIGHT, UP
from cogrid.envs.overcooked.objects import DISH, Counter, Pile, Pot, Serving, Soup
from cogrid.envs.overcooked_v2.objects import INGREDIENTS, Button, Indicator, Recipe

# Their facings and actions by ours; toggle and noop stay.
FACINGS = np.array([{UP: 0, DOWN: 1, RIGHT: 2, LEFT: 3}[facing] for facing in range(4)])
ACTIONS = np.array([3, 1, 2, 0, 5, 4, 4])
#: What stands in a cell, and what lies there or is held.
EMPTY, COUNTER, SERVING, POT, INDICATOR, BUTTON, DISHES, PILES = 0, 1, 4, 5, 6, 7, 9, 10
PLATE, COOKED = 1, 2


class Encoding:
    """Tables over the symbols of one environment."""

    def __init__(self, env: Any) -> None:
        self.env, self.n = env, env.rules.n_agents
        symbols, slots = env.spec.symbols, env.rules.slots
        self.things = np.array([_thing(thing) for thing in symbols.things], np.int32)  # (things, 3)
        self.items = np.array([_item(item) for item in symbols.items], np.int32)
        recipes = [one if isinstance(one, Recipe) else Recipe((), 1) for one in slots.things]
        self.recipes = np.array([_contents(recipe.items) for recipe in recipes], np.int32)
        self.served = np.array([recipe.served == 2 for recipe in recipes])
        self.permuted: tuple[str, ...] = env.spec.game.permuted_ingredients
        self.is_order = np.array([not isinstance(one, Recipe) for one in slots.things])
        self.orders = np.array([self._order(one) for one in slots.things], np.int32)

    def _order(self, thing: Any) -> list[int]:
        """The ingredient that is seen in the place of each."""
        order = list(range(self.env.spec.game.ingredients))
        pairs = zip(self.permuted, thing, strict=True) if not isinstance(thing, Recipe) else ()
        for place, seen in pairs:
            order[INGREDIENTS.index(place)] = INGREDIENTS.index(seen)
        return order

    def translated(self, state: Any) -> dict[str, np.ndarray]:
        """Our states as the fields of theirs, (B, …)."""
        row, column = np.divmod(np.asarray(state.pos, np.int32), self.env.rules.width)
        slot = np.asarray(state.slots)[..., 0]
        shape = (*slot.shape, self.env.rules.height, self.env.rules.width, 3)
        return {
            "x": column,
            "y": row,
            "facing": FACINGS[np.asarray(state.agent_dir)],
            "held": self.items[np.asarray(state.held)],
            "grid": self.things[np.asarray(state.cells)].reshape(shape),
            "recipe": self.recipes[slot],
            "delivered": self.served[slot],
            "time": np.asarray(state.time),
        }

    def sights(self, state: Any) -> np.ndarray:
        """(B, n, ingredients) which ingredient each agent sees in the place of each."""
        return self.orders[np.asarray(state.slots)[..., 1:]]

    def step_ours(self, state: Any, actions: Any) -> Any:
        """With the shaping's weight at 0 and at 1."""
        state = state.evolve(weight=np.zeros_like(state.weight))
        plain = self.env.step_fn(state, actions)[2]
        after, obs, rewards, done, infos = self.env.step_fn(
            state.evolve(weight=np.ones_like(state.weight)), actions
        )
        return after, obs, plain, rewards, done, infos


def digest(*arrays: Any) -> str:
    """A few letters that stand for the numbers."""
    wide = b"".join(np.asarray(array).astype("<i4").tobytes() for array in arrays)
    return hashlib.sha256(wide).hexdigest()[:10]


def _contents(items: tuple[str, ...]) -> int:
    return sum(4 << 2 * INGREDIENTS.index(item) for item in items)


def _item(item: Any) -> int:
    if item is None:
        return 0
    if isinstance(item, Soup):
        return _contents(item.items) | PLATE | COOKED
    return PLATE if item == DISH else _contents((item,))


def _thing(thing: Any) -> tuple[int, int, int]:
    match thing:
        case "floor":
            return EMPTY, 0, 0
        case Counter(item):
            return COUNTER, _item(item), 0
        case Pile(item):
            pile = DISHES if item == DISH else PILES + INGREDIENTS.index(item)
            return pile, 0, 0
        case Serving():
            return SERVING, 0, 0
        case Indicator():
            return INDICATOR, 0, 0
        case Button(lit):
            return BUTTON, 0, lit
        case Pot(items, timer):
            return (
                POT,
                _contents(items) | (COOKED if timer == 0 else 0),
                max(0, timer),
            )
    raise AssertionError(thing)
