"""Joining: agents that work on the same cell in the same step, with strengths that add up."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from cogrid._core.compile.asking import joint_intent
from cogrid._core.phases.aiming import ADJACENT, aimer
from cogrid._core.phases.marks import marked
from cogrid._core.rules import Rules
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState, Events


def join(rules: Rules, state: EnvState, choice: Array, events: Events) -> tuple[EnvState, Events]:
    """Apply to all who work on a cell the rule row of their joint strength; all leave the same thing there.

    They come after the agents that act alone, and find what those left. An agent whose joint action met
    another has acted and does not work, so this row replaces an empty one.
    """
    xp, lookup = rules.xp, rules.lookup
    now = choice
    if rules.acts:  # hands may have changed
        now = choice // rules.n_poses * rules.n_poses + xp.asarray(state.pose, rules.choice_dtype)
    strength = lookup(rules.strength, now)  # (*B, n) int32, 0 for agents that do something else
    if rules.joint_meets:
        strength = xp.where(lookup(rules.verb, events.row) > 0, np.int32(0), strength)
    if (sought := _sought(rules)) is not None:
        cell, seen = _beside(rules, sought, state)
    elif rules.aims:
        target = aimer(rules)(state, now)
        cell, strength = target.cell, xp.where(target.other == rules.n_agents, strength, np.int32(0))
        seen = rules.at(state.cells, cell)
    else:
        cell = rules.on_board(state.pos + lookup(rules.front, state.pose))
        seen = rules.at(state.cells, cell)
    total = 0
    for i in range(rules.n_agents):
        me = slice(i, i + 1)
        total = total + xp.where(cell == cell[..., me], strength[..., me], np.int32(0))
    total, works = xp.minimum(total, np.int32(rules.most_strength)), strength > 0
    line = (total * rules.n_items + lookup(rules.held, state.pose).astype(np.int32)) * rules.n_things
    line = line + seen.astype(np.int32)
    row = (line + np.int32(rules.first_joint)).astype(rules.row_dtype)
    cells = rules.backend.put_where(works, state.cells, cell, lookup(rules.joint_left, line))
    alone = rules.row_dtype.type(0) if events.row is None else events.row
    if rules.joint_swaps:
        pose = state.pose + xp.where(works, lookup(rules.swap, row), rules.agent_dtype.type(0))
        state = state.evolve(pose=pose)
    return state.evolve(cells=cells), Events(xp.where(works, row, alone), *events[1:])


@functools.lru_cache(maxsize=256)
def _sought(rules: Rules) -> np.ndarray[Any, Any] | None:
    """(things,) what workers look for in adjacent cells, if no agent can hide it; else None."""
    game, symbols = rules.game, rules.spec.symbols
    if not game.aim(game.joint).adjacent or symbols.meet_rows or rules.leaves:
        return None
    intent = symbols.intents.index(joint_intent(game))
    useful = rules.useful.reshape(len(symbols.intents), rules.n_items, -1)[intent]
    wanted = useful[[game.strength(item) > 0 and game.can_act(item) for item in symbols.items]]
    differ = (wanted != wanted[:1]).any() or wanted[:, : rules.n_walkable].any()
    return None if differ or not len(wanted) else wanted[0]


def _beside(rules: Rules, sought: np.ndarray[Any, Any], state: EnvState) -> tuple[Array, Array]:
    """(*B, n) each: the first cell adjacent to an agent with what is sought, or else the first."""
    xp, n = rules.xp, rules.n_agents
    cells = [state.pos + rules.pos_dtype.type(row * rules.width + column) for row, column in ADJACENT]
    things = rules.at(state.cells, xp.concatenate(cells, axis=-1))  # (*B, 4 n), by one read
    cell, seen = cells[0], things[..., :n]
    for k in reversed(range(len(cells))):
        thing = things[..., k * n : (k + 1) * n]
        found = marked(rules, sought, thing)
        cell, seen = xp.where(found, cells[k], cell), xp.where(found, thing, seen)
    return cell, seen
