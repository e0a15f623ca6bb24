"""Leaving: agents whose hand is `away` leave the board, and come back to random free cells."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from cogrid._core.author.chance import one_of
from cogrid._core.rules import Rules
from cogrid.backend.array import Array, lift
from cogrid.backend.env_state import EnvState, Events


class Tables(NamedTuple):
    """Who is away, and where agents come back."""

    away: np.ndarray[Any, Any]  # (poses,) bool
    cells: np.ndarray[Any, Any]  # (k,) cells that can ever be a spawn point, as positions
    numbers: np.ndarray[Any, Any]  # (k,) int32 the same
    parking: np.ndarray[Any, Any]  # (n,) every agent's own place off the board
    spawn: np.ndarray[Any, Any]  # (things,) uint32 1 where an agent can come back


def leave(rules: Rules, state: EnvState, events: Events) -> EnvState:
    """Agents that are away leave; then returning agents take a random free spawn point each, in order.

    An agent that finds none waits off the board, whatever it holds by then.
    """
    xp, tables = rules.xp, _tables(rules)
    pos = parked(rules, state.pose, state.pos)
    back = (pos >= rules.n_cells) & ~rules.lookup(tables.away, state.pose)  # (*B, n)
    free = rules.lookup(tables.spawn, rules.pick(state.cells, tables.cells))  # (*B, k)
    free = xp.where(stood(tables.cells, pos), np.uint32(0), free)
    ranks = free.cumsum(axis=-1, dtype=np.uint32) * free  # (*B, k) from 1, 0 where not free
    count = free.sum(axis=-1, keepdims=True, dtype=np.uint32)  # (*B, 1)
    drawn, cells = rules.draws.of("return", events.drawn), lift(tables.numbers, pos.ndim)
    taken = []
    for i in range(rules.n_agents):
        me = slice(i, i + 1)
        wanted = one_of(drawn[..., me], count) + np.uint32(1)
        hit = (ranks == wanted) & back[..., me]  # nothing where the count is 0
        here = hit.any(axis=-1, keepdims=True)
        cell = xp.where(hit, cells, np.int32(0)).sum(axis=-1, keepdims=True, dtype=np.int32)
        taken.append(xp.where(here, cell.astype(rules.pos_dtype), pos[..., me]))
        later = here & (ranks > wanted)  # move up, and the point itself is no longer free
        ranks = xp.where(hit, np.uint32(0), ranks - later.astype(np.uint32))
        count = count - here.astype(np.uint32)
    return state.evolve(pos=xp.concatenate(taken, axis=-1))


def parked(rules: Rules, pose: Array, pos: Array) -> Array:
    """(*B, n) the places, off the board for agents whose hand is away."""
    tables = _tables(rules)
    return rules.xp.where(rules.lookup(tables.away, pose), lift(tables.parking, pos.ndim), pos)


def parking(rules: Rules) -> np.ndarray[Any, Any]:
    """(n,) every agent's own place off the board."""
    return _tables(rules).parking


def stood(cells: np.ndarray[Any, Any], pos: Array) -> Array:
    """(*B, k) whether an agent stands in each of k cells."""
    return (lift(cells, pos.ndim + 1) == pos[..., None]).any(axis=-2)


@functools.lru_cache(maxsize=256)
def _tables(rules: Rules) -> Tables:
    game, cells = rules.game, rules.cells_where(rules.game.spawn)
    for thing in filter(game.spawn, rules.spec.symbols.things):
        if not game.walkable(thing):
            raise ValueError(
                f"{type(game).__name__}.spawn returned True for {thing!r}, where no agent can stand: "
                "spawn points must be walkable."
            )
    for layout, board in zip(rules.spec.layout, rules.boards, strict=True):
        if not any(any(map(game.spawn, rules.reachable(symbol))) for symbol in np.unique(board)):
            raise ValueError(
                f"layout {layout.name!r} has no cell to come back to: {type(game).__name__}.spawn returned "
                "False for everything that it can hold."
            )
    away, spawn = rules.items(game.away, bool)[rules.held], rules.symbols(game.spawn, np.uint32)
    places = np.arange(rules.n_cells, rules.n_spots).astype(rules.pos_dtype)
    return Tables(away, cells.astype(rules.pos_dtype), cells.astype(np.int32), places, spawn)
