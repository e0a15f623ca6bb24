"""Observations: named numbers or planes, all gathered from tables over symbols, items and places."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from cogrid.backend.array import Array, lift
from cogrid.backend.env_state import EnvState
from cogrid.core.actions import FACINGS, STRIDES
from cogrid.core.game import Item, Thing
from cogrid.core.rules import Rules

Numbers = Sequence[float]


class Feature(Protocol):
    """A part of the flat observation: named numbers within [−1, 1]."""

    def names(self, rules: Rules) -> list[str]:
        """The name of each number."""

    def compile(self, rules: Rules) -> Callable[[EnvState], Array]:
        """A function of a state that returns (*B, n, numbers) float32."""


@dataclass(frozen=True)
class Own:
    """Numbers of the agent's own facing (one of four) and of what it holds."""

    labels: tuple[str, ...]
    of_item: Callable[[Item], Numbers]

    def names(self, rules: Rules) -> list[str]:
        """Facing first."""
        return [f"facing {name}" for name in FACINGS] + [f"holds {label}" for label in self.labels]

    def compile(self, rules: Rules) -> Callable[[EnvState], Array]:
        """One table over facing and item."""
        table = _agent_table(rules, self.of_item)

        def own(state: EnvState) -> Array:
            return rules.lookup(table, state.agent_dir * rules.n_items + state.held)

        return own


@dataclass(frozen=True)
class Others:
    """Offset, facing and held item of every other agent, by ascending distance in agent number."""

    labels: tuple[str, ...]
    of_item: Callable[[Item], Numbers]

    def names(self, rules: Rules) -> list[str]:
        """One block for each other agent."""
        block = ["rows", "columns"] + [f"facing {name}" for name in FACINGS]
        block += [f"holds {label}" for label in self.labels]
        return [f"other {k} {name}" for k in range(1, rules.n_agents) for name in block]

    def compile(self, rules: Rules) -> Callable[[EnvState], Array]:
        """The same table as the agent's own, and a table of offsets."""
        n, xp = rules.n_agents, rules.xp
        who = (np.arange(n)[:, None] + np.arange(1, n)) % n  # (n, n − 1)
        table, offsets = _agent_table(rules, self.of_item), _Offsets(rules)

        def others(state: EnvState) -> Array:
            agent = (state.agent_dir * rules.n_items + state.held)[..., who]  # (*B, n, n − 1)
            offset = offsets(state.pos[..., None], state.pos[..., who])
            block = xp.concatenate((offset, rules.lookup(table, agent)), axis=-1)
            return block.reshape(*state.pos.shape, -1)

        return others


@dataclass(frozen=True)
class Faced:
    """Numbers of the thing in the cell ahead."""

    labels: tuple[str, ...]
    of_thing: Callable[[Thing], Numbers]

    def names(self, rules: Rules) -> list[str]:
        """As labelled."""
        return [f"faces {label}" for label in self.labels]

    def compile(self, rules: Rules) -> Callable[[EnvState], Array]:
        """One table over the symbols."""
        table = rules.symbols(self.of_thing, np.float32)

        def faced(state: EnvState) -> Array:
            ahead = state.pos + rules.lookup(rules.ahead, state.agent_dir)
            return rules.lookup(table, rules.at(state.cells, ahead))

        return faced


