"""Random legal kitchen states, biased so that interesting things happen in the next step."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations_with_replacement, permutations, product
from typing import Any

from tests.oracles.canonical import (
    FACING_OF_MOVE,
    HORIZON,
    INTERACT,
    MOVE_OF_FACING,
    NOOP,
    POT_SIZE,
    Cell,
    Implementation,
    JointAction,
    Kitchen,
    KitchenState,
    Pot,
    soup_name,
)
from tests.oracles.play import floor_around, neighbour

Case = tuple[KitchenState, JointAction]
Stand = tuple[Cell, int]  # a floor cell and a facing
Lying = dict[Cell, str]
Pots = dict[Cell, Pot]
Adjust = Callable[[Lying, Pots, Cell], tuple[Lying, Pots]]


def random_cases(kitchen: Kitchen, cook_start: str, count: int, rng: random.Random) -> list[Case]:
    """Independent random states, each with a joint action that fits it."""
    states = (random_state(kitchen, cook_start, rng) for _ in range(count))
    return [(state, biased_action(kitchen, state, rng)) for state in states]


def station_cases(kitchen: Kitchen, cook_start: str, count: int, rng: random.Random) -> list[Case]:
    """Random states in which one agent interacts with a pot or a serving and holds what fits."""
    cases: list[Case] = []
    while len(cases) < count:
        state, agent = random_state(kitchen, cook_start, rng), rng.randrange(len(kitchen.starts))
        cell, facing = rng.choice(stands_at(kitchen, rng.choice("PPPS")))
        if cell in state.positions[:agent] + state.positions[agent + 1 :]:
            continue
        fits = [soup_name(mix) for mix in _mixtures(kitchen, _soup_sizes(cook_start))]
        if kitchen.letters[neighbour(cell, MOVE_OF_FACING[facing])] == "P":
            fits = [None, "dish", *_ingredients(kitchen)]
        state = replace(
            state,
            positions=_with(state.positions, agent, cell),
            facings=_with(state.facings, agent, facing),
            held=_with(state.held, agent, rng.choice(fits)),
        )
        cases.append((state, _with(biased_action(kitchen, state, rng), agent, INTERACT)))
    return cases


def _with(values: tuple[Any, ...], agent: int, value: Any) -> tuple[Any, ...]:
    return (*values[:agent], value, *values[agent + 1 :])


def random_state(kitchen: Kitchen, cook_start: str, rng: random.Random) -> KitchenState:
    """Any legal state: distinct floor cells of any room, anything in hands, on counters and in pots."""
    draw = rng.choices((_anywhere, _at_stations, _side_by_side, _at_one_cell), (3, 5, 3, 2))[0]
    stands = _as_many(kitchen, draw(kitchen, rng), rng)
    counters = sorted(kitchen.cells("X"))
    share = rng.choice((0.0, 0.05, 0.2, 0.9))  # of the counters that hold something
    lying = [(cell, _item(kitchen, cook_start, rng)) for cell in counters if rng.random() < share]
    pots = [(cell, _pot(kitchen, cook_start, rng)) for cell in kitchen.pot_cells]
    return KitchenState(
        positions=tuple(cell for cell, _ in stands),
        facings=tuple(facing for _, facing in stands),
        held=tuple(None if rng.random() < 0.3 else _item(kitchen, cook_start, rng) for _ in stands),
        counters=tuple(lying),
        pots=tuple(pots),
        time=rng.choice((0, rng.randrange(HORIZON), HORIZON - 1 - rng.randrange(45))),
    )


def biased_action(kitchen: Kitchen, state: KitchenState, rng: random.Random) -> JointAction:
    """Interact most often in front of something, else move, often at the other agent."""
    return tuple(_action(kitchen, state, agent, rng) for agent in range(len(state.positions)))


def _action(kitchen: Kitchen, state: KitchenState, agent: int, rng: random.Random) -> int:
    faces_something = kitchen.letters[state.faced(agent)] != " "
    if rng.random() < (0.75 if faces_something else 0.05):
        return INTERACT
    draw = rng.random()
    if draw < 0.35:
        return MOVE_OF_FACING[state.facings[agent]]  # agents are often made to face each other or one cell
    return rng.choice(list(FACING_OF_MOVE)) if draw < 0.85 else rng.randrange(NOOP + 1)


# ----------------------------------------------------------------------------------------------------
# Where agents stand.


def _as_many(kitchen: Kitchen, two: list[Stand], rng: random.Random) -> list[Stand]:
    """For as many agents as the kitchen has: one of the two, or both and some anywhere else."""
    more = len(kitchen.starts) - len(two)
    if more <= 0:
        return two[: len(kitchen.starts)]
    taken = {cell for cell, _ in two}
    cells = rng.sample([cell for cell in kitchen.cells(" ") if cell not in taken], more)
    return rng.sample([*two, *((cell, rng.randrange(4)) for cell in cells)], len(kitchen.starts))


def _anywhere(kitchen: Kitchen, rng: random.Random) -> list[Stand]:
    cells = rng.sample(kitchen.cells(" "), 2)
    return [(cell, rng.randrange(4)) for cell in cells]


def _at_stations(kitchen: Kitchen, rng: random.Random) -> list[Stand]:
    """Both in front of something they can use; the kind is drawn first, so that rare ones come often."""
    there = sorted(set(kitchen.letters.values()) - {" "})
    letters = [letter for letter in there if stands_at(kitchen, letter)]
    while True:
        first, second = (rng.choice(stands_at(kitchen, rng.choice(letters))) for _ in range(2))
        if first[0] != second[0]:
            return [first, second]


def _side_by_side(kitchen: Kitchen, rng: random.Random) -> list[Stand]:
    """Two agents one or two cells apart, the first facing the other or the cell between."""
    first = rng.choice(kitchen.cells(" "))
    near = floor_around(kitchen, first)
    if not near:
        return _anywhere(kitchen, rng)
    beside, towards_first = rng.choice(near)
    second = rng.choice([cell for cell, _ in floor_around(kitchen, beside) if cell != first] + [beside])
    stands = [(first, (towards_first + 2) % 4), (second, rng.choice((towards_first, rng.randrange(4))))]
    return rng.sample(stands, 2)


def _at_one_cell(kitchen: Kitchen, rng: random.Random) -> list[Stand]:
    """Both in front of the same pot or counter, where there is one with two sides."""
    shared = shared_cells(kitchen, rng.choice("PPX")) or shared_cells(kitchen, "X")
    return rng.sample(floor_around(kitchen, rng.choice(shared)), 2) if shared else _at_stations(kitchen, rng)


@cache
def stands_at(kitchen: Kitchen, letters: str) -> list[Stand]:
    """Every stand in front of such a cell."""
    return [stand for cell in kitchen.cells(letters) for stand in floor_around(kitchen, cell)]


@cache
def shared_cells(kitchen: Kitchen, letters: str) -> list[Cell]:
    """The cells of a kind that two agents can face at once."""
    return [cell for cell in kitchen.cells(letters) if len(floor_around(kitchen, cell)) > 1]


# ----------------------------------------------------------------------------------------------------
# What they hold, what lies there, what cooks.


def _item(kitchen: Kitchen, cook_start: str, rng: random.Random) -> str:
    kind = rng.choice(("ingredient", "ingredient", "dish", "dish", "soup"))
    if kind == "soup":
        return soup_name(rng.choice(_mixtures(kitchen, _soup_sizes(cook_start))))
    return rng.choice(_ingredients(kitchen)) if kind == "ingredient" else "dish"


def _pot(kitchen: Kitchen, cook_start: str, rng: random.Random) -> Pot:
    """A pot in any phase: empty, partly full (or full and not started), cooking, nearly or just ready."""
    if rng.random() < 0.45:
        return rng.choice(_mixtures(kitchen, _idle_sizes(cook_start))), -1
    soup = rng.choice(_mixtures(kitchen, _soup_sizes(cook_start)))
    return soup, rng.choice((rng.randrange(1, kitchen.cook_time(soup)), rng.choice((1, 2)), 0, 0))


def _soup_sizes(cook_start: str) -> tuple[int, ...]:
    return (POT_SIZE,) if cook_start == "auto" else (1, 2, POT_SIZE)


def _idle_sizes(cook_start: str) -> tuple[int, ...]:
    return (0, 1, 2) if cook_start == "auto" else (0, 1, 2, POT_SIZE)


def _ingredients(kitchen: Kitchen) -> tuple[str, ...]:
    return ("onion", "tomato") if kitchen.has_tomatoes else ("onion",)


@cache
def _mixtures(kitchen: Kitchen, sizes: tuple[int, ...]) -> list[tuple[str, ...]]:
    """Sorted ingredients of the given numbers."""
    return [mix for size in sizes for mix in combinations_with_replacement(_ingredients(kitchen), size)]


# ----------------------------------------------------------------------------------------------------
# Aimed at two agents who want the same thing at once.


def together_cases(kitchen: Kitchen, cook_start: str, rng: random.Random) -> Iterator[Case]:
    """Both interact with one pot, with every pair of hands and every phase, or both deliver."""
    for _ in range(3):
        yield from _pot_cases(kitchen, cook_start, rng)
        yield from _delivery_cases(kitchen, cook_start, rng)


def _pot_cases(kitchen: Kitchen, cook_start: str, rng: random.Random) -> Iterator[Case]:
    hands = (None, *_ingredients(kitchen), "dish", soup_name(["onion"] * POT_SIZE))
    for cell, phase in product(shared_cells(kitchen, "P"), _phases(kitchen, cook_start)):
        for held in product(hands, repeat=2):
            stands = rng.sample(floor_around(kitchen, cell), 2)
            yield _both_interact(random_state(kitchen, cook_start, rng), stands, held, {cell: phase})


def _delivery_cases(kitchen: Kitchen, cook_start: str, rng: random.Random) -> Iterator[Case]:
    soups = [soup_name(mix) for mix in _mixtures(kitchen, _soup_sizes(cook_start))]
    for stands, held in product(permutations(stands_at(kitchen, "S"), 2), product(soups, repeat=2)):
        if stands[0][0] != stands[1][0]:
            yield _both_interact(random_state(kitchen, cook_start, rng), stands, held, {})


def _both_interact(
    state: KitchenState, stands: Sequence[Stand], held: tuple[str | None, ...], pots: Pots
) -> Case:
    state = replace(
        state,
        positions=tuple(cell for cell, _ in stands),
        facings=tuple(facing for _, facing in stands),
        held=held,
        pots=tuple(sorted((dict(state.pots) | pots).items())),
    )
    return state, (INTERACT, INTERACT)


def _phases(kitchen: Kitchen, cook_start: str) -> list[Pot]:
    """A pot's phases: idle with any contents, just started, one step before ready, ready."""
    full = _mixtures(kitchen, _soup_sizes(cook_start))
    idle = [(mix, -1) for mix in _mixtures(kitchen, _idle_sizes(cook_start))]
    return idle + [(mix, timer) for mix in full for timer in (kitchen.cook_time(mix) - 1, 1, 0)]


