"""The phases of a step, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cogrid._core.phases.clock import Clock
from cogrid._core.phases.entering import Entering
from cogrid._core.phases.hands import HandTicking
from cogrid._core.phases.interaction import Interaction
from cogrid._core.phases.joining import Joining
from cogrid._core.phases.leaving import Leaving
from cogrid._core.phases.movement import Movement
from cogrid._core.phases.one_cell import Picking
from cogrid._core.phases.phase import Phase
from cogrid._core.phases.replying import Replying
from cogrid._core.phases.rewards import Rewards
from cogrid._core.phases.ticks import Ticking

if TYPE_CHECKING:
    from cogrid._core.rules import Rules

ACTING: tuple[type[Phase], ...] = (Interaction, Joining)  # agent by agent; then together
AFTERWARDS: tuple[type[Phase], ...] = (
    Entering,  # what is walked onto
    Replying,  # things without a cell
    Ticking,  # cooking, clocks, growth
    HandTicking,
    Picking,  # random changes of single cells
    Leaving,  # off the board, and back
    Rewards,
    Clock,
)


def phases_of(rules: Rules) -> tuple[Phase, ...]:
    """The phases that a game has."""
    order: tuple[type[Phase], ...]
    order = (Movement, *ACTING) if rules.answers.moving.first else (*ACTING, Movement)
    compiled = (kind.compile(rules) for kind in (*order, *AFTERWARDS))
    return tuple(phase for phase in compiled if phase is not None)
