"""Planes: the grid observation, rows of one table in which agents are symbols too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cogrid.backend.array import Array, lift
from cogrid.backend.env_state import EnvState
from cogrid.core.actions import STRIDES, UP
from cogrid.core.answers import View
from cogrid.core.onehot import painter
from cogrid.core.rules import Rules


def compile_planes(rules: Rules) -> tuple[tuple[int, ...], Callable[[EnvState], Array]]:
    """The shape for one agent, and the function.

    Rows of the table: things, other agents, the own agent, nothing; once more for the countdown.
    """
    game, symbols, xp = painter(rules.spec.game, rules.spec.symbols), rules.spec.symbols, rules.xp
    if rules.spec.observation == "window" and (view := game.view()) is not None:
        return _turning(rules, view)
    agents = [(facing, item) for facing in range(4) for item in symbols.items]
    table = _table(rules, 0)
    size, void = len(table), len(table) - 1
    if game.countdown is not None:
        table = np.concatenate((table, _urgent(rules, table)))
    dtype = rules.backend.index_dtype(len(table))
    crop = _crop(rules) if rules.spec.observation == "window" else None
    outside = np.full(max(1, rules.n_spots - rules.n_cells), void, dtype)
    every = np.arange(rules.n_cells, dtype=rules.pos_dtype)
    middle = np.arange(rules.spec.window**2) == rules.spec.window**2 // 2

    def see(state: EnvState) -> Array:
        agent = xp.asarray(state.pose, dtype) + rules.n_things  # (*B, n)
        board = _peopled(rules, state, agent, outside)
        mine = agent + dtype.type(len(agents))  # (*B, n) as each sees itself
        if game.countdown is not None:
            left = rules.spec.max_steps - state.time
            late = (left < game.countdown[1]).astype(dtype)[..., None] * dtype.type(size)
            board, mine = board + late, mine + late
        if crop is None:
            board = board[..., : rules.n_cells] if rules.leaves else board
            own = lift(every, state.pos.ndim + 1) == state.pos[..., None]  # (*B, n, cells)
            rows = rules.backend.rows(table, board, mine, own)
        else:
            seen = _cropped(rules, board, crop, state.pos, outside)  # (*B, n, window)
            rows = rules.lookup(table, xp.where(lift(middle, seen.ndim), mine[..., None], seen))
        if slots is not None:
            rows = rows + slots(state, board if crop is None else seen)
        if away is not None:
            rows = rows + away(state)
        return rows.reshape(*state.pos.shape, *shape)

    slots = _slots(rules, size) if rules.slots is not None else None
    away = _away(rules)
    sides = (rules.height, rules.width) if crop is None else (rules.spec.window,) * 2
    shape = (*sides, len(game.planes))
    return shape, see


def _table(rules: Rules, turn: int) -> np.ndarray[Any, Any]:
    """(rows, planes) what is painted; agents as they are seen by one who has turned so many quarters."""
    game, symbols = painter(rules.spec.game, rules.spec.symbols), rules.spec.symbols
    agents = [((facing - turn) % 4, item) for facing in range(4) for item in symbols.items]
    painted = [game.paint(thing) for thing in symbols.things]
    painted += [game.paint_agent(False, facing, item) for facing, item in agents]
    painted += [game.paint_agent(True, facing, item) for facing, item in agents]
    painted.append({})
    return np.array([[cell.get(plane, 0) for plane in game.planes] for cell in painted], np.uint8)


def _urgent(rules: Rules, table: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The table as it is near the end."""
    game, urgent = rules.spec.game, table.copy()
    assert game.countdown is not None
    urgent[:, game.planes.index(game.countdown[0])] = 1
    return urgent


def _turning(rules: Rules, view: View) -> tuple[tuple[int, ...], Callable[[EnvState], Array]]:
    """A window that turns: the table has a part for each facing, with the others' facings relative to it."""
    game, xp = painter(rules.spec.game, rules.spec.symbols), rules.xp
    quarters = [_table(rules, facing - UP) for facing in range(4)]
    size, agents = len(quarters[0]), rules.n_poses
    parts = [quarters] if game.countdown is None else [quarters, [_urgent(rules, part) for part in quarters]]
    table = np.concatenate([part for some in parts for part in some])  # by countdown, facing and symbol
    dtype = rules.backend.index_dtype(len(table))
    crop, outside = _ahead(rules, view), np.full(max(1, rules.n_spots - rules.n_cells), size - 1, dtype)
    rows, columns = view.shape
    middle = np.arange(rows * columns) == view.ahead * columns + view.side
    start = (rules.facing.astype(np.int64) * rules.n_spots).astype(np.int32)  # (poses,)
    slots = _slots(rules, size) if rules.slots is not None else None
    away = _away(rules)

    def see(state: EnvState) -> Array:
        agent = xp.asarray(state.pose, dtype) + rules.n_things  # (*B, n)
        board = _peopled(rules, state, agent, outside)
        place = rules.lookup(start, state.pose) + state.pos.astype(np.int32)
        seen = _cropped(rules, board, crop, place, outside)  # (*B, n, rows · columns)
        first = rules.lookup(rules.facing, state.pose).astype(dtype) * dtype.type(size)  # (*B, n)
        if game.countdown is not None:
            late = rules.spec.max_steps - state.time < game.countdown[1]
            first = first + late.astype(dtype)[..., None] * dtype.type(4 * size)
        mine = agent + dtype.type(agents)
        index = xp.where(lift(middle, seen.ndim), mine[..., None], seen) + first[..., None]
        planes = rules.backend.lookup_bytes(table, index)
        if slots is not None:
            planes = planes + slots(state, seen)
        if away is not None:
            planes = planes + away(state)
        return planes.reshape(*state.pos.shape, *shape)

    shape = (rows, columns, len(game.planes))
    return shape, see


