"""Movement, exhaustively: every placing of agents on small floors and every joint move."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid.backend import rng
from tests.support import BACKENDS, DOWN, LEFT, NOOP, RIGHT, UP

MOVES = {UP: (-1, 0), DOWN: (1, 0), LEFT: (0, -1), RIGHT: (0, 1), NOOP: (0, 0)}


def room(height: int, width: int) -> str:
    edge = "#" * (width + 2) + "\n"
    return edge + ("#" + " " * width + "#\n") * height + edge


def every_case(height: int, width: int, n: int) -> tuple[Any, Any]:
    """All placings, (cases, n, 2), with all joint moves, (cases, n); agents are alike, so order is free."""
    floor = [(r, c) for r in range(1, height + 1) for c in range(1, width + 1)]
    placings = np.array(list(itertools.combinations(floor, n)))
    joint = np.array(list(itertools.product(MOVES, repeat=n)))
    return np.repeat(placings, len(joint), axis=0), np.tile(joint, (len(placings), 1))


def moved(height: int, width: int, n: int, placings: Any, actions: Any, backend: str = "numpy") -> Any:
    env = cogrid.make(
        "Arena-V0", backend, layout=room(height, width), density=0.0, num_agents=n, observation="none"
    )
    state, _ = env.reset_fn(np.broadcast_to(rng.key(0), (len(placings), 2)))
    state = env.replace(state, agent_pos=placings)
    state, *_ = env.rules.backend.compiled(env.step_fn)(state, actions.astype(np.int32))
    return np.asarray(state.agent_pos)


def wanted(height: int, width: int, placings: Any, actions: Any) -> Any:
    """(cases, n, 2) the cell that each agent asks for; its own if a wall is in the way."""
    want = placings + np.array([MOVES.get(a, (0, 0)) for a in range(7)])[actions]
    inside = (want >= 1).all(-1) & (want[..., 0] <= height) & (want[..., 1] <= width)
    return np.where(inside[..., None], want, placings)


def referee(placing: Any, want: Any) -> list[tuple[int, int]]:
    """The rule in plain words: contenders and swappers stay, and so does who runs into somebody who stays."""
    here, goal = [tuple(p) for p in placing], [tuple(w) for w in want]
    n = len(here)
    stays = {i for i in range(n) for j in range(n) if i != j and goal[i] == goal[j]}
    stays |= {i for i in range(n) for j in range(n) if i != j and goal[i] == here[j] and goal[j] == here[i]}
    while True:
        more = {i for i in range(n) if i not in stays and any(goal[i] == here[j] for j in stays)}
        if not more:
            return [here[i] if i in stays else goal[i] for i in range(n)]
        stays |= more


@pytest.mark.parametrize(("height", "width", "n"), [(3, 3, 2), (3, 3, 3), (3, 3, 4), (2, 3, 5)])
def test_nobody_shares_a_cell_or_passes_through(height: int, width: int, n: int) -> None:
    placings, actions = every_case(height, width, n)
    after = moved(height, width, n, placings, actions)
    want = wanted(height, width, placings, actions)
    for i, j in itertools.combinations(range(n), 2):
        assert not (after[:, i] == after[:, j]).all(-1).any(), "two agents share a cell"
        through = (after[:, i] == placings[:, j]).all(-1) & (after[:, j] == placings[:, i]).all(-1)
        assert not through.any(), "two agents passed through each other"
    assert ((after == placings).all(-1) | (after == want).all(-1)).all(), (
        "an agent went where it did not want to"
    )
    sample = np.random.default_rng(0).choice(len(placings), min(len(placings), 20_000), replace=False)
    for case in sample:
        assert [tuple(cell) for cell in after[case]] == referee(placings[case], want[case])
    followed = (
        (after != placings).any(-1)[:, :, None] & (want[:, :, None] == placings[:, None]).all(-1)
    ).sum()
    assert followed > 20, "no agent ever walked into a cell that was being left"


def test_two_agents_are_overcooked_ais() -> None:
    """overcooked_ai: both stay if they want one cell or each other's; a blocked agent wants its own."""
    placings, actions = every_case(3, 3, 2)
    want = wanted(3, 3, placings, actions)
    same = (want[:, 0] == want[:, 1]).all(-1)
    swap = (want[:, 0] == placings[:, 1]).all(-1) & (want[:, 1] == placings[:, 0]).all(-1)
    expected = np.where((same | swap)[:, None, None], placings, want)
    np.testing.assert_array_equal(moved(3, 3, 2, placings, actions), expected)
    assert same.sum() == 74
    assert swap.sum() == 12  # neighbours that walk into each other: one for each of the 12 borders


def test_a_ring_of_four_turns() -> None:
    """
    1 > 2        4   1
    ^   v   ->
    4 < 3        3   2
    """
    placings = np.array([[(1, 1), (1, 2), (2, 2), (2, 1)]])
    after = moved(2, 2, 4, placings, np.array([[RIGHT, DOWN, LEFT, UP]]))
    np.testing.assert_array_equal(after, np.roll(placings, -1, axis=1))


def test_a_bounce_runs_down_the_queue() -> None:
    """1 2 3 4 walk right into the wall: all stay."""
    placings = np.array([[(1, 1), (1, 2), (1, 3), (1, 4)]])
    np.testing.assert_array_equal(moved(1, 4, 4, placings, np.full((1, 4), RIGHT)), placings)


@pytest.mark.parametrize("n", [2, 3, 5, 9])
@pytest.mark.parametrize("backend", BACKENDS)
def test_backends_and_numbers_of_agents(backend: str, n: int) -> None:
    generator = np.random.default_rng(n)
    floor = np.array([(r, c) for r in range(1, 4) for c in range(1, 5)])
    placings = np.stack([generator.permutation(floor)[:n] for _ in range(500)])
    actions = generator.choice(list(MOVES), (500, n))
    after = moved(3, 4, n, placings, actions, backend)
    want = wanted(3, 4, placings, actions)
    for case in range(500):
        assert [tuple(cell) for cell in after[case]] == referee(placings[case], want[case])
