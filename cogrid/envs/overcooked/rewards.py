"""The score and the classic shaping."""

from __future__ import annotations

from cogrid.author import Event, Item, Reward, Thing
from cogrid.envs.overcooked.objects import DISH, Counter, Pot

#: One dish on a counter counts as enough for any number of pots.
_PLENTY = 1000


def _delivered(event: Event) -> float:
    return event.value


def _potted(event: Event) -> float:
    return 3.0 * event.verb.startswith("pot ")


def _plated(event: Event) -> float:
    return 5.0 * (event.verb == "plate")


def dish_taken(event: Event) -> float:
    """Points for a dish from the pile, while dishes are needed."""
    return 3.0 * (event.verb == "take dish")


def dishes(thing: Thing, held: Item) -> int:
    """The number of dishes available for the pots."""
    return _PLENTY * (thing == Counter(DISH)) + (held == DISH)


def _pots_in_use(thing: Thing) -> int:
    """Ready, cooking or partly full; a full pot that nobody has started does not count."""
    return int(isinstance(thing, Pot) and (thing.timer >= 0 or 0 < len(thing.items) < 3))


REWARDS = (
    Reward("delivery", _delivered, team=True),
    Reward("ingredient", _potted, shaping=True),
    Reward("soup", _plated, shaping=True),
    Reward("dish", dish_taken, shaping=True, supply=dishes, demand=_pots_in_use),
)