def _ahead(rules: Rules, view: View) -> np.ndarray[Any, Any]:
    """(4 · places, rows · columns) the cells seen, by facing and place; outside, the place after the last."""
    rows, columns = view.shape
    rules.check_table(f"{view!r}", 4 * rules.n_spots * rows * columns)
    ahead, right = view.ahead - np.arange(rows)[:, None], np.arange(columns) - view.side
    row, column = np.divmod(np.arange(rules.n_cells)[:, None, None], rules.width)
    found = []
    for facing in range(4):
        (down, along), (aside, across) = STRIDES[facing], STRIDES[(facing + 1) % 4]
        y, x = row + ahead * down + right * aside, column + ahead * along + right * across
        inside = (y >= 0) & (y < rules.height) & (x >= 0) & (x < rules.width)
        found.append(_with_parking(rules, np.where(inside, y * rules.width + x, rules.n_spots)))
    cells = np.concatenate(found).reshape(4 * rules.n_spots, -1)
    return cells.astype(rules.backend.index_dtype(rules.n_spots + 1))


def _slots(rules: Rules, size: int) -> Callable[[EnvState, Array], Array]:
    """What the slots add to the planes, in the cells that show them; where agents stand, none does."""
    assert rules.slots is not None
    game, names, things = painter(rules.spec.game, rules.spec.symbols), rules.slots.names, rules.slots.things
    painted = [game.paint_slot(name, thing) for name in names for thing in things]
    table = np.array([[one.get(plane, 0) for plane in game.planes] for one in painted], np.uint8)
    shows = np.zeros(2 * size, np.uint8)  # once more for the countdown
    shows[: rules.n_things] = shows[size : size + rules.n_things] = rules.symbols(game.shows, np.uint8)
    first = np.arange(len(names), dtype=np.int32) * len(things)

    def added(state: EnvState, seen: Array) -> Array:
        each = rules.lookup(table, state.slots.astype(np.int32) + lift(first, state.slots.ndim))
        total = each.sum(axis=-2, dtype=np.uint8)[..., None, None, :]  # (*B, 1, 1, planes)
        shown = rules.lookup(shows, seen)[..., None]  # (*B, cells, 1) or (*B, n, window, 1)
        return total * (shown if seen.ndim > state.pos.ndim else shown[..., None, :, :])

    return added


def _crop(rules: Rules) -> np.ndarray[Any, Any]:
    """(places, side²) the cells around a place; outside the map the place after the last."""
    rules.check_table(f"a window of side {rules.spec.window}", rules.n_spots * rules.spec.window**2)
    reach = np.arange(rules.spec.window) - rules.spec.window // 2
    row, column = np.divmod(np.arange(rules.n_cells)[:, None, None], rules.width)
    rows, columns = row + reach[:, None], column + reach
    inside = (rows >= 0) & (rows < rules.height) & (columns >= 0) & (columns < rules.width)
    cells = _with_parking(rules, np.where(inside, rows * rules.width + columns, rules.n_spots))
    return cells.reshape(rules.n_spots, -1).astype(rules.backend.index_dtype(rules.n_spots + 1))


def _with_parking(rules: Rules, cells: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """(cells, …) -> (places, …) the cells seen; from off the board nothing is."""
    away = np.full((rules.n_spots - rules.n_cells, *cells.shape[1:]), rules.n_spots)
    return np.concatenate((cells, away))


def _peopled(rules: Rules, state: EnvState, agent: Array, void: np.ndarray[Any, Any]) -> Array:
    """(*B, places) the board, in which agents (*B, n) are symbols too; `void` (n,) is off the board."""
    xp, board = rules.xp, rules.xp.asarray(state.cells, agent.dtype)
    if rules.leaves:
        board = xp.concatenate((board, _everywhere(rules, void, board)), axis=-1)
    return rules.put(board, state.pos, agent)


def _everywhere(rules: Rules, values: np.ndarray[Any, Any], board: Array) -> Array:
    """(*B, k) equal constants, for every environment of the board."""
    batch = board.shape[:-1]
    return rules.xp.full((*batch, len(values)), values[0], board.dtype) if batch else values


def _away(rules: Rules) -> Callable[[EnvState], Array] | None:
    """What agents off the board add to the planes of each agent, (*B, n, 1, planes); None for nothing."""
    game, items = rules.spec.game, rules.spec.symbols.items
    painted = [game.paint_away(own, item) for own in (False, True) for item in items] if rules.leaves else []
    table = np.array([[one.get(plane, 0) for plane in game.planes] for one in painted], np.uint8)
    if not table.any():
        return None
    theirs, mine = np.split(table, 2)

    def added(state: EnvState) -> Array:
        held = rules.lookup(rules.held, state.pose)  # (*B, n)
        out = state.away[..., None].astype(np.uint8)
        others = rules.lookup(theirs, held) * out  # (*B, n, planes)
        total = others.sum(axis=-2, keepdims=True, dtype=np.uint8) - others
        return (total + rules.lookup(mine, held) * out)[..., None, :]

    return added


def _cropped(
    rules: Rules, board: Array, crop: np.ndarray[Any, Any], pos: Array, outside: np.ndarray[Any, Any]
) -> Array:
    """(*B, n, side²) the symbols around every agent; `outside` (1,) is seen outside the map."""
    index = rules.lookup(crop, pos)  # (*B, n, side²)
    wide = rules.xp.concatenate((board, _everywhere(rules, outside[:1], board)), axis=-1)
    flat = rules.at(wide, index.reshape(*pos.shape[:-1], -1))
    return flat.reshape(index.shape)
