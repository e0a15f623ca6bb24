"""Starting: what an episode starts with, and the random draws that this takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cogrid._core.author.chance import branches
from cogrid._core.compile.asking import starts_of
from cogrid._core.compile.odds import Draws, Odds, odds
from cogrid._core.compile.placing import placing_draws

if TYPE_CHECKING:
    from cogrid._core.rules import Rules


@dataclass(frozen=True, eq=False)
class Starting:
    """Tables of the first state."""

    cells: np.ndarray[Any, Any]  # (k,) the cells whose thing `start` can change
    hands: Odds  # what every agent holds
    draws: Draws

    @property
    def handed(self) -> bool:
        """Some agent holds something."""
        return any(item is not None for item in self.hands.values)


def starting_of(rules: Rules) -> Starting:
    """What episodes of a game start with."""
    symbols = rules.spec.symbols
    begins = [symbols.number[t] for t in symbols.begins if starts_of(rules.answers, t) != branches(t)]
    somewhere = np.isin(rules.boards, begins).any(axis=0) | (rules.open and bool(begins))
    cells, hands = np.flatnonzero(somewhere), odds(symbols.hands)
    drawn_hands = np.arange(rules.n_agents if hands.n_branches > 1 else 0)
    slots = np.arange(0 if rules.slots is None else len(rules.slots.names))
    draws = {
        "start": cells,
        "hand": drawn_hands,
        "slot": slots,
        "placed": placing_draws(rules.answers.placed),
    }
    return Starting(cells, hands, Draws(draws))