# ----------------------------------------------------------------------------------------------------
# Aimed at the dish shaping: pots count as before the step, hands and counters as earlier agents left them.


def dish_cases(kitchen: Kitchen, cook_start: str, rng: random.Random, per_deed: int = 60) -> Iterator[Case]:
    """One agent takes a dish from the pile while the other does each deed that could matter, both orders."""
    for deed, taker in product(possible_deeds(kitchen, cook_start), (1, 0)):
        for _ in range(per_deed):
            yield _dish_case(kitchen, cook_start, deed, taker, rng)


def telling_cases(game: Implementation, cases: Sequence[Case]) -> list[Case]:
    """The cases in which agent 1 is paid otherwise than if agent 0 did nothing."""
    states = [state for state, _ in cases]
    paid = game.step(states, [joint for _, joint in cases])
    alone = game.step(states, [(NOOP, action) for _, (_, action) in cases])
    rows = zip(cases, paid, alone, strict=True)
    return [case for case, both, one in rows if both.shaped[1] != one.shaped[1]]


def possible_deeds(kitchen: Kitchen, cook_start: str) -> list[str]:
    """The deeds there is room for: most kitchens have but one place to take a dish from."""
    rules = [deed for deed in _DEEDS if deed != "start" or cook_start == "interact"]
    return [deed for deed in rules if _pairs(kitchen, _DEEDS[deed][0])]


