"""Simple cooks that want something and walk there, so that games really pot, plate and deliver."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence
from functools import cache

from tests.oracles.canonical import (
    FACING_OF_MOVE,
    HORIZON,
    INTERACT,
    MOVE_OF_FACING,
    NOOP,
    OFFSETS,
    POT_SIZE,
    Cell,
    Implementation,
    JointAction,
    Kitchen,
    KitchenState,
    Outcome,
    is_soup,
)


def play(
    game: Implementation,
    kitchen: Kitchen,
    starts: Sequence[KitchenState],
    steps: int,
    noises: Sequence[float],
    rng: random.Random,
) -> tuple[list[list[JointAction]], list[list[Outcome]]]:
    """Let cooks play from each start side by side; joint actions and outcomes by step, then by start.

    `noises` holds each game's share of random actions. A game at its horizon must not be stepped on.
    """
    assert all(state.time + steps <= HORIZON for state in starts)
    states, actions, outcomes = list(starts), [], []
    for _ in range(steps):
        pairs = zip(states, noises, strict=True)
        joints = [joint_action(kitchen, state, noise, rng) for state, noise in pairs]
        outcomes.append(game.step(states, joints))
        actions.append(joints)
        states = [outcome.state for outcome in outcomes[-1]]
    return actions, outcomes


def joint_action(kitchen: Kitchen, state: KitchenState, noise: float, rng: random.Random) -> JointAction:
    """What the cooks do; each does something random with probability `noise`."""
    return tuple(
        rng.randrange(NOOP + 1) if rng.random() < noise else _walk(kitchen, state, agent, rng)
        for agent in range(len(state.positions))
    )


def _walk(kitchen: Kitchen, state: KitchenState, agent: int, rng: random.Random) -> int:
    """Interact with a wanted cell if faced, else turn or walk to the nearest, often into the other cook."""
    here = state.positions[agent]
    wanted = [cell for cell in _wanted(kitchen, state, agent, rng) if here in distances(kitchen, cell)]
    if not wanted:
        return rng.randrange(NOOP + 1)
    if state.faced(agent) in wanted:
        return INTERACT
    target = min(wanted, key=lambda cell: (distances(kitchen, cell)[here], rng.random()))
    move = rng.choice(_moves_towards(kitchen, here, target))
    if _in_the_way(state, agent, neighbour(here, move)) and rng.random() < 0.35:
        return rng.randrange(NOOP + 1)  # else two cooks who want to pass would stand there forever
    return move


def _in_the_way(state: KitchenState, agent: int, cell: Cell) -> bool:
    """Another cook stands in the cell or may step into it now."""
    others = state.positions[:agent] + state.positions[agent + 1 :]
    return any(abs(cell[0] - row) + abs(cell[1] - col) <= 1 for row, col in others)


def _wanted(kitchen: Kitchen, state: KitchenState, agent: int, rng: random.Random) -> list[Cell]:
    """The cells a cook would like to interact with, before asking which of them it can reach."""
    held = state.held[agent]
    open_pots = [cell for cell, (items, timer) in state.pots if timer < 0 and len(items) < POT_SIZE]
    busy_pots = [cell for cell, (_, timer) in state.pots if timer >= 0]
    if held is None:
        return _wanted_by_free_hand(kitchen, state, busy_pots, rng)
    places = {"dish": busy_pots, "onion": open_pots, "tomato": open_pots}
    wanted = kitchen.cells("S") if is_soup(held) else places[held]
    here = state.positions[agent]
    if any(here in distances(kitchen, cell) for cell in wanted):
        return wanted
    return _places_to_put(kitchen, state, here)


def _wanted_by_free_hand(
    kitchen: Kitchen, state: KitchenState, busy_pots: list[Cell], rng: random.Random
) -> list[Cell]:
    lying = dict(state.counters)
    idle = [(cell, items) for cell, (items, timer) in state.pots if timer < 0 and items]
    to_start = [cell for cell, items in idle if len(items) == POT_SIZE or rng.random() < 0.03]
    soups = [cell for cell, item in lying.items() if is_soup(item)]
    if soups or to_start:
        return soups + to_start
    dishes = [cell for cell, item in lying.items() if item == "dish"]
    if state.held.count("dish") < len(busy_pots):
        return dishes or kitchen.cells("D")
    ingredients = [cell for cell, item in lying.items() if item in ("onion", "tomato")]
    return kitchen.cells("OT") + (ingredients if rng.random() < 0.8 else [])


def _places_to_put(kitchen: Kitchen, state: KitchenState, here: Cell) -> list[Cell]:
    """Free counters, if possible those that another room can reach too."""
    free = [cell for cell in kitchen.cells("X") if cell not in dict(state.counters)]
    shared = [cell for cell in free if set(distances(kitchen, cell)) - set(_room(kitchen, here))]
    return [cell for cell in shared if here in distances(kitchen, cell)] or free


def _moves_towards(kitchen: Kitchen, here: Cell, target: Cell) -> list[int]:
    """Moves that lead one step nearer to the target, or turn to it."""
    steps = distances(kitchen, target)
    if steps[here] == 0:
        return [move for move in FACING_OF_MOVE if neighbour(here, move) == target]
    return [move for move in FACING_OF_MOVE if steps.get(neighbour(here, move)) == steps[here] - 1]


def neighbour(cell: Cell, move: int) -> Cell:
    d_row, d_col = OFFSETS[FACING_OF_MOVE[move]]
    return cell[0] + d_row, cell[1] + d_col


def floor_around(kitchen: Kitchen, cell: Cell) -> list[tuple[Cell, int]]:
    """The floor cells beside a cell, each with the facing that looks at it."""
    beside = [(neighbour(cell, move), (facing + 2) % 4) for facing, move in MOVE_OF_FACING.items()]
    return [(spot, facing) for spot, facing in beside if kitchen.letters.get(spot) == " "]


@cache
def distances(kitchen: Kitchen, target: Cell) -> dict[Cell, int]:
    """Steps from each floor cell to the nearest one beside the target; unreachable ones are left out."""
    steps = {cell: 0 for cell, _ in floor_around(kitchen, target)}
    queue = deque(steps)
    while queue:
        cell = queue.popleft()
        for spot, _ in floor_around(kitchen, cell):
            if spot not in steps:
                steps[spot] = steps[cell] + 1
                queue.append(spot)
    return steps


@cache
def _room(kitchen: Kitchen, here: Cell) -> tuple[Cell, ...]:
    return tuple({here, *distances(kitchen, here)})
