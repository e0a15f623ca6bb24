"""The floor plan: what stands where in a layout, how far it is, and through whose hands it goes."""

from __future__ import annotations

import functools
import heapq
import itertools
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from cogrid.core.actions import ACTION_SETS, INTERACT, Action
from cogrid.core.game import Item, Outcome, Thing
from cogrid.core.rules import Rules
from cogrid.envs.overcooked.objects import DISH, Counter, Pile, Pot, Serving

FAR = 10**6  # steps to where no way leads


@runtime_checkable
class Cuisine(Protocol):
    """What cooks must know of a game."""

    def __hash__(self) -> int:
        """Floor plans are kept by it."""

    @property
    def known(self) -> tuple[str, ...]:
        """The ingredients."""

    @property
    def cook_start(self) -> str:
        """Whether a full pot starts by itself."""

    @property
    def longest(self) -> int:
        """The longest cook time."""

    def interact(self, held: Item, thing: Thing) -> Outcome | None:
        """The rule."""

    def lying(self, thing: Thing) -> Item:
        """What lies there."""

    def value_of(self, items: tuple[str, ...]) -> float:
        """What a soup is worth."""

    def time_of(self, items: tuple[str, ...]) -> int:
        """How long it cooks."""

    def after(self, soup: tuple[str, ...]) -> Cuisine:
        """The game as it is for other soups once this one is on its way."""

    def menu(self, seen: Sequence[Thing] | None, slots: Sequence[Thing]) -> Cuisine | None:
        """The game as it is told by the things in sight, or by all (None); None if they tell nothing new."""


class FloorPlan:
    """One layout: what stands where; cells are numbers, as in the state."""

    def __init__(self, rules: Rules, layout: int, game: Cuisine) -> None:
        things = [rules.spec.symbols.things[number] for number in rules.boards[layout].tolist()]
        cells = range(len(things))
        self.game = game
        self.actions = ACTION_SETS[rules.action_set]
        self.interact = next(n for n, action in enumerate(self.actions) if action.intent == INTERACT)
        self.toward = [[_toward(self.actions, facing, wanted) for wanted in range(4)] for facing in range(4)]
        self.strides: list[int] = rules.ahead.tolist()
        around = [[c + s for s in self.strides if c + s in cells] for c in cells]
        self.beside = [[c for c in near if things[c] == "floor"] for near in around]  # floor beside each cell
        used = [c for c in cells if self.beside[c]]
        self.pots = [c for c in used if isinstance(things[c], Pot)]
        self.counters = [c for c in used if isinstance(things[c], Counter)]
        self.servings = tuple(c for c in used if isinstance(things[c], Serving))
        self.piles = {i: [c for c in used if things[c] == Pile(i)] for i in (*game.known, DISH)}
        self.room = list(cells)  # of each floor cell, named by its first
        for c in reversed([c for c in used if things[c] == "floor"]):
            for reached in (d for d, steps in enumerate(steps_to(self, c)) if steps < FAR):
                self.room[reached] = c
        self.rooms = [frozenset(self.room[d] for d in near) for near in self.beside]  # that reach each cell


@functools.lru_cache(maxsize=256)
def floor_plan(rules: Rules, layout: int, game: Cuisine) -> FloorPlan:
    """The plan of a layout; the same object for the same question."""
    return FloorPlan(rules, layout, game)


@functools.lru_cache(maxsize=2**13)
def steps_to(floor: FloorPlan, target: int, avoid: frozenset[tuple[int, int]] = frozenset()) -> list[int]:
    """Steps from every cell to the nearest one beside the target; cells to avoid cost some more."""
    steps, extra = [FAR] * len(floor.beside), dict(avoid)
    queue = [(0, cell) for cell in floor.beside[target]]
    while queue:
        so_far, cell = heapq.heappop(queue)
        if so_far < steps[cell]:
            steps[cell] = so_far
            for neighbour in floor.beside[cell]:
                heapq.heappush(queue, (so_far + 1 + extra.get(cell, 0), neighbour))
    return steps


@functools.lru_cache(maxsize=2**13)
def steps_between(floor: FloorPlan, source: int, targets: tuple[int, ...], room: int | None = None) -> int:
    """Steps from a thing to the nearest of others inside a room, or in any."""
    spots = [cell for cell in floor.beside[source] if room in (None, floor.room[cell])]
    return min((steps_to(floor, target)[cell] for cell in spots for target in targets), default=FAR)


@functools.lru_cache(maxsize=2**12)
def hops_to(floor: FloorPlan, targets: tuple[int, ...], rooms: frozenset[int]) -> dict[int, int]:
    """How often an item must change hands over a counter to get from each of some rooms to a target."""
    hops: dict[int, int] = {}
    cells: Sequence[int] = targets
    while new := {room for c in cells for room in floor.rooms[c] & rooms} - hops.keys():
        hops |= dict.fromkeys(new, max(hops.values(), default=-1) + 1)
        cells = [c for c in floor.counters if floor.rooms[c] & new]
    return hops


@functools.lru_cache(maxsize=2**12)
def missing(game: Cuisine, larder: tuple[str, ...], items: tuple[str, ...]) -> tuple[str, ...] | None:
    """What turns a pot's items into the most valuable soup; None if the larder makes no soup of them."""
    counts = range(4 - len(items)) if game.cook_start == "interact" else (3 - len(items),)
    extras = [e for n in counts for e in itertools.combinations_with_replacement(larder, n)]

    def worth(extra: tuple[str, ...]) -> tuple[float, int, int]:
        soup = tuple(sorted(items + extra))
        return game.value_of(soup), -len(soup), -game.time_of(soup)

    return max((extra for extra in extras if items + extra), key=worth, default=None)


def _toward(actions: Sequence[Action], facing: int, wanted: int) -> int:
    """The action that turns most of the way, with a step if possible."""
    off = [(action.facing_after(facing) - wanted) % 4 for action in actions]
    return min(range(len(actions)), key=lambda n: (min(off[n], 4 - off[n]), not actions[n].walks))
