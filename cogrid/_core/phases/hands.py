"""Hands: what they become by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from cogrid._core.compile.odds import Odds, odds, realised
from cogrid._core.phases.phase import Events, Phase, Table
from cogrid.backend.env_state import EnvState

if TYPE_CHECKING:
    from cogrid._core.rules import Rules


@dataclass(frozen=True, eq=False)
class HandTicking(Phase):
    """Apply every hand's tick, by a table over branches and poses of the change in the pose."""

    swap: Table  # (branches · poses,)
    odds: Odds
    drawn: Table  # the agents whose tick is drawn: all or none
    name: ClassVar[str] = "tick hand"

    @classmethod
    def compile(cls, rules: Rules) -> Self | None:
        """None if no hand ticks."""
        symbols = rules.spec.symbols
        if symbols.hand_ticks.values == symbols.items:
            return None
        by_pose = odds([symbols.hand_ticks_of[item] for item in rules.held])
        held = np.tile(rules.held, by_pose.n_branches)
        swap = by_pose.table(symbols.item_number.__getitem__, rules.agent_dtype) - held
        return cls(swap, by_pose, np.arange(rules.n_agents if by_pose.n_branches > 1 else 0))

    @property
    def draws(self) -> Mapping[str, Table]:
        """One for each agent."""
        return {"tick hand": self.drawn}

    def __call__(self, rules: Rules, state: EnvState, events: Events) -> tuple[EnvState, Events]:
        case = rules.xp.asarray(state.pose, rules.backend.index_dtype(len(self.swap)))
        if self.drawn.size:
            case = realised(rules.lookup, self.odds, case, rules.draws.of("tick hand", events.drawn))
        return state.evolve(pose=state.pose + rules.lookup(self.swap, case)), events
