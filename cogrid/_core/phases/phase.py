"""A phase: one part of a step, with the tables that it reads; and the events that phases pass on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np

from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState, Evolving

if TYPE_CHECKING:
    from cogrid._core.rules import Rules

Table = np.ndarray[Any, Any]  # a NumPy constant, whatever the backend
NO_DRAWS: Mapping[str, Table] = MappingProxyType({})


@dataclass(frozen=True)
class Events(Evolving):
    """What happened so far in one step, per agent; it never outlives the step."""

    before: EnvState  # before the step
    choice: Array  # (*B, n) action and pose before the step, as the index of tables over choices
    drawn: Array = None  # (*B, draws) uint32 random numbers of 24 bits, if the game has chance
    row: Array = None  # (*B, n) the row of the rule tables that was applied: verb, item, target and value
    met: Array = None  # (*B, n) int32 the agent in its aim, n for none; only if a term pays the other agent
    stride: Array = None  # (*B, n) the step that was tried, 0 none
    moved: Array = None  # (*B, n) bool
    wanted: Array = None  # (*B, n) the cell where it would be without other agents
    replies: Array = None  # (*B, n) float32 points from slots for each event, if the game has slots
    expired: Array = None  # (*B, 1) float32 points from slots' ticks
    rewards: Array = None  # (*B, n) float32
    done: Array = None  # (*B,) bool the episode is over


#: The events of a step before any phase.
NOTHING = Events(before=cast(EnvState, None), choice=None)


class Phase:
    """Derive a frozen dataclass whose fields are the phase's tables. A phase writes into no array.

    Phases do not import each other. What is done for all of them (random draws, action masks, timing,
    digests, the exerciser) is a fold over the list in `phases.py`.
    """

    #: How `step_timing` and the exerciser call it.
    name: ClassVar[str]

    @classmethod
    def compile(cls, rules: Rules) -> Self | None:
        """The phase of a game; None if the game has no such phase, and so pays nothing for it."""
        raise NotImplementedError

    @property
    def draws(self) -> Mapping[str, Table]:
        """The random draws that it needs in a step: the numbers of agents, cells … by purpose."""
        return NO_DRAWS

    @property
    def facts(self) -> tuple[Any, ...]:
        """What identifies its rule in digests, beside what `digest.py` reads of all games."""
        return ()

    def __call__(self, rules: Rules, state: EnvState, events: Events) -> tuple[EnvState, Events]:
        """The state after this phase, and the events of the step so far."""
        raise NotImplementedError

    def useful(self, rules: Rules, state: EnvState, choice: Array) -> Array | None:
        """(*B, n, actions) whether each choice would change anything here; None if no choice matters."""
        return None

    def counts(self, rules: Rules, state: EnvState, after: EnvState, events: Events) -> Mapping[str, int]:
        """How often it did something in a batch, by rule; `events` are those after it."""
        fields = state.stored()
        changed = (getattr(after, name) != value for name, value in fields.items())
        return {self.name: sum(int(np.asarray(change).sum()) for change in changed)}
