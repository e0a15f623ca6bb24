"""Neighbourhood: ticks that depend on a count around the cell, or on the whole board."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from cogrid._core.author.chance import branches
from cogrid._core.phases.ticks import NearCount, Ticking
from cogrid.author import Chance, Game, Looks, Near, Outcome, Part, Spec, Thing
from cogrid.testing.conformance import check_env
from tests._core.worlds import after, bounds, drawn, fresh, initials, made, parity, picture
from tests.support import BACKENDS, keys

each_backend = pytest.mark.parametrize("backend", BACKENDS)


@dataclass(frozen=True)
class Life(Game):
    """Conway's: a live cell lives on by two or three neighbours, a dead one comes to life by three."""

    legend: ClassVar[Any] = {" ": "floor", "#": "wall", ".": "dead", "o": "live"}

    def live(self, thing: Any, count: int) -> Any:
        if thing not in ("dead", "live"):
            return thing
        return "live" if count == 3 or (count == 2 and thing == "live") else "dead"

    def parts(self) -> tuple[Part, ...]:
        return (Near(lambda thing: thing == "live", self.live, most=8, radius=1, shape="square"),)

    def looks(self) -> Looks:
        return Looks(glyph={"floor": "  ", "wall": "##", "dead": ". ", "live": "o "}.get)


GLIDER = """
.........
..o......
...o.....
.ooo.....
.........
.........
##1######
#########
"""


@each_backend
def test_a_glider_glides(backend: str) -> None:
    """
    . o . . . .        . . . . . .
    . . o . . .        . . o . . .
    o o o . . .   ->   . . . o . .    four steps later, one cell down and one to the right
    . . . . . .        . o o o . .
    """
    spec = Spec(Life(), GLIDER, num_agents=1, observation="none")
    state = fresh(spec, backend)
    first = drawn(spec, backend, state)
    for _ in range(4):
        state, *_ = after(spec, backend, state, "noop")
    assert first.split("\n")[:5] == picture(
        """
        . o . . . . .
        . . o . . . .
        o o o . . . .
        . . . . . . .
        . . . . . . .
        """
    ).split("\n")
    assert drawn(spec, backend, state).split("\n")[:5] == picture(
        """
        . . . . . . .
        . . o . . . .
        . . . o . . .
        . o o o . . .
        . . . . . . .
        """
    ).split("\n")


HARVEST = """
###############
#1aa.a  .a2...#
#a..a  a......#
#.a...a.a.....#
###############
"""


@dataclass(frozen=True)
class Harvest(Game):
    """Apples are eaten by walking onto them and grow back by the apples within distance 2."""

    legend: ClassVar[Any] = {" ": "floor", "#": "wall", "a": "apple", ".": "grass"}

    def grow(self, thing: Any, apples: int) -> Any:
        weight = (0, 1, 5, 25)[apples]
        if thing != "grass" or not weight:
            return thing
        return Chance(("apple", weight), ("grass", 100 - weight))

    def parts(self) -> tuple[Part, ...]:
        return (Near(lambda thing: thing == "apple", self.grow, most=3, radius=2),)

    def walkable(self, thing: Any) -> bool:
        return thing != "wall"

    def enter(self, held: Any, thing: Any) -> Any:
        return Outcome(held, "grass", "eat", 1.0) if thing == "apple" else None


SPEC = Spec(Harvest(), HARVEST, observation="none", max_steps=400)


def unchanged(thing: Thing, count: int) -> Thing:
    return thing


def test_growth_follows_the_count() -> None:
    """400 fields for 10 steps, as they are left alone: growth by an independent count, in exact bounds."""
    env = made(SPEC, "numpy")
    state, _ = env.reset_fn(keys(1, 400))
    number, shape = env.spec.symbols.number, (400, 5, 15)
    tries, hits = np.zeros(4, int), np.zeros(4, int)
    for _ in range(10):
        before = np.asarray(state.cells).reshape(shape)
        state, *_ = env.step_fn(state, np.full((400, 2), 6))
        now = np.asarray(state.cells).reshape(shape)
        count = np.zeros(shape, int)
        for r, c in np.ndindex(5, 15):
            for dr, dc in np.ndindex(5, 5):
                y, x = r + dr - 2, c + dc - 2
                if (dr, dc) != (2, 2) and math.dist((r, c), (y, x)) <= 2 and 0 <= y < 5 and 0 <= x < 15:
                    count[:, r, c] += before[:, y, x] == number["apple"]
        grass = before == number["grass"]
        np.putmask(count, count > 3, 3)
        tries += [(grass & (count == k)).sum() for k in range(4)]
        hits += [(grass & (now == number["apple"]) & (count == k)).sum() for k in range(4)]
    assert hits[0] == 0
    assert tries.min() > 50, tries
    for k, weight in ((1, 1), (2, 5), (3, 25)):
        low, high = bounds(int(tries[k]), branches(Chance((1, weight), (0, 100 - weight)))[0][1])
        assert low <= hits[k] <= high, f"{hits[k]} of {tries[k]} grew by {k}, not {low} to {high}"