def _dish_case(kitchen: Kitchen, cook_start: str, deed: str, taker: int, rng: random.Random) -> Case:
    drawn = random_state(kitchen, cook_start, rng)
    letters, held, adjust = _DEEDS[deed]
    stands = rng.choice(_pairs(kitchen, letters))
    few_dishes = {cell: item for cell, item in drawn.counters if item != "dish" or rng.random() < 0.1}
    few_pots = {cell: pot if rng.random() < 0.5 else ((), -1) for cell, pot in drawn.pots}
    counters, pots = adjust(few_dishes, few_pots, _faced(stands[1]))
    order = (0, 1) if taker == 0 else (1, 0)  # of the taker and the other
    state = KitchenState(
        positions=tuple(stands[i][0] for i in order),
        facings=tuple(stands[i][1] for i in order),
        held=tuple((None, held)[i] for i in order),
        counters=tuple(sorted(counters.items())),
        pots=tuple(sorted(pots.items())),
        time=drawn.time,
    )
    return state, tuple((INTERACT, NOOP if deed == "wait" else INTERACT)[i] for i in order)


@cache
def _pairs(kitchen: Kitchen, letters: str) -> list[tuple[Stand, Stand]]:
    """A stand at a dish pile and one at such a cell, on distinct cells."""
    pairs = product(stands_at(kitchen, "D"), stands_at(kitchen, letters))
    return [(taker, other) for taker, other in pairs if taker[0] != other[0]]


