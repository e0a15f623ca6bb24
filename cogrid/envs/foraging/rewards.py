"""Shares of what was loaded, and the price of a load that failed."""

from __future__ import annotations

from cogrid.author import AnyReward, BySlot, Event, Reward, Thing
from cogrid.envs.foraging.objects import level_of

LOAD, FAIL = "load", "fail"  # verbs; the value of a load is the level of all who loaded
SPAWNED = "spawned"  # the slot with the level of all food of the episode


def share(event: Event) -> float:
    """The level of the food times the level of the forager."""
    return float(level_of(event.held) * level_of(event.thing)) if event.verb == LOAD else 0.0


def normalised(event: Event, spawned: Thing) -> float:
    """Divided by the levels of all who loaded and of all food, so that an episode sums to at most 1."""
    if event.verb != LOAD or not isinstance(spawned, int) or not spawned:
        return 0.0
    return share(event) / float(event.value * spawned)


def rewards(normalize: bool, penalty: float) -> tuple[AnyReward, ...]:
    """The reward terms, paid to each forager separately."""

    def failed(event: Event) -> float:
        return -penalty if event.verb == FAIL else 0.0

    food = BySlot("food", SPAWNED, normalised) if normalize else Reward("food", share)
    return (food, Reward("penalty", failed)) if penalty else (food,)