@dataclass(frozen=True)
class Place:
    """What follows from where the agent stands: position, free directions, offsets to fixed things.

    `nearest` kinds give the offset to the closest one and whether there is any, `each` kinds the same for
    every one of them. The free directions are those without a thing; others may still stand there.
    """

    nearest: tuple[str, ...] = ()
    each: tuple[str, ...] = ()

    def names(self, rules: Rules) -> list[str]:
        """Position, directions, nearest, each."""
        names = ["row", "column"] + [f"free {name}" for name in FACINGS]
        targets = list(self.nearest)
        for kind in self.each:
            targets += [f"{kind} {k}" for k in range(rules.cells_of(kind).shape[1])]
        return names + [f"{target} {part}" for target in targets for part in ("exists", "rows", "columns")]

    def compile(self, rules: Rules) -> Callable[[EnvState], Array]:
        """One table over layout and cell."""
        numbers = [
            [self._numbers(rules, layout, cell) for cell in range(rules.n_cells)]
            for layout in range(len(rules.boards))
        ]
        table = np.array(numbers, np.float32).reshape(len(rules.boards) * rules.n_cells, -1)

        def place(state: EnvState) -> Array:
            if state.layout is None:
                return rules.lookup(table, state.pos)
            first = state.layout.astype(np.int32)[..., None] * rules.n_cells
            return rules.lookup(table, first + state.pos.astype(np.int32))

        return place

    def _numbers(self, rules: Rules, layout: int, cell: int) -> list[float]:
        row, column = divmod(cell, rules.width)
        numbers = [_scaled(row, rules.height), _scaled(column, rules.width)]
        for r, c in STRIDES:
            inside = 0 <= row + r < rules.height and 0 <= column + c < rules.width
            ahead = (row + r) * rules.width + column + c
            numbers.append(float(inside and rules.boards[layout, ahead] < rules.n_walkable))
        for kind in self.nearest:
            numbers += _offset_to(rules, cell, _closest(rules, cell, rules.cells_of(kind)[layout]))
        for kind in self.each:
            for target in rules.cells_of(kind)[layout]:
                numbers += _offset_to(rules, cell, int(target))
        return numbers


@dataclass(frozen=True)
class Each:
    """Numbers of every thing of one kind, wherever the agent is."""

    kind: str
    labels: tuple[str, ...]
    of_thing: Callable[[Thing], Numbers]

    def names(self, rules: Rules) -> list[str]:
        """One block for each thing."""
        count = rules.cells_of(self.kind).shape[1]
        return [f"{self.kind} {k} {label}" for k in range(count) for label in self.labels]

    def compile(self, rules: Rules) -> Callable[[EnvState], Array]:
        """A table over the symbols; one more row, of zeros, for things that a layout does not have."""
        xp, cells = rules.xp, rules.cells_of(self.kind)  # (layouts, k)
        values = rules.symbols(self.of_thing, np.float32)  # (things, labels)
        table = np.concatenate((values, np.zeros_like(values[:1])))
        there = cells >= 0
        where = np.where(there, cells, 0).astype(rules.pos_dtype)

        def each(state: EnvState) -> Array:
            if state.layout is None:
                seen = state.cells[..., where[0]]  # (*B, k)
            else:
                seen = rules.at(state.cells, rules.lookup(where, state.layout))
                seen = xp.where(rules.lookup(there, state.layout), seen.astype(np.int32), len(values))
            numbers = rules.lookup(table, seen)
            flat = numbers.reshape(*state.time.shape, 1, -1)  # (*B, 1, k · labels)
            return xp.broadcast_to(flat, (*state.pos.shape, flat.shape[-1]))

        return each


@dataclass(frozen=True)
class NearestLying:
    """For each label, whether such an item lies anywhere, and the offset to the closest one."""

    labels: tuple[str, ...]
    of_item: Callable[[Item], int]  # the number of its label, −1 none

    def names(self, rules: Rules) -> list[str]:
        """One block for each label."""
        return [f"lying {label} {part}" for label in self.labels for part in ("exists", "rows", "columns")]

    def compile(self, rules: Rules) -> Callable[[EnvState], Array]:
        """Cells where items can lie are ranked by distance once; a step takes the smallest rank per label."""
        xp, game = rules.xp, rules.spec.game

        def label_of(thing: Thing) -> int:
            item = game.lying(thing)
            return -1 if item is None else self.of_item(item)

        cells = rules.cells_where(lambda thing: label_of(thing) >= 0)
        far = len(cells)
        dtype = rules.backend.index_dtype(far + 1)
        labels = rules.symbols(label_of, np.int8)
        wanted = np.arange(len(self.labels), dtype=np.int8)[:, None]
        ranks = np.zeros((rules.n_cells, far), dtype)  # (cells, far) rank of each lying cell seen from a cell
        offsets = np.zeros((rules.n_cells, far + 1, 3), np.float32)  # by cell and rank
        for cell in range(rules.n_cells):
            order = np.argsort([_distance(rules, cell, int(target)) for target in cells], kind="stable")
            ranks[cell, order] = np.arange(far)
            offsets[cell, :far] = [_offset_to(rules, cell, int(cells[k])) for k in order]
        flat = offsets.reshape(-1, 3)
        first = (np.arange(rules.n_cells) * (far + 1)).astype(np.int32)

        def nearest(state: EnvState) -> Array:
            lies = rules.lookup(labels, state.cells[..., cells])  # (*B, far)
            match = lies[..., None, None, :] == lift(wanted, lies.ndim + 2)  # (*B, 1, labels, far)
            rank = rules.lookup(ranks, state.pos)[..., None, :]  # (*B, n, 1, far)
            best = xp.where(match, rank, dtype.type(far)).min(axis=-1, initial=far)  # (*B, n, labels)
            index = rules.lookup(first, state.pos)[..., None] + best.astype(np.int32)
            return rules.lookup(flat, index).reshape(*state.pos.shape, -1)

        return nearest