@dataclass(frozen=True)
class River(Game):
    """Grass grows an apple for sure as long as at most two cells of the river are dirty, anywhere."""

    legend: ClassVar[Any] = {" ": "floor", "#": "wall", ".": "grass", "d": "dirt"}

    def grow(self, thing: Any, dirt: int) -> Any:
        return "apple" if thing == "grass" and dirt <= 2 else thing

    def parts(self) -> tuple[Part, ...]:
        return (Near(lambda thing: thing == "dirt", self.grow, most=5, radius=None),)

    def interact(self, held: Any, thing: Any) -> Any:
        return Outcome(held, "water", "clean") if thing == "dirt" else None

    def looks(self) -> Looks:
        return Looks(glyph=initials)


@each_backend
def test_the_whole_board_counts(backend: str) -> None:
    """
    ^ d d             ^ w d
    g   d d      ->   a   d    the third dirt is cleaned, and the grass turns in the same step
    """
    spec = Spec(River(), "#####\n#1dd#\n#. d#\n#####", num_agents=1, observation="none")
    state = fresh(spec, backend)
    state, *_ = after(spec, backend, state, "right")
    assert drawn(spec, backend, state) == picture("> d d\ng   d")
    state, _, _, infos = after(spec, backend, state, "interact")
    assert infos["verbs"] == ["clean"]
    assert drawn(spec, backend, state) == picture("> w d\na   d")


@each_backend
@pytest.mark.parametrize(("mark", "most"), [(1, 2**15), (2**20, 3), (2**20, 2**15)])
@pytest.mark.parametrize("radius", [1, None])
def test_counts_as_large_as_they_can_be(backend: str, mark: int, most: int, radius: int | None) -> None:
    """No sum of marks overflows the narrow integers that it is taken in."""
    rules = made(SPEC, backend).rules
    near = Near(lambda thing: mark * (thing == "apple"), unchanged, most=most, radius=radius)
    state, apple = fresh(SPEC, backend), rules.spec.symbols.number["apple"]
    cells = rules.phase(Ticking).cases.cells
    counted = np.asarray(NearCount.compile(rules, near, cells)(rules, state.cells))
    board = np.pad((np.asarray(state.cells) == apple).reshape(5, 15), 1)
    beside = board[:-2, 1:-1] + 0 + board[2:, 1:-1] + board[1:-1, :-2] + board[1:-1, 2:]
    counts = beside.reshape(-1)[cells] if radius else np.full(cells.shape, board.sum())
    assert counts.max() >= 2
    np.testing.assert_array_equal(np.broadcast_to(counted, cells.shape), np.minimum(counts * mark, most))


def test_parity() -> None:
    counts, tape = parity(SPEC, BACKENDS)
    apple = made(SPEC, "numpy").spec.symbols.number["apple"]
    grown = (tape["cells"][1:] == apple) & (tape["cells"][:-1] != apple)
    assert counts["eat"] > 100
    assert grown.sum() > 100


def test_conformance() -> None:
    assert check_env(SPEC, BACKENDS)["eat"] > 0


def test_shapes_of_a_neighbourhood() -> None:
    shapes = ("circle", "diamond", "square")
    sizes = {shape: len(Near(bool, unchanged, 1, 2, shape).offsets) for shape in shapes}
    assert sizes == {"circle": 12, "diamond": 12, "square": 24}
    assert len(Near(bool, unchanged, 1, 1.5).offsets) == 8
    with pytest.raises(ValueError, match=r"Near\.shape is 'ring', which is unknown"):
        Near(bool, unchanged, 1, 2, "ring")
    with pytest.raises(ValueError, match=r"Near\.most=0 is out of range"):
        Near(bool, unchanged, 0)
