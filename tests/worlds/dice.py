"""Dice that show what the engine draws, so that chance is compared exactly, and count how it falls."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate
from math import floor
from random import Random
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from cogrid._core.author.chance import Chance
from cogrid._core.compile.odds import PURPOSES as ENGINE
from cogrid._core.compile.odds import Draws
from cogrid._core.phases.ticks import Ticking
from cogrid._core.rules import Rules
from cogrid.backend import rng
from tests.worlds.counting import Counts

T = TypeVar("T")
Words = np.ndarray[Any, np.dtype[np.uint32]]  # (2,) a key

SCALE = 2**24  # a draw is a number below it
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
        "placed": "placed",
    }
)


class EngineDice:
    """The draws of one environment in one step.

    How often each outcome is drawn is counted beside its documented probability, and how often a number comes
    twice under one key, which independent draws do once in 2²⁴ pairs.
    """

    def __init__(
        self, rules: Rules, draws: Draws, words: Words, time: int, counts: Counts, used: set[int]
    ) -> None:
        self.rules, self.draws, self.counts, self.used = rules, draws, counts, used
        self.drawn = rng.draws(words, np.uint32(time), draws.numbers)  # (draws,)
        self._own = Random(int(words[0]))
        self.thrown = 0  # how often a `Chance` decided
        ticking = rules.phase(Ticking)
        self._ticking = ticking.cases.drawn if ticking and ticking.cases else np.arange(0)

    def choose(self, purpose: str, who: Hashable, answer: Any) -> Any:
        """The value of a `Chance` that the engine draws, or the answer itself if it is not one."""
        options = answer.options if isinstance(answer, Chance) else ((answer, 1),)
        if len(options) == 1:
            return options[0][0]
        self.thrown += 1
        weights = [weight for _, weight in options]
        bounds = [rounded(Fraction(sum_, sum(weights))) for sum_ in accumulate(weights)]
        draw = self._draw(purpose, self._number(purpose, who))
        index = next(index for index, bound in enumerate(bounds) if draw < bound)
        for k, weight in enumerate(weights):
            kind = f"{purpose}: value {k + 1} of {len(weights)}"
            self.counts.throw(kind, weight / sum(weights), index == k)
        return options[index][0]

    def happens(self, purpose: str, who: Any, probability: Fraction | float) -> bool:
        """Whether the engine lets something of this probability happen."""
        draw = self._draw(purpose, self._number(purpose, who))
        happens = draw < rounded(Fraction(probability))
        self.counts.throw(f"{purpose}: happens", float(probability), happens)
        return happens

    def pick(self, purpose: str, who: Any, options: Sequence[T]) -> T:
        """The option that the engine picks."""
        count = len(options)
        index = self._index(purpose, who, options)
        for name, wanted in (("first half", range(count // 2)), ("first", range(1)), ("last", [count - 1])):
            self.counts.throw(f"{purpose}: {name}", len(wanted) / count, index in wanted)
        return options[index]

    def _index(self, purpose: str, who: Any, options: Sequence[Any]) -> int:
        number = self._number(purpose, who, is_pick=True)
        return self._draw(purpose, number) * len(options) // SCALE

    def _draw(self, purpose: str, number: int) -> int:
        try:
            drawn = self.draws.of(PURPOSES[purpose], self.drawn)
        except KeyError:  # the engine draws nothing where nothing can change: any number must do
            return self._own.randrange(SCALE)
        if not 0 <= number < len(drawn):
            raise LookupError(f"the engine has no draw number {number} for {purpose!r}")
        return self._noted(int(drawn[number]))

    def _noted(self, draw: int) -> int:
        self.counts.throw("any number: drawn before", len(self.used) / SCALE, draw in self.used)
        self.used.add(draw)
        return draw

    def _number(self, purpose: str, who: Any, is_pick: bool = False) -> int:
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
            case "one_cell":  # whether it happens, and where
                return 2 * int(who) + is_pick
            case "placed":  # where, and what
                return 2 * int(who) + (not is_pick)
        return int(who)


class ResetDice(EngineDice):
    """The draws of one environment in a reset."""

    def __init__(self, rules: Rules, key: Words, counts: Counts) -> None:
        children = rng.split_words(np, key, 5)
        super().__init__(rules, rules.start.draws, children[4], 0, counts, set())
        bits = rng.bits(children[2], rules.n_cells + rules.n_agents)
        self._board, self._layout = children[1], rng.bits(children[1], 1)
        self._places, self._facings = bits[: rules.n_cells], bits[rules.n_cells :]
        self._scattered = rng.bits(children[3], rules.n_cells) >> np.uint32(8)

    def number(self, purpose: str, who: int) -> int:
        """One of the numbers below 2²⁴ with which a game draws a board."""
        numbers = np.array([ENGINE.index("board") * SCALE + who], np.uint32)
        return self._noted(int(rng.draws(self._board, np.uint32(0), numbers)[0]))

    def _index(self, purpose: str, who: Any, options: Sequence[Any]) -> int:
        match purpose:
            case "board":
                return self.number(purpose, who) * len(options) // SCALE
            case "layout":
                return int(self._layout[0]) % len(options)
            case "facing":
                return int(self._facings[who]) % len(options)
            case "start cell":  # the smallest number, the first of equal ones
                numbers = [int(self._places[self._cell(cell)]) >> 1 for cell in options]
                return numbers.index(min(numbers))
        return super()._index(purpose, who, options)

    def _draw(self, purpose: str, number: int) -> int:
        if purpose == "scattered":
            return self._noted(int(self._scattered[number]))
        return super()._draw(purpose, number)

    def _number(self, purpose: str, who: Any, is_pick: bool = False) -> int:
        if purpose == "scattered":
            return self._cell(who)
        return super()._number(purpose, who, is_pick)

    def _cell(self, cell: tuple[int, int]) -> int:
        return cell[0] * self.rules.width + cell[1]


def rounded(probability: Fraction) -> int:
    """The nearest k of k / 2²⁴."""
    return floor(probability * SCALE + Fraction(1, 2))
