"""Legal states of OvercookedV2 kitchens, drawn so that much can happen in the next step."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from cogrid._core.compile.actions import STRIDES
from cogrid.envs.overcooked.objects import DISH, Counter, Pot, Serving, Soup
from cogrid.envs.overcooked_v2.objects import Button, Recipe


def random_states(env: Any, fresh: Any, generator: np.random.Generator) -> Any:
    """The states of a batch after a reset, with everything in them drawn anew."""
    size, n = np.shape(fresh.pos)
    cells = _cells(env.rules, size, generator)
    pos, facing = _stands(env.rules, size, generator)
    held = np.where(generator.random((size, n)) < 0.3, 0, generator.integers(0, env.rules.n_items, (size, n)))
    slots = _slots(env.rules, size, generator)
    faced = np.take_along_axis(cells, _ahead(env.rules, pos, facing), axis=-1)
    held = np.where(generator.random((size, n)) < 0.75, _fitting(env.rules, faced, slots, generator), held)
    return env.replace(
        fresh,
        cells=cells,
        pos=pos,
        held=held,
        agent_dir=facing,
        slots=slots,
        time=generator.integers(0, env.spec.max_steps, size),
    )


def busy_actions(generator: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
    """Interact half of the time, else walk, or now and then do nothing."""
    return generator.choice(7, size, p=[0.11, 0.11, 0.11, 0.11, 0.5, 0.03, 0.03]).astype(np.int32)


def _cells(rules: Any, size: int, generator: np.random.Generator) -> np.ndarray:
    """(size, cells) boards; pots are empty, partly full, cooking, almost ready and ready about as often."""
    boards = np.tile(rules.boards[0], (size, 1))
    for cell, number in enumerate(rules.boards[0].tolist()):
        if groups := _groups(rules, number):
            drawn = generator.integers(len(groups), size=size)
            boards[:, cell] = [generator.choice(groups[group]) for group in drawn]
    return boards


@functools.lru_cache(maxsize=256)
def _groups(rules: Any, number: int) -> list[list[int]]:
    """What a thing can become, by number, in groups that are to be met equally often."""
    symbols = rules.spec.symbols
    thing, others = symbols.things[number], {symbols.number[one]: one for one in rules.reachable(number)}
    if isinstance(thing, Pot):
        stages = [[k for k in sorted(others) if _stage(others[k]) == stage] for stage in range(5)]
        return [stage for stage in stages if stage]
    if isinstance(thing, Counter):
        return [[number]] * 3 + [[k for k in sorted(others) if others[k].item is not None]]
    if isinstance(thing, Button):
        return [[k for k in sorted(others) if others[k].lit < 10]]
    return []


def _stage(pot: Pot) -> int:
    if pot.timer < 0:
        return 1 if pot.items else 0
    return 4 if pot.timer == 0 else 3 if pot.timer < 3 else 2


def _stands(rules: Any, size: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(size, n) cells and facings: anywhere, or in front of any thing, or of a pot, serving or button."""
    board, floor = rules.boards[0], np.flatnonzero(rules.boards[0] < rules.n_walkable)
    every = [(cell, facing) for cell in floor.tolist() for facing in range(4)]
    ahead = board[_ahead(rules, *(np.array(column) for column in zip(*every, strict=True)))]
    busy = [isinstance(thing, (Pot, Serving, Button)) for thing in rules.spec.symbols.things]
    kinds = (
        np.arange(len(every)),
        np.flatnonzero(ahead >= rules.n_walkable),
        np.flatnonzero(np.array(busy)[ahead]),
    )

    def stands() -> list[tuple[int, int]]:
        found: dict[int, int] = {}
        while len(found) < rules.n_agents:
            cell, facing = every[generator.choice(kinds[generator.choice(3, p=[0.15, 0.4, 0.45])])]
            found.setdefault(cell, facing)
        return [*found.items()]

    drawn = np.array([stands() for _ in range(size)])
    return drawn[..., 0], drawn[..., 1]


def _ahead(rules: Any, pos: np.ndarray, facing: np.ndarray) -> np.ndarray:
    return pos + np.array([row * rules.width + column for row, column in STRIDES])[facing]


def _fitting(rules: Any, faced: np.ndarray, slots: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Items of use there: soups at a serving, mostly of the recipe; mostly a dish at a full pot."""
    symbols = rules.spec.symbols
    soups = [k for k, item in enumerate(symbols.items) if isinstance(item, Soup)]
    others = [k for k, item in enumerate(symbols.items) if not isinstance(item, Soup)]
    held = generator.choice(others, faced.shape)
    for env, agent in np.ndindex(faced.shape):
        thing, wanted = symbols.things[faced[env, agent]], held[env, agent]
        if isinstance(thing, Serving):
            recipe = symbols.item_number[Soup(rules.slots.things[slots[env, 0]].items)]
            wanted = recipe if generator.random() < 0.6 else generator.choice(soups)
        elif isinstance(thing, Pot) and thing.timer >= 0 and generator.random() < 0.6:
            wanted = symbols.item_number[DISH]
        held[env, agent] = wanted
    return held


def _slots(rules: Any, size: int, generator: np.random.Generator) -> np.ndarray:
    """The recipe, and an order of the ingredients for every agent."""
    things = rules.slots.things
    recipes = [k for k, one in enumerate(things) if isinstance(one, Recipe) and one.served != 1]
    orders = [k for k, one in enumerate(things) if not isinstance(one, Recipe)]
    columns = [generator.choice(recipes if name == "recipe" else orders, size) for name in rules.slots.names]
    return np.stack(columns, axis=-1)
