"""Text pictures of a state, two characters per cell."""

from __future__ import annotations

import numpy as np

from cogrid._core.rules import Rules
from cogrid.backend.env_state import EnvState
from cogrid.render.looks import glyph

_ARROWS = ">v<^"


def text(rules: Rules, state: EnvState) -> str:
    """The board of a single state: things by their letters, agents as arrows, items by their initials.

    Below it, there is a line for each agent off the board.
    """
    if np.ndim(state.time):
        raise ValueError(f"text draws one environment, not a batch of shape {np.shape(state.time)}.")
    things, game = rules.spec.symbols.things, rules.game
    board = [glyph(rules, things[symbol]) for symbol in np.asarray(state.cells).tolist()]
    agents = zip(*(np.asarray(x).tolist() for x in (state.pos, state.agent_dir, state.held)), strict=True)
    away = []
    for agent, (cell, facing, held) in enumerate(agents):
        if cell >= rules.n_cells:
            away.append(f"agent {agent} is away")
            continue
        item = rules.spec.symbols.items[held]
        board[cell] = _ARROWS[facing] + (game.item_name(item)[0] if item is not None else " ")
    rows = [board[k : k + rules.width] for k in range(0, rules.n_cells, rules.width)]
    return "\n".join(["".join(row).rstrip() for row in rows] + away)
