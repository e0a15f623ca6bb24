"""Joining: agents that work on one cell in one step, with strengths that add up."""

from __future__ import annotations

import numpy as np

from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState, Events
from cogrid.core.aiming import aimer
from cogrid.core.rules import Rules


def join(rules: Rules, state: EnvState, choice: Array, events: Events) -> tuple[EnvState, Events]:
    """Everybody who works on a cell plays the line of their joint strength; all leave the same thing there.

    They come after those who act alone, on what these left. Who works did nothing else, so the line takes the
    place of an empty one.
    """
    xp, lookup = rules.xp, rules.lookup
    now = choice // rules.n_poses * rules.n_poses + xp.asarray(state.pose, rules.choice_dtype)
    strength = lookup(rules.strength, now)  # (*B, n) int32, 0 of those who do something else
    if rules.aims:
        target = aimer(rules)(state, now)
        cell, strength = target.cell, xp.where(target.other == rules.n_agents, strength, np.int32(0))
    else:
        cell = rules.on_board(state.pos + lookup(rules.front, state.pose))
    total = 0
    for i in range(rules.n_agents):
        me = slice(i, i + 1)
        total = total + xp.where(cell == cell[..., me], strength[..., me], np.int32(0))
    total, works = xp.minimum(total, np.int32(rules.most_strength)), strength > 0
    seen = rules.at(state.cells, cell)
    line = (total * rules.n_items + lookup(rules.held, state.pose).astype(np.int32)) * rules.n_things
    line = line + seen.astype(np.int32)
    row = (line + np.int32(rules.first_joint)).astype(rules.row_dtype)
    swap = xp.where(works, lookup(rules.swap, row), rules.agent_dtype.type(0))
    thing = _agreed(rules, cell, works, xp.where(works, lookup(rules.joint_left, line), seen))
    cells = rules.put(state.cells, cell, thing)
    alone = rules.row_dtype.type(0) if events.row is None else events.row
    return state.evolve(cells=cells, pose=state.pose + swap), Events(xp.where(works, row, alone), *events[1:])


def _agreed(rules: Rules, cell: Array, works: Array, thing: Array) -> Array:
    """(*B, n) what is left in each agent's cell, by those who work there; others may only face it."""
    for i in range(rules.n_agents):
        me = slice(i, i + 1)
        thing = rules.xp.where((cell == cell[..., me]) & works[..., me], thing[..., me], thing)
    return thing