def _faced(stand: Stand) -> Cell:
    cell, facing = stand
    return neighbour(cell, MOVE_OF_FACING[facing])


def _as_drawn(lying: Lying, pots: Pots, target: Cell) -> tuple[Lying, Pots]:
    return lying, pots


def _free_counter(lying: Lying, pots: Pots, target: Cell) -> tuple[Lying, Pots]:
    return {cell: item for cell, item in lying.items() if cell != target}, pots


def _dish_on_counter(lying: Lying, pots: Pots, target: Cell) -> tuple[Lying, Pots]:
    return {**{cell: item for cell, item in lying.items() if item != "dish"}, target: "dish"}, pots


def _ready(lying: Lying, pots: Pots, target: Cell) -> tuple[Lying, Pots]:
    return lying, {**pots, target: (("onion",) * POT_SIZE, 0)}


def _empty(lying: Lying, pots: Pots, target: Cell) -> tuple[Lying, Pots]:
    return lying, {**pots, target: ((), -1)}


def _one_onion(lying: Lying, pots: Pots, target: Cell) -> tuple[Lying, Pots]:
    return lying, {**pots, target: (("onion",), -1)}


def _full_but_idle(lying: Lying, pots: Pots, target: Cell) -> tuple[Lying, Pots]:
    return lying, {**pots, target: (("onion",) * POT_SIZE, -1)}


# deed: the letters of cells the other agent may face, what it holds, and what must be so for the deed to work
_DEEDS: dict[str, tuple[str, str | None, Adjust]] = {
    "wait": ("XP", "dish", _as_drawn),
    "put down": ("X", "dish", _free_counter),
    "plate": ("P", "dish", _ready),
    "take": ("D", None, _as_drawn),
    "pick up": ("X", None, _dish_on_counter),
    "pot the first": ("P", "onion", _empty),
    "pot the second": ("P", "onion", _one_onion),
    "start": ("P", None, _full_but_idle),
}
