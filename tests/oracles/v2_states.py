"""Legal states of OvercookedV2 kitchens, drawn so that much can happen in the next step."""

from __future__ import annotations

from typing import Any

import numpy as np

from cogrid.core.actions import STRIDES
from cogrid.envs.overcooked.objects import Counter, Pot
from cogrid.envs.overcooked_v2.objects import Button, Recipe


def random_states(env: Any, fresh: Any, generator: np.random.Generator) -> Any:
    """The states of a batch after a reset, with everything in them drawn anew."""
    size, n = np.shape(fresh.pos)
    cells = np.stack([_cells(env.rules, generator) for _ in range(size)])
    floor = np.flatnonzero(env.rules.boards[0] < env.rules.n_walkable)
    pos = np.stack([generator.choice(floor, n, replace=False) for _ in range(size)])
    held = np.where(generator.random((size, n)) < 0.3, 0, generator.integers(0, env.rules.n_items, (size, n)))
    return env.replace(
        fresh,
        cells=cells,
        pos=pos,
        held=held,
        agent_dir=_facings(env.rules, pos, generator),
        slots=_slots(env.rules, size, generator),
        time=generator.integers(0, env.spec.max_steps, size),
    )


def busy_actions(generator: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
    """Interact half of the time, else walk, or now and then do nothing."""
    return generator.choice(7, size, p=[0.11, 0.11, 0.11, 0.11, 0.5, 0.03, 0.03]).astype(np.int32)


def _cells(rules: Any, generator: np.random.Generator) -> np.ndarray:
    """A board; pots are empty, partly full, cooking, almost ready and ready about as often."""
    symbols = rules.spec.symbols
    cells = rules.boards[0].copy()
    for cell, number in enumerate(cells.tolist()):
        thing = symbols.things[number]
        if isinstance(thing, Pot):
            stage = generator.integers(5)
            fitting = [t for t in rules.reachable(number) if _stage(t) == stage]
        elif isinstance(thing, Counter):
            fitting = [t for t in rules.reachable(number) if t.item is not None] * (generator.random() < 0.25)
        elif isinstance(thing, Button):
            fitting = [t for t in rules.reachable(number) if t.lit < 10]
        else:
            continue
        if fitting:
            ordered = sorted(fitting, key=symbols.number.__getitem__)
            cells[cell] = symbols.number[ordered[generator.integers(len(ordered))]]
    return cells


def _stage(pot: Pot) -> int:
    if pot.timer < 0:
        return 1 if pot.items else 0
    return 4 if pot.timer == 0 else 3 if pot.timer < 3 else 2


def _facings(rules: Any, pos: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Mostly towards a thing."""
    facings = generator.integers(0, 4, pos.shape)
    ahead = pos[..., None] + np.array([r * rules.width + c for r, c in STRIDES])  # (B, n, 4)
    solid = rules.boards[0][ahead] >= rules.n_walkable
    drawn = np.where(solid, generator.random(ahead.shape), -1).argmax(axis=-1)
    towards = solid.any(axis=-1) & (generator.random(pos.shape) < 0.85)
    return np.where(towards, drawn, facings)


def _slots(rules: Any, size: int, generator: np.random.Generator) -> np.ndarray:
    """The recipe, and an order of the ingredients for every agent."""
    things = rules.slots.things
    recipes = [k for k, one in enumerate(things) if isinstance(one, Recipe) and one.served != 1]
    orders = [k for k, one in enumerate(things) if not isinstance(one, Recipe)]
    columns = [generator.choice(recipes if name == "recipe" else orders, size) for name in rules.slots.names]
    return np.stack(columns, axis=-1)