def _agent_table(rules: Rules, of_item: Callable[[Item], Numbers]) -> np.ndarray[Any, Any]:
    """(4 · items, 4 + labels) by facing and item."""
    items = rules.items(of_item, np.float32)
    rows = [np.concatenate((np.eye(4, dtype=np.float32)[d], row)) for d in range(4) for row in items]
    return np.array(rows, np.float32)


class _Offsets:
    """Offsets between any two cells, through one number for each pair of differences."""

    def __init__(self, rules: Rules) -> None:
        self.lookup = rules.lookup
        height, width = rules.height, rules.width
        span = 2 * width - 1
        row, column = np.divmod(np.arange(height * width), width)
        self.wide = (row * span + column).astype(np.int32)  # (cells,)
        self.zero = np.int32((height - 1) * span + width - 1)
        rows, columns = np.arange(1 - height, height), np.arange(1 - width, width)
        table = np.zeros((len(rows), span, 2), np.float32)
        table[..., 0] = [[_scaled(int(r), height)] for r in rows]
        table[..., 1] = [_scaled(int(c), width) for c in columns]
        self.table = table.reshape(-1, 2)

    def __call__(self, origin: Array, target: Array) -> Array:
        """(*S, 2) rows and columns from the origin to the target, as parts of the board."""
        difference = self.lookup(self.wide, target) - self.lookup(self.wide, origin)
        return self.lookup(self.table, difference + self.zero)


def _scaled(distance: int, size: int) -> float:
    return distance / max(1, size - 1)


def _distance(rules: Rules, cell: int, target: int) -> int:
    (r, c), (tr, tc) = divmod(cell, rules.width), divmod(target, rules.width)
    return abs(tr - r) + abs(tc - c)


def _closest(rules: Rules, cell: int, targets: np.ndarray[Any, Any]) -> int:
    there = [int(target) for target in targets if target >= 0]
    return min(there, key=lambda target: (_distance(rules, cell, target), target), default=-1)


def _offset_to(rules: Rules, cell: int, target: int) -> list[float]:
    """Exists, rows, columns."""
    if target < 0:
        return [0.0, 0.0, 0.0]
    (r, c), (tr, tc) = divmod(cell, rules.width), divmod(target, rules.width)
    return [1.0, _scaled(tr - r, rules.height), _scaled(tc - c, rules.width)]


class Observer(NamedTuple):
    """How agents see: the names of the last axis, the shape for one agent, and the function."""

    names: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    low: float
    high: float
    see: Callable[[EnvState], Array]


@functools.lru_cache(maxsize=256)
def observer(rules: Rules) -> Observer:
    """The observation that the spec asks for."""
    kind = rules.spec.observation
    if kind == "features":
        return _features(rules)
    if kind == "none":
        return _nothing(rules)
    return _planes(rules)


def observe(rules: Rules, state: EnvState) -> Array:
    """(*B, n, …) what every agent sees."""
    return observer(rules).see(state)


