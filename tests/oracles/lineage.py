"""The kitchens of overcooked_ai's layout files, from our own specs."""

from __future__ import annotations

from itertools import combinations_with_replacement

from cogrid._core.compile.spec import Spec
from cogrid.envs.overcooked.game import Kitchen as Game
from cogrid.envs.overcooked.lineage_layouts import BEGUN_LAYOUTS, LAYOUTS
from cogrid.envs.overcooked.objects import Pot
from cogrid.envs.overcooked.specs import SPECS, lineage_id
from tests.oracles.canonical import POT_SIZE, UP_FACING, Kitchen, KitchenState, Recipe

SOUPS = [
    soup for n in range(1, POT_SIZE + 1) for soup in combinations_with_replacement(("onion", "tomato"), n)
]


def _kitchen(name: str) -> Kitchen:
    id = lineage_id(name)
    spec = SPECS[id]
    game = spec.game
    assert isinstance(game, Game)
    recipes = tuple(
        Recipe(soup, game.value_of(soup), game.time_of(soup), soup in game.bonus_orders) for soup in SOUPS
    )
    (layout,) = spec.layout
    rows = tuple("".join("P" if letter in "pq" else letter for letter in row) for row in layout.rows)
    kitchen = Kitchen(name, id, rows, recipes)
    return Kitchen(name, id, rows, recipes, begin=_begin(spec, kitchen)) if name in BEGUN_LAYOUTS else kitchen


def _begin(spec: Spec, kitchen: Kitchen) -> KitchenState:
    """The start that the spec tells: hands, and pots by their letters."""
    (layout,), n = spec.layout, len(kitchen.starts)
    things = {cell: spec.game.legend[layout.letters[cell[0]][cell[1]]] for cell in kitchen.pot_cells}
    pots = tuple((cell, (pot.items, pot.timer)) for cell, pot in things.items() if isinstance(pot, Pot))
    hands = tuple(spec.game.hand(agent) for agent in range(n))
    return KitchenState(kitchen.starts, (UP_FACING,) * n, hands, (), pots, 0)


LINEAGE = {name: _kitchen(name) for name in sorted({**LAYOUTS, **BEGUN_LAYOUTS})}
