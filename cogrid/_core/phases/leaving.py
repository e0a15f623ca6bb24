"""Leaving: agents whose hand is `away` leave the board, and come back to random free cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from cogrid._core.compile.odds import one_of
from cogrid._core.phases.phase import Events, Phase, Table
from cogrid.backend.array import Array, lift
from cogrid.backend.env_state import EnvState

if TYPE_CHECKING:
    from cogrid._core.rules import Rules


@dataclass(frozen=True, eq=False)
class Leaving(Phase):
    """Agents that are away leave; then returning agents take a random free spawn point each, in order.

    An agent that finds none waits off the board, whatever it holds by then.
    """

    away: Table  # (poses,) bool
    cells: Table  # (k,) cells that can ever be a spawn point, as positions
    numbers: Table  # (k,) int32 the same
    places: Table  # (n,) every agent's own place off the board
    spawn: Table  # (things,) uint32 1 where an agent can come back
    name: ClassVar[str] = "leave"

    @classmethod
    def compile(cls, rules: Rules) -> Self | None:
        """None if agents never leave."""
        if not rules.leaves:
            return None
        answers, cells = rules.answers, rules.cells_where(rules.answers.back)
        _check(rules)
        away, spawn = rules.items(answers.away, bool)[rules.held], rules.symbols(answers.back, np.uint32)
        return cls(away, cells.astype(rules.pos_dtype), cells.astype(np.int32), parking(rules), spawn)

    @property
    def draws(self) -> Mapping[str, Table]:
        """One for each agent."""
        return {"return": np.arange(len(self.places))}

    def __call__(self, rules: Rules, state: EnvState, events: Events) -> tuple[EnvState, Events]:
        xp = rules.xp
        pos = self.parked(rules, state.pose, state.pos)
        back = (pos >= rules.n_cells) & ~rules.lookup(self.away, state.pose)  # (*B, n)
        free = rules.lookup(self.spawn, rules.pick(state.cells, self.cells))  # (*B, k)
        free = xp.where(stood(self.cells, pos), np.uint32(0), free)
        ranks = free.cumsum(axis=-1, dtype=np.uint32) * free  # (*B, k) from 1, 0 where not free
        count = free.sum(axis=-1, keepdims=True, dtype=np.uint32)  # (*B, 1)
        drawn, cells = rules.draws.of("return", events.drawn), lift(self.numbers, pos.ndim)
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
        return state.evolve(pos=xp.concatenate(taken, axis=-1)), events

    def parked(self, rules: Rules, pose: Array, pos: Array) -> Array:
        """(*B, n) the places, off the board for agents whose hand is away."""
        return rules.xp.where(rules.lookup(self.away, pose), lift(self.places, pos.ndim), pos)


def parking(rules: Rules) -> Table:
    """(n,) every agent's own place off the board."""
    return np.arange(rules.n_cells, rules.n_spots).astype(rules.pos_dtype)


def stood(cells: Table, pos: Array) -> Array:
    """(*B, k) whether an agent stands in each of k cells."""
    return (lift(cells, pos.ndim + 1) == pos[..., None]).any(axis=-2)


def _check(rules: Rules) -> None:
    """Raise an error if agents could come back to a wall, or to no cell at all."""
    name = f"Away.back of {type(rules.game).__name__}"
    for thing in filter(rules.answers.back, rules.spec.symbols.things):
        if not rules.game.walkable(thing):
            raise ValueError(
                f"{name} returned True for {thing!r}, where no agent can stand: "
                "spawn points must be walkable."
            )
    for layout, board in zip(rules.spec.layout, rules.boards, strict=True):
        if not any(any(map(rules.answers.back, rules.reachable(symbol))) for symbol in np.unique(board)):
            raise ValueError(
                f"layout {layout.name!r} has no cell to come back to: {name} returned "
                "False for everything that it can hold."
            )
