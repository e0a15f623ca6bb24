"""Ticks: what things do by themselves."""

from __future__ import annotations

from cogrid.backend.env_state import EnvState
from cogrid.core.rules import Rules


def tick(rules: Rules, state: EnvState) -> EnvState:
    """Every thing becomes what its tick makes of it; some cells can never hold one that ticks."""
    if not rules.ticking.size:
        return state
    return state.evolve(cells=rules.backend.lookup_at(rules.ticked, state.cells, rules.ticking))
