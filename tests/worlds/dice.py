"""Dice that show what the engine draws in a step, so that chance is compared exactly."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from cogrid._core.author.chance import SCALE, Draws, branches, one_of
from cogrid._core.phases.ticks import Ticking
from cogrid._core.rules import Rules

T = TypeVar("T")

#: The engine's name for what the interpreter draws; an agent does only one of the first three in a step.
PURPOSES: Mapping[str, str] = MappingProxyType(
    {
        "act": "interact",
        "meet": "interact",
        "enter": "interact",
        "tick": "tick",
        "tick_hand": "tick hand",
        "one_cell": "one cell",
        "reply": "reply",
        "tick_slot": "tick slot",
        "return": "return",
        "start": "start",
        "hand": "hand",
        "slot": "slot",
    }
)


class EngineDice:
    """The draws of one environment in one step, or in a reset, (draws,)."""

    def __init__(self, rules: Rules, draws: Draws, drawn: np.ndarray[Any, Any]) -> None:
        self.rules, self.draws, self.drawn = rules, draws, drawn
        self.thrown = 0  # how often chance decided
        ticking = rules.phase(Ticking)
        self._ticking = ticking.cases.drawn if ticking and ticking.cases else np.arange(0)

    def choose(self, purpose: str, who: Hashable, answer: Any) -> Any:
        """The value of a `Chance` that the engine draws, or the answer itself if it is not one."""
        options = branches(answer)
        if len(options) == 1:
            return options[0][0]
        draw = self._draw(purpose, self._number(purpose, who))
        return next(value for value, below in options if draw < below)

    def happens(self, purpose: str, who: int, weight: int, out_of: int) -> bool:
        """Whether the engine lets something of this probability happen."""
        return self._draw(purpose, 2 * who) < (weight * SCALE + out_of // 2) // out_of

    def pick(self, purpose: str, who: int, options: Sequence[T]) -> T:
        """The option that the engine picks."""
        draw = self._draw(purpose, 2 * who + 1 if purpose == "one_cell" else who)
        return options[int(one_of(np.uint32(draw), np.uint32(len(options))))]

    def _draw(self, purpose: str, number: int) -> int:
        self.thrown += 1
        drawn = self.draws.of(PURPOSES[purpose], self.drawn)
        if not 0 <= number < len(drawn):
            raise LookupError(f"the engine has no draw number {number} for {purpose!r}")
        return int(drawn[number])

    def _number(self, purpose: str, who: Any) -> int:
        """The number of a draw among those of its purpose."""
        slots = () if self.rules.slots is None else self.rules.slots.names
        match purpose:
            case "tick" | "start":
                cells = self._ticking if purpose == "tick" else self.rules.start.cells
                found = np.flatnonzero(cells == who[0] * self.rules.width + who[1])
                return int(found[0]) if found.size else -1
            case "tick_slot" | "slot":
                return slots.index(who)
            case "reply":
                agent, slot = who
                return int(agent) * len(slots) + slots.index(slot)
        return int(who)
