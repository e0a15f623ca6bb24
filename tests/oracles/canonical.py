"""A plain-Python kitchen state that every implementation of Overcooked is translated to and from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

Cell = tuple[int, int]  # row, column
Pot = tuple[tuple[str, ...], int]  # sorted ingredients; timer: -1 idle, n > 0 steps left, 0 ready
JointAction = tuple[int, ...]

UP, DOWN, LEFT, RIGHT, INTERACT, TOGGLE, NOOP = range(7)
ACTION_LETTERS = "udlrit."
FACING_LETTERS = ">v<^"  # 0 right, 1 down, 2 left, 3 up
UP_FACING = 3
OFFSETS = ((0, 1), (1, 0), (0, -1), (-1, 0))  # by facing
FACING_OF_MOVE = {UP: 3, DOWN: 1, LEFT: 2, RIGHT: 0}
MOVE_OF_FACING = {facing: move for move, facing in FACING_OF_MOVE.items()}

COOK_TIME = 20
POT_SIZE = 3
HORIZON = 400
FIELDS = ("positions", "facings", "held", "counters", "pots", "time")


@dataclass(frozen=True)
class Recipe:
    """A soup that is ordered; a bonus order scores twice."""

    ingredients: tuple[str, ...]
    value: float = 20
    time: int = COOK_TIME
    bonus: bool = False


@dataclass(frozen=True)
class Kitchen:
    """A layout as text (the letters of the layouts, digits for the starts), and what is ordered."""

    name: str
    env_id: str
    rows: tuple[str, ...]
    recipes: tuple[Recipe, ...] = (Recipe(("onion",) * POT_SIZE),)
    classic: bool = True  # made by its id alone, not an own layout
    begin: KitchenState | None = None  # where an episode does not begin with empty hands and pots

    def cook_time(self, ingredients: Sequence[str]) -> int:
        times = {recipe.ingredients: recipe.time for recipe in self.recipes}
        return times.get(tuple(sorted(ingredients)), COOK_TIME)

    @property
    def text(self) -> str:
        return "\n".join(self.rows)

    @cached_property
    def pot_cells(self) -> tuple[Cell, ...]:
        return tuple(sorted(self.cells("P")))

    @property
    def has_tomatoes(self) -> bool:
        return "T" in self.text

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), len(self.rows[0])

    @cached_property
    def letters(self) -> dict[Cell, str]:
        """What stands in each cell; starts are floor."""
        grid = ((r, c, letter) for r, row in enumerate(self.rows) for c, letter in enumerate(row))
        return {(r, c): " " if letter.isdigit() else letter for r, c, letter in grid}

    @cached_property
    def starts(self) -> tuple[Cell, ...]:
        grid = ((letter, r, c) for r, row in enumerate(self.rows) for c, letter in enumerate(row))
        return tuple((r, c) for letter, r, c in sorted(grid) if letter.isdigit())

    def cells(self, letters: str) -> list[Cell]:
        return [cell for cell, letter in self.letters.items() if letter in letters]

    def __hash__(self) -> int:
        return hash(self.rows)


def _classic(name: str, text: str) -> Kitchen:
    return Kitchen(name, f"Overcooked-{name}-V0", tuple(text.split("\n")))


CLASSIC = (
    _classic("CrampedRoom", "XXPXX\nO  2O\nX1  X\nXDXSX"),
    _classic("AsymmetricAdvantages", "XXXXXXXXX\nO XSXOX S\nX   P 1 X\nX2  P   X\nXXXDXDXXX"),
    _classic("CoordinationRing", "XXXPX\nX 1 P\nD2X X\nO   X\nXOSXX"),
    _classic("ForcedCoordination", "XXXPX\nO X1P\nO2X X\nD X X\nXXXSX"),
    _classic("CounterCircuit", "XXXPPXXX\nX  2   X\nD XXXX S\nX  1   X\nXXXOOXXX"),
)
# An own layout with a pot that can be reached from four sides, tomatoes, and three orders.
ISLAND = Kitchen(
    "TomatoIsland",
    "Overcooked-CrampedRoom-V0",
    ("XXXXXXX", "O  1  T", "X  P  X", "D  2  S", "XXDXSXX"),
    recipes=(
        Recipe(("onion", "onion", "onion")),
        Recipe(("onion", "onion", "tomato"), value=25, time=7),
        Recipe(("tomato", "tomato", "tomato"), value=15, time=3, bonus=True),
    ),
    classic=False,
)
KITCHENS = {kitchen.name: kitchen for kitchen in (*CLASSIC, ISLAND)}
COOK_STARTS = ("auto", "interact")


@dataclass(frozen=True)
class KitchenState:
    """Everything that decides the future of a game; equal states compare equal."""

    positions: tuple[Cell, ...]
    facings: tuple[int, ...]
    held: tuple[str | None, ...]
    counters: tuple[tuple[Cell, str], ...]  # occupied counters only, sorted
    pots: tuple[tuple[Cell, Pot], ...]  # every pot, sorted
    time: int

    def faced(self, agent: int) -> Cell:
        (row, col), (d_row, d_col) = self.positions[agent], OFFSETS[self.facings[agent]]
        return row + d_row, col + d_col

    def __str__(self) -> str:
        agents = zip(self.positions, self.facings, self.held, strict=True)
        parts = [f"{r},{c}{FACING_LETTERS[facing]}{item or '-'}" for (r, c), facing, item in agents]
        lying = " ".join(f"{r},{c}={item}" for (r, c), item in self.counters)
        pots = " ".join(f"{r},{c}={'+'.join(items)}@{timer}" for (r, c), (items, timer) in self.pots)
        return f"t={self.time} | {' '.join(parts)} | counters {lying} | pots {pots}"


@dataclass(frozen=True)
class Outcome:
    """What one step gave."""

    state: KitchenState
    sparse: tuple[float, ...]
    shaped: tuple[float, ...]
    planes: np.ndarray  # (n, H, W, 26) uint8


class Implementation(Protocol):
    """An implementation of the game that steps any list of states."""

    def step(self, states: Sequence[KitchenState], actions: Sequence[JointAction]) -> list[Outcome]: ...


def start_state(kitchen: Kitchen) -> KitchenState:
    """All agents at their starts, facing up, hands and pots empty, where the kitchen says nothing else."""
    if kitchen.begin is not None:
        return kitchen.begin
    n = len(kitchen.starts)
    pots = tuple((cell, ((), -1)) for cell in kitchen.pot_cells)
    return KitchenState(kitchen.starts, (UP_FACING,) * n, (None,) * n, (), pots, 0)


def soup_name(ingredients: Sequence[str]) -> str:
    return "soup:" + ",".join(sorted(ingredients))


def soup_ingredients(name: str) -> tuple[str, ...]:
    return tuple(name.removeprefix("soup:").split(","))


def is_soup(item: str | None) -> bool:
    return item is not None and item.startswith("soup:")


def differences(expected: Outcome, got: Outcome) -> list[str]:
    """The fields in which two outcomes differ, each with both values."""
    pairs = [(name, getattr(expected.state, name), getattr(got.state, name)) for name in FIELDS]
    pairs += [("sparse", expected.sparse, got.sparse), ("shaped", expected.shaped, got.shaped)]
    found = [f"{name}: expected {want}, got {have}" for name, want, have in pairs if want != have]
    return found + plane_differences(expected.planes, got.planes)


def plane_differences(expected: np.ndarray, got: np.ndarray) -> list[str]:
    """The lossless planes, named by agent and plane, that differ; planes are (n, H, W, 26)."""
    if expected.shape != got.shape or expected.dtype != got.dtype:
        return [f"planes: expected {expected.shape} {expected.dtype}, got {got.shape} {got.dtype}"]
    if np.array_equal(expected, got):
        return []
    agents, planes = np.nonzero((expected != got).any(axis=(1, 2)))
    return [
        f"plane {k} of agent {i}: expected\n{expected[i, :, :, k]}\ngot\n{got[i, :, :, k]}"
        for i, k in zip(agents.tolist(), planes.tolist(), strict=True)
    ]
