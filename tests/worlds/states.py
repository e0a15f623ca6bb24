"""States: random ones and random actions, and how the interpreter reads them."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from cogrid._core.author.acting import BUILT_IN
from cogrid._core.compile.actions import STRIDES
from cogrid._core.compile.placing import placing_cells
from cogrid._core.rules import Rules
from cogrid.backend.env_state import EnvState
from tests.worlds import interpreter
from tests.worlds.generator import World
from tests.worlds.parts import PlainParts

BATCH = 8  # environments of a world


def moved_to(rules: Rules, state: EnvState) -> EnvState:
    """The state, in NumPy arrays of the types that another backend's rules use."""
    if state.rules is rules:
        return state
    types = {"cells": rules.cell_dtype, "pos": rules.pos_dtype, "pose": rules.agent_dtype}
    types["places"] = rules.pos_dtype
    if rules.slots is not None:
        types["slots"] = rules.slot_dtype
    stored = {name: np.asarray(value) for name, value in state.stored().items()}
    stored = {name: value.astype(types.get(name, value.dtype)) for name, value in stored.items()}
    return state.evolve(**stored, rules=rules)


def random_actions(world: World, rules: Rules, generator: np.random.Generator) -> np.ndarray[Any, Any]:
    """(batch, n) mostly moves and actions that the world has rules for, some together; a few out of range."""
    shape, names = (BATCH, rules.n_agents), [action.name for action in rules.spec.actions]
    parts = PlainParts(rules.spec.game)
    known = {*parts.acts} - {*BUILT_IN} | ({*BUILT_IN} & world.hooks)
    if "meet" in world.hooks:
        known |= {*BUILT_IN}
    acts = [number for number, name in enumerate(names) if name in known] or [0]
    moves = [number for number, action in enumerate(rules.spec.actions) if action.walks]
    kind = generator.random(shape)
    actions = np.where(kind < 0.4, generator.choice(acts, shape), generator.choice(moves, shape))
    actions = np.where(kind > 0.85, generator.integers(0, rules.n_actions, shape), actions)
    joint = [] if parts.joint is None else [names.index(parts.joint.name)] * 4
    together = generator.choice(acts + joint, (BATCH, 1))
    actions = np.where(generator.random((BATCH, 1)) < 0.3, together, actions)
    strange = generator.choice((-1, rules.n_actions, 100), shape)
    return np.where(kind > 0.97, strange, actions)


def mixed(rules: Rules, state: EnvState, first: EnvState, random: Random) -> EnvState:
    """A batch of states: first ones again where episodes are over; in the second half, anything possible.

    That is, whatever cells, hands and slots can be, in any combination. Both get new keys.
    """
    symbols, parts, n = rules.spec.symbols, PlainParts(rules.spec.game), rules.n_agents
    stored = {name: np.array(value) for name, value in state.stored().items()}
    for name, value in first.stored().items():
        stored[name][state.done] = value[state.done]
    anew = [one for one in range(BATCH) if state.done[one] or one >= BATCH // 2]
    stored["words"][anew] = [[random.getrandbits(32), random.getrandbits(32)] for _ in anew]
    at_home = [k for k, item in enumerate(symbols.items) if not parts.is_away(item)]
    possible = _possible(rules)
    for one in range(BATCH // 2, BATCH):
        board = rules.boards[0 if state.layout is None else state.layout[one]]
        placed = placing_cells(rules.spec)[0 if state.layout is None else state.layout[one]].tolist()
        cells = [random.choice(possible[case]) for case in zip(board.tolist(), placed, strict=True)]
        on_board = [k for k in range(n) if at_home and not (rules.leaves and random.random() < 0.15)]
        places = _places(rules, cells, random)
        if len(places) < len(on_board):
            continue
        pos, pose = [rules.n_cells + k for k in range(n)], [random.randrange(rules.n_poses) for _ in range(n)]
        for k, (pos[k], facing) in zip(random.sample(on_board, len(on_board)), places, strict=False):
            pose[k] = facing * rules.n_items + random.choice(at_home)
        stored["cells"][one], stored["pos"][one], stored["pose"][one] = cells, pos, pose
        stored["clock"][one] = random.randrange(rules.spec.max_steps)
        if state.weight is not None:
            stored["weight"][one] = random.choice((0.0, 0.5, 2.0, -1.0))
        if state.ended is not None:
            ended = [random.random() < 0.15 for _ in range(n)]
            stored["ended"][one] = ended if not all(ended) else False
        if rules.slots is not None:
            known = sorted(rules.slots.can_be, key=repr)
            things = [random.choice([t for name, t in known if name == slot]) for slot in rules.slots.names]
            stored["slots"][one] = [rules.slots.number[thing] for thing in things]
    return state.evolve(**stored)


def _possible(rules: Rules) -> dict[tuple[int, bool], list[int]]:
    """What a cell can ever hold, by what it holds in the layout and whether reset may place things there.

    Walkable things are in it twice, for more room.
    """
    symbols, found = rules.spec.symbols, {}
    for symbol in np.unique(rules.boards).tolist():
        for is_placed in (False, True):
            things = rules.reachable(symbol) | (symbols.placed_things if is_placed else frozenset())
            numbers = sorted(symbols.number[thing] for thing in things)
            found[symbol, is_placed] = numbers + [one for one in numbers if one < rules.n_walkable]
    return found


def _places(rules: Rules, cells: list[int], random: Random) -> list[tuple[int, int]]:
    """All cells where agents can stand, with a facing, in random order; often those around one cell first."""
    free = [cell for cell, number in enumerate(cells) if number < rules.n_walkable]
    random.shuffle(free)
    places = {cell: random.randrange(4) for cell in free}
    shared = [k for k in range(rules.n_cells) if sum(cell in places for cell in _around(rules, k)) > 1]
    if shared and random.random() < 0.7:  # some face the same cell
        target = random.choice(shared)
        around = {cell: facing for facing, cell in enumerate(_around(rules, target)) if cell in places}
        places = around | {cell: facing for cell, facing in places.items() if cell not in around}
    return [*places.items()]


def _around(rules: Rules, cell: int) -> list[int]:
    """The cells from which agents with the facings 0 to 3 face this one."""
    return [cell - row * rules.width - column for row, column in STRIDES]


def world_of(rules: Rules, state: EnvState, number: int) -> interpreter.World:
    """One environment of a batch, as the interpreter reads it."""
    symbols, width = rules.spec.symbols, rules.width
    things, items = symbols.things, symbols.items
    cells = {divmod(cell, width): things[symbol] for cell, symbol in enumerate(state.cells[number].tolist())}
    ended = [False] * rules.n_agents if state.ended is None else state.ended[number].tolist()
    agents = []
    for pos, pose, end in zip(state.pos[number].tolist(), state.pose[number].tolist(), ended, strict=True):
        facing, item = divmod(pose, rules.n_items)
        cell = divmod(pos, width) if pos < rules.n_cells else None
        agents.append(interpreter.Agent(cell, facing, items[item], end))
    slots = {}
    if rules.slots is not None:
        held = state.slots[number].tolist()
        slots = {name: rules.slots.things[k] for name, k in zip(rules.slots.names, held, strict=True)}
    return interpreter.World(cells, agents, slots, int(state.time[number]))


def alone(state: EnvState, number: int) -> EnvState:
    return state.evolve(**{name: value[number] for name, value in state.stored().items()})


def stacked(states: list[EnvState]) -> EnvState:
    stored = [state.stored() for state in states]
    return states[0].evolve(**{name: np.stack([one[name] for one in stored]) for name in stored[0]})
