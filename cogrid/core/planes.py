"""Planes: the grid observation, rows of one table in which agents are symbols too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cogrid.backend.array import Array, lift
from cogrid.backend.env_state import EnvState
from cogrid.core.rules import Rules


def compile_planes(rules: Rules) -> tuple[tuple[int, ...], Callable[[EnvState], Array]]:
    """The shape for one agent, and the function.

    Rows of the table: things, other agents, the own agent, nothing; once more for the countdown.
    """
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
    outside = np.array([void], dtype)
    every = np.arange(rules.n_cells, dtype=rules.pos_dtype)
    middle = np.arange(rules.spec.window**2) == rules.spec.window**2 // 2

    def see(state: EnvState) -> Array:
        agent = xp.asarray(state.pose, dtype) + rules.n_things  # (*B, n)
        board = rules.put(
            xp.asarray(state.cells, dtype), state.pos, agent
        )  # (*B, cells) agents are symbols too
        mine = agent + dtype.type(len(agents))  # (*B, n) as each sees itself
        if game.countdown is not None:
            left = rules.spec.max_steps - state.time
            late = (left < game.countdown[1]).astype(dtype)[..., None] * dtype.type(size)
            board, mine = board + late, mine + late
        if crop is None:
            own = lift(every, state.pos.ndim + 1) == state.pos[..., None]  # (*B, n, cells)
            rows = rules.backend.rows(table, board, mine, own)
        else:
            seen = _cropped(rules, board, crop, state.pos, outside)  # (*B, n, window)
            rows = rules.lookup(table, xp.where(lift(middle, seen.ndim), mine[..., None], seen))
        if slots is not None:
            rows = rows + slots(state, board if crop is None else seen)
        return rows.reshape(*state.pos.shape, *shape)

    slots = _slots(rules, size) if rules.slots is not None else None
    sides = (rules.height, rules.width) if crop is None else (rules.spec.window,) * 2
    shape = (*sides, len(game.planes))
    return shape, see


def _slots(rules: Rules, size: int) -> Callable[[EnvState, Array], Array]:
    """What the slots add to the planes, in the cells that show them; where agents stand, none does."""
    assert rules.slots is not None
    game, (names, things) = rules.spec.game, (rules.slots.names, rules.slots.things)
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
    """(cells, side²) the cells around a cell; outside the map the cell after the last."""
    rules.check_table(f"a window of side {rules.spec.window}", rules.n_cells * rules.spec.window**2)
    reach = np.arange(rules.spec.window) - rules.spec.window // 2
    row, column = np.divmod(np.arange(rules.n_cells)[:, None, None], rules.width)
    rows, columns = row + reach[:, None], column + reach
    inside = (rows >= 0) & (rows < rules.height) & (columns >= 0) & (columns < rules.width)
    cells = np.where(inside, rows * rules.width + columns, rules.n_cells).reshape(rules.n_cells, -1)
    return cells.astype(rules.backend.index_dtype(rules.n_cells + 1))


def _cropped(
    rules: Rules, board: Array, crop: np.ndarray[Any, Any], pos: Array, outside: np.ndarray[Any, Any]
) -> Array:
    """(*B, n, side²) the symbols around every agent; `outside` (1,) is seen outside the map."""
    index = rules.lookup(crop, pos)  # (*B, n, side²)
    xp, batch = rules.xp, board.shape[:-1]
    edge = xp.full((*batch, 1), outside[0], board.dtype) if batch else outside
    wide = xp.concatenate((board, edge), axis=-1)
    flat = rules.at(wide, index.reshape(*pos.shape[:-1], -1))
    return flat.reshape(index.shape)
