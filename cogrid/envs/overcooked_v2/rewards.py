"""The score by the current recipe, the cost of a button, and the shaping."""

from __future__ import annotations

from cogrid.author import AnyReward, BySlot, Event, Reward, Thing
from cogrid.envs.overcooked.objects import Pot, Soup
from cogrid.envs.overcooked.rewards import dish_taken, dishes
from cogrid.envs.overcooked_v2.objects import Recipe

BUTTON_COST = 5.0


def rewards(soup_value: float, wrong_value: float) -> tuple[AnyReward, ...]:
    """The terms, for the given values of a soup of the recipe and of any other soup."""

    def delivered(event: Event, recipe: Thing) -> float:
        if event.verb != "deliver":
            return 0.0
        return soup_value if event.held == Soup(_items(recipe)) else wrong_value

    return (
        BySlot("delivery", "recipe", delivered, team=True),
        Reward("button", _pressed, team=True),
        BySlot("ingredient", "recipe", _potted, shaping=True),
        BySlot("soup", "recipe", _plated_or_started, shaping=True),
        Reward(
            "dish",
            dish_taken,
            shaping=True,
            supply=dishes,
            demand=_pots_in_use,
            hands_at_start=True,
            demand_at_start=False,
        ),
    )


def _items(recipe: Thing) -> tuple[str, ...]:
    return recipe.items if isinstance(recipe, Recipe) else ()  # the agents' own slots hold other things


def _pressed(event: Event) -> float:
    return -BUTTON_COST * (event.verb == "press")


def _potted(event: Event, recipe: Thing) -> float:
    """Points for an ingredient of which the pot has fewer than the recipe."""
    if not event.verb.startswith("pot ") or not isinstance(event.thing, Pot):
        return 0.0
    ingredient = str(event.held)
    return 3.0 * (event.thing.items.count(ingredient) < _items(recipe).count(ingredient))


def _plated_or_started(event: Event, recipe: Thing) -> float:
    """Points for a pot that holds exactly the recipe."""
    if event.verb not in ("plate", "start") or not isinstance(event.thing, Pot):
        return 0.0
    return 5.0 * (event.thing.items == _items(recipe))


def _pots_in_use(thing: Thing) -> int:
    return int(isinstance(thing, Pot) and bool(thing.items))
