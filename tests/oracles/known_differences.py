"""How JaxMARL is known to differ from overcooked_ai, as data: what an outcome becomes, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.oracles.canonical import Kitchen, KitchenState, Outcome

COUNTER_PLANE = 11
DISH_POINTS = 3.0


@dataclass(frozen=True)
class Step:
    """One step, with what happened to each agent (see `events.deeds`)."""

    kitchen: Kitchen
    before: KitchenState
    deeds: tuple[str | None, ...]
    after: Outcome


@dataclass(frozen=True)
class Difference:
    """A place where JaxMARL gives something else than overcooked_ai, whom we follow."""

    name: str
    reason: str
    theirs: Callable[[Step], Outcome]  # the outcome as JaxMARL has it; the very same where it agrees


def _counter_bit(step: Step) -> Outcome:
    if not step.after.state.counters:
        return step.after
    planes = step.after.planes.copy()
    for (row, col), _ in step.after.state.counters:
        planes[:, row, col, COUNTER_PLANE] = 0
    return replace(step.after, planes=planes)


def _first_ingredient(step: Step) -> Outcome:
    all_empty = not _busy_pots(step.before)
    applies = step.deeds == ("potting", "take dish") and all_empty and not _dish_lies(step)
    return _pay_second(step, DISH_POINTS) if applies else step.after


def _last_soup(step: Step) -> Outcome:
    only_one = len(_busy_pots(step.before)) == 1
    applies = step.deeds == ("plating", "take dish") and only_one and not _dish_lies(step)
    return _pay_second(step, 0.0) if applies else step.after


def _busy_pots(state: KitchenState) -> list[tuple[int, int]]:
    return [cell for cell, (items, _) in state.pots if items]


def _dish_lies(step: Step) -> bool:
    return any(item == "dish" for _, item in step.before.counters)


def _pay_second(step: Step, points: float) -> Outcome:
    return replace(step.after, shaped=(step.after.shaped[0], points))


JAXMARL = (
    Difference(
        "no counter under an item",
        "their map holds one thing per cell, so an item that lies on a counter hides the counter's plane",
        _counter_bit,
    ),
    Difference(
        "dish beside the first ingredient",
        "they count the pots as agent 0 leaves them: its first onion makes agent 1's dish useful at once",
        _first_ingredient,
    ),
    Difference(
        "dish beside the last soup",
        "they count the pots as agent 0 leaves them: its plating of the last soup makes that dish useless",
        _last_soup,
    ),
)
