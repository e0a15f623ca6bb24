"""Counts: what was compared, and the first mismatches in full."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from itertools import combinations
from typing import Any

from cogrid._core.author.chance import Chance
from cogrid._core.compile.actions import FACINGS
from tests.worlds import interpreter
from tests.worlds.generator import HOOKS, World

COUNTERS = ("hooks", "met", "pairs", "thrown", "drawn", "expected")
KEPT = 5  # worlds whose first mismatch is shown
LONGEST = 400  # characters of a table that are shown
UNLIKELY = 1e-9  # chance that never does this


@dataclasses.dataclass
class Counts:
    """What was compared."""

    backend: str
    worlds: int = 0
    refused: int = 0
    steps: int = 0
    resets: int = 0
    hooks: Counter[str] = dataclasses.field(default_factory=Counter)  # worlds that have each of them
    met: Counter[str] = dataclasses.field(default_factory=Counter)  # how often each came into play
    pairs: Counter[str] = dataclasses.field(default_factory=Counter)  # "one, other" -> worlds with both
    thrown: Counter[str] = dataclasses.field(default_factory=Counter)  # how often each kind of draw was made
    drawn: Counter[str] = dataclasses.field(default_factory=Counter)  # how often it was a hit
    expected: Counter[str] = dataclasses.field(default_factory=Counter)  # sum of the probabilities p
    mismatches: int = 0
    examples: list[str] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        """Counters again, if they come from JSON."""
        for name in COUNTERS:
            setattr(self, name, Counter(getattr(self, name)))

    def add(self, other: Counts) -> None:
        """Count what another process compared, too."""
        for name in ("worlds", "refused", "steps", "resets", "mismatches"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in COUNTERS:
            getattr(self, name).update(getattr(other, name))
        self.examples = (self.examples + other.examples)[:KEPT]

    def throw(self, kind: str, probability: float, hit: bool) -> None:
        """Count a draw that hits with a known probability."""
        self.thrown[kind] += 1
        self.drawn[kind] += hit
        self.expected[kind] += probability  # type: ignore[assignment]

    def unlikely(self) -> list[str]:
        """The kinds of draws that hit more or less often than chance does."""
        return [
            f"{kind} in {self.drawn[kind]:,} of {often:,} draws, {self.expected[kind]:,.1f} expected"
            for kind, often in sorted(self.thrown.items())
            if tail(self.drawn[kind], often, self.expected[kind]) < UNLIKELY
        ]

    def rarest(self) -> tuple[str, int]:
        """The pair of hooks that the fewest worlds have, and how many do."""
        return min(((pair, self.pairs[pair]) for pair in every_pair()), key=lambda found: found[1])


def tail(hits: int, tries: int, expected: float) -> float:
    """A bound on the probability of so many hits, or of as few (Hoeffding 1956)."""
    found, mean = hits / tries, expected / tries
    terms = [(found, mean), (1 - found, 1 - mean)]
    if any(mine > 0 and others <= 0 for mine, others in terms):
        return 0.0
    return 2 * math.exp(-tries * sum(mine * math.log(mine / others) for mine, others in terms if mine))


def every_pair() -> list[str]:
    """All pairs of hooks."""
    return [", ".join(pair) for pair in combinations(sorted(HOOKS), 2)]


def note(
    world: World,
    counts: Counts,
    before: interpreter.World,
    actions: list[str],
    after: interpreter.World,
    expected: interpreter.World | None,
    wrong: list[str],
) -> None:
    counts.mismatches += 1
    is_first = not any(example.startswith(f"world {world.seed} ") for example in counts.examples)
    if is_first and len(counts.examples) < KEPT:
        text = [
            f"world {world.seed} on {counts.backend}, actions {', '.join(actions)}: engine but interpreter"
        ]
        text += [f"    {line}" for line in wrong]
        text += ["  before:", *_drawn(before), "  engine:", *_drawn(after)]
        text += ["  interpreter:", *_drawn(expected)] if expected else []
        counts.examples.append("\n".join([*text, *rules_of(world)]))


def _drawn(world: interpreter.World) -> list[str]:
    """The board in ASCII, agents as digits, and a line for each agent."""
    letters = {cell: {"floor": " ", "wall": "#"}.get(thing, thing) for cell, thing in world.cells.items()}
    lines = []
    for number, agent in enumerate(world.agents):
        on = "" if agent.cell is None else f" on {world.cells[agent.cell]!r}"
        if agent.cell is not None:
            letters[agent.cell] = str(number + 1)
        end = ", ended" if agent.ended else ""
        lines.append(f"{number + 1}: {FACINGS[agent.facing]}, holds {agent.held!r}{on or ', away'}{end}")
    height, width = (1 + max(cell[axis] for cell in letters) for axis in (0, 1))
    board = ["".join(str(letters[r, c]) for c in range(width)) for r in range(height)]
    slots = [f"slots {world.slots}"] if world.slots else []
    return [f"    {line}" for line in (*board, *lines, *slots, f"time {world.time}")]


def rules_of(world: World) -> list[str]:
    """The tables of a world, in short."""
    spec = world.spec
    lines = [f"  {spec.num_agents} agents, {spec.action_set} actions, {spec.max_steps} steps"]
    lines += [f"  shaping: {spec.shaping:g}"] if spec.shaping else []
    lines += [f"  hooks: {', '.join(sorted(world.hooks))}"]
    for name, table in world.tables.items():
        if isinstance(table, dict):
            table = ", ".join(f"{question}: {_short(answer)}" for question, answer in table.items())
        lines.append(f"  {name}: {str(table)[:LONGEST]}")
    return lines


def _short(answer: Any) -> str:
    if isinstance(answer, Chance):
        return " | ".join(f"{weight}×{_short(value)}" for value, weight in answer.options)
    return str(tuple(answer)) if isinstance(answer, tuple) else repr(answer)
