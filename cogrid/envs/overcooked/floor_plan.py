"""The floor plan: where things stand in a layout, the distances, and where items must be handed over."""

from __future__ import annotations

import functools
import heapq
import itertools
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from cogrid._core.compile.actions import ACTION_SETS, INTERACT, Action
from cogrid._core.rules import Rules
from cogrid.author import Item, Outcome, Thing
from cogrid.backend.env_state import EnvState
from cogrid.envs.overcooked.objects import DISH, ONION, Counter, Pile, Pot, Serving

FAR = 10**6  # steps to what cannot be reached


@runtime_checkable
class Cuisine(Protocol):
    """What cooks must know about a game."""

    def __hash__(self) -> int:
        """Floor plans are cached by it."""

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
        """The game for further soups once this one is being made."""

    def menu(self, seen: Sequence[Thing] | None, slots: Sequence[Thing]) -> Cuisine | None:
        """The game as known from the things in sight, or from all (None); None if they show nothing new."""


class FloorPlan:
    """One board: what stands where; cells are numbers, as in the state."""

    def __init__(self, rules: Rules, board: Sequence[int], game: Cuisine) -> None:
        things = [rules.spec.symbols.things[number] for number in board]
        cells = range(len(things))
        self.things, self.game = things, game
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
        self.room = list(cells)  # of each floor cell, identified by its first cell
        for c in reversed([c for c in used if things[c] == "floor"]):
            for reached in (d for d, steps in enumerate(steps_to(self, c)) if steps < FAR):
                self.room[reached] = c
        self.rooms = [frozenset(self.room[d] for d in near) for near in self.beside]  # that reach each cell


def floor_plan(rules: Rules, state: EnvState, game: Cuisine) -> FloorPlan:
    """The plan of a single state's board, ignoring what is in pots and on counters; cached."""
    if rules.open:
        return _floor_plan(rules, tuple(_empty(rules)[np.asarray(state.cells)].tolist()), game)
    return _floor_plan(rules, 0 if state.layout is None else int(state.layout), game)


@functools.lru_cache(maxsize=256)
def _floor_plan(rules: Rules, board: int | tuple[int, ...], game: Cuisine) -> FloorPlan:
    return FloorPlan(rules, rules.boards[board].tolist() if isinstance(board, int) else board, game)


@functools.lru_cache(maxsize=256)
def _empty(rules: Rules) -> np.ndarray[Any, Any]:
    """(things,) the first thing of the same kind."""
    kinds = rules.types.tolist()
    return np.array([kinds.index(kind) for kind in kinds])


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
    """What turns a pot's items into the most valuable soup; None if the larder cannot complete any soup."""
    counts = range(4 - len(items)) if game.cook_start == "interact" else (3 - len(items),)
    extras = [e for n in counts for e in itertools.combinations_with_replacement(larder, n)]

    def worth(extra: tuple[str, ...]) -> tuple[float, int, int]:
        soup = tuple(sorted(items + extra))
        return game.value_of(soup), -len(soup), -game.time_of(soup)

    return max((extra for extra in extras if items + extra), key=worth, default=None)


def soup_steps(rules: Rules, state: EnvState) -> int:
    """How hard a kitchen is: the fewest carrying steps that one soup takes; FAR if it is impossible.

    Three onions and a dish go to a pot and the soup to a serving: each is taken, carried by the shortest
    path, handed over at counters between rooms, and put down. Cooks are assumed to be where they are needed.
    """
    game = rules.spec.game
    if not isinstance(game, Cuisine):
        raise TypeError(f"soups are cooked in kitchens, not in {type(game).__name__}.")
    if state.pos.ndim != 1:
        raise ValueError(
            f"steps are told of a single state, and this is a batch of shape {state.time.shape}."
        )
    floor = floor_plan(rules, state, game)

    def carried(source: int, targets: Sequence[int]) -> int:
        """Steps from a thing to the nearest of others: two to take and put, two more per counter between."""
        queue, known = [(1, cell) for cell in floor.beside[source]], dict.fromkeys(floor.beside[source], 1)
        goals = {cell for target in targets for cell in floor.beside[target]}
        while queue:
            steps, cell = heapq.heappop(queue)
            if cell in goals:
                return steps + 1
            ways = [(steps + 1, near) for near in floor.beside[cell]]
            over = (c for c in floor.counters if cell in floor.beside[c] and len(floor.rooms[c]) > 1)
            ways += [(steps + 2, near) for counter in over for near in floor.beside[counter]]
            for way in ways:
                if way[0] < known.get(way[1], FAR):
                    known[way[1]] = way[0]
                    heapq.heappush(queue, way)
        return FAR

    def soup(pot: int) -> int:
        onions = min((carried(pile, (pot,)) for pile in floor.piles[ONION]), default=FAR)
        dish = min((carried(pile, (pot,)) for pile in floor.piles[DISH]), default=FAR)
        return min(FAR, 3 * onions + dish + carried(pot, floor.servings))

    return min(map(soup, floor.pots), default=FAR)


def _toward(actions: Sequence[Action], facing: int, wanted: int) -> int:
    """The action that turns most of the way, with a step if possible."""
    off = [(action.facing_after(facing) - wanted) % 4 for action in actions]
    return min(range(len(actions)), key=lambda n: (min(off[n], 4 - off[n]), not actions[n].walks))
