"""Movement: every agent turns; contested cells and swaps leave all involved in place."""

from __future__ import annotations

import functools

from cogrid._core.rules import Rules
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState, Events


def move(rules: Rules, state: EnvState, choice: Array, events: Events) -> tuple[EnvState, Events]:
    """Turn, then walk to the cell ahead unless a thing blocks it or another agent stays or competes there."""
    xp, pos = rules.xp, state.pos
    choice = choice if events.choice is None else events.choice
    stride = rules.lookup(rules.stride, choice)  # (*B, n)
    ahead = pos + stride
    inside = rules.on_board(ahead) if rules.leaves else ahead
    want = wish = xp.where(rules.at(state.cells, inside) < rules.first_solid, ahead, pos)
    meet = _contend if rules.swaps else _meet
    if rules.n_agents > 1:
        stop = functools.partial(rules.backend.give_way, meet, pos)
        want = rules.backend.settle(stop, want, rules.n_agents - 1)
    state = state.evolve(pos=want, pose=state.pose + rules.lookup(rules.turn, choice))
    return state, Events(events.row, stride, want != pos, wish, events.drawn)


def _contend(mine: list[Array], theirs: list[Array]) -> Array:
    """Whether two agents want the same cell; neighbours may swap places."""
    return mine[1] == theirs[1]


def _meet(mine: list[Array], theirs: list[Array]) -> Array:
    """Whether two agents want the same cell, or each other's; an agent that stays put wants its own.

    Every pass that changes something stops an agent for good, and the first pass stops two or involves one
    that stands still, so n − 1 passes are enough.
    """
    (pos, want), (their_pos, their_want) = mine, theirs
    return (want == their_want) | ((want == their_pos) & (pos == their_want))
