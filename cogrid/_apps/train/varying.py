"""Which numbers of an observation can ever change; a learner has nothing to learn from the others."""

from __future__ import annotations

import numpy as np

from cogrid._core.rules import Rules
from cogrid._core.see.onehot import planes_of
from cogrid._core.see.planes import paint_table
from cogrid.backend.array import Array


def varying(rules: Rules) -> Array:
    """(*shape) bool: False for the numbers of the whole grid that are the same in all states.

    This follows from what each cell can become and where agents can stand. For other observations, and for
    games that paint more than things and agents, everything is True.
    """
    shape, symbols = rules.observer.shape, rules.spec.symbols
    if rules.spec.observation != "lossless" or rules.slots is not None or rules.leaves:
        return np.ones(shape, bool)
    planes, table = planes_of(rules.answers, symbols), paint_table(rules, 0)
    agents = table[rules.n_things : rules.n_things + 2 * rules.n_poses]
    lowest = np.full((rules.n_cells, len(planes.names)), 255)
    highest = np.zeros_like(lowest)

    def add(cells: Array, rows: Array) -> None:
        lowest[cells] = np.minimum(lowest[cells], rows.min(axis=0))
        highest[cells] = np.maximum(highest[cells], rows.max(axis=0))

    for number, thing in enumerate(symbols.things):
        add(rules.cells_where(lambda other, thing=thing: other == thing), table[number : number + 1])  # type: ignore[misc]
    add(rules.cells_where(rules.game.walkable), agents)
    changes = lowest < highest
    if planes.countdown is not None:
        changes[:, planes.names.index(planes.countdown[0])] = True
    return changes.reshape(shape)