def _features(rules: Rules) -> Observer:
    parts = rules.spec.game.features()
    if not parts:
        raise ValueError(f"{type(rules.spec.game).__name__} has no features: choose another observation.")
    names = tuple(name for part in parts for name in part.names(rules))
    functions = [part.compile(rules) for part in parts]

    def see(state: EnvState) -> Array:
        return rules.xp.concatenate([function(state) for function in functions], axis=-1)

    return Observer(names, (len(names),), np.dtype(np.float32), -1.0, 1.0, see)


def _nothing(rules: Rules) -> Observer:
    def see(state: EnvState) -> Array:
        return rules.xp.zeros((*state.pos.shape, 0), np.float32)

    return Observer((), (0,), np.dtype(np.float32), 0.0, 0.0, see)


def _planes(rules: Rules) -> Observer:
    """Rows of one table: things, other agents, the own agent, nothing; once more for the countdown."""
    game, symbols, xp = rules.spec.game, rules.spec.symbols, rules.xp
    agents = [(facing, item) for facing in range(4) for item in symbols.items]
    painted = [game.paint(thing) for thing in symbols.things]
    painted += [game.paint_agent(False, facing, item) for facing, item in agents]
    painted += [game.paint_agent(True, facing, item) for facing, item in agents]
    painted.append({})
    table = np.array([[cell.get(plane, 0) for plane in game.planes] for cell in painted], np.uint8)
    size, void = len(table), len(table) - 1
    if game.countdown is not None:
        urgent = table.copy()
        urgent[:, game.planes.index(game.countdown[0])] = 1
        table = np.concatenate((table, urgent))
    dtype = rules.backend.index_dtype(len(table))
    crop = _crop(rules) if rules.spec.observation == "window" else None
    every = np.arange(rules.n_cells, dtype=rules.pos_dtype)
    middle = np.arange(rules.spec.window**2) == rules.spec.window**2 // 2

    def see(state: EnvState) -> Array:
        facing, held = state.agent_dir.astype(dtype), state.held.astype(dtype)
        agent = facing * rules.n_items + held + rules.n_things  # (*B, n)
        board = rules.put(state.cells.astype(dtype), state.pos, agent)  # (*B, cells) agents are symbols too
        if game.countdown is not None:
            left = rules.spec.max_steps - state.time
            board = board + xp.where(left < game.countdown[1], dtype.type(size), dtype.type(0))[..., None]
        if crop is None:
            own = lift(every, state.pos.ndim + 1) == state.pos[..., None]  # (*B, n, cells)
            seen = board[..., None, :]
        else:
            seen = _cropped(rules, board, crop, state.pos, void)  # (*B, n, window)
            own = lift(middle, seen.ndim)
        seen = xp.where(own, seen + dtype.type(len(agents)), seen)
        return rules.lookup(table, seen).reshape(*state.pos.shape, *shape)

    sides = (rules.height, rules.width) if crop is None else (rules.spec.window,) * 2
    shape = (*sides, len(game.planes))
    return Observer(game.planes, shape, np.dtype(np.uint8), 0, 255, see)


def _crop(rules: Rules) -> np.ndarray[Any, Any]:
    """(cells, side²) the cells around a cell, −1 outside the map."""
    reach = np.arange(rules.spec.window) - rules.spec.window // 2
    row, column = np.divmod(np.arange(rules.n_cells)[:, None, None], rules.width)
    rows, columns = row + reach[:, None], column + reach
    inside = (rows >= 0) & (rows < rules.height) & (columns >= 0) & (columns < rules.width)
    return np.where(inside, rows * rules.width + columns, -1).reshape(rules.n_cells, -1)


def _cropped(rules: Rules, board: Array, crop: np.ndarray[Any, Any], pos: Array, void: int) -> Array:
    """(*B, n, side²) the symbols around every agent; `void` outside the map."""
    xp = rules.xp
    inside = np.where(crop < 0, rules.n_cells, crop)  # one cell more: the void
    dtype = rules.backend.index_dtype(rules.n_cells + 1)
    index = rules.lookup(inside.astype(dtype), pos)  # (*B, n, side²)
    edge = xp.full((*board.shape[:-1], 1), void, board.dtype)
    wide = xp.concatenate((board, edge), axis=-1)
    flat = rules.at(wide, index.reshape(*pos.shape[:-1], -1))
    return flat.reshape(index.shape)
