"""overcooked, the maintained fork of overcooked_ai: the original game in plain Python."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

from bench.measure import clock
from bench.peers.cases import LOSSLESS, beside, end_of, lanes, single
from bench.peers.peer_worker import Prepared, speed
from bench.peers.target import PeerTarget, python_peer
from cogrid._core.author.layout import Layout
from cogrid.benchmarks.case import Case

DIRECTIONS = ((1, 0), (0, 1), (-1, 0), (0, -1))  # (x, y) by cogrid's facing
STAY = (0, 0)
THEIR_ACTION = (DIRECTIONS[3], DIRECTIONS[1], DIRECTIONS[2], DIRECTIONS[0], "interact", STAY, STAY)

OVERCOOKED = python_peer("overcooked", __name__)

TARGETS = (
    PeerTarget(
        "NumPy one environment, lossless",
        "overcooked, step + encoding",
        beside(OVERCOOKED, "play", single("numpy-single", **LOSSLESS)),
        enough=3.0,
        stretch=4.0,
    ),
)


def prepare(way: str, case: Case) -> Prepared:
    """One environment: a step and the lossless encoding of both agents."""
    game = _game(case.spec.layout[0])
    joint = [tuple(THEIR_ACTION[action] for action in both) for both in lanes(case)[:, 0].tolist()]
    start = game.get_standard_start_state()

    def run() -> Any:
        state, score = start, 0.0
        for both in joint:
            state, infos = game.get_state_transition(state, both)
            planes = game.lossless_state_encoding(state, horizon=case.spec.max_steps)
            score += sum(infos["sparse_reward_by_agent"])
        return state, planes, score

    sample = speed(clock, clock.Pass(run), case.steps)
    return Prepared(f"overcooked {version('overcooked')}", "steps/s", sample, _end(case, *run()))


def _game(layout: Layout) -> Any:
    """A game with automatic cooking and one order, on our layout."""
    recipe = {"ingredients": ["onion"] * 3}
    options = {
        "old_dynamics": True,
        "start_all_orders": [recipe],
        "start_bonus_orders": [],
        "recipe_values": [20],
        "recipe_times": [20],
    }
    numbers = {cell: str(number + 1) for number, cell in enumerate(layout.starts)}
    text = [
        "".join(numbers.get((row, column), letter) for column, letter in enumerate(line))
        for row, line in enumerate(layout.letters)
    ]
    return import_module("overcooked.mdp.overcooked_mdp").OvercookedGridworld.from_grid(text, options)


def _end(case: Case, state: Any, planes: Any, score: float) -> dict[str, Any]:
    cells = [y * case.spec.width + x for x, y in state.player_positions]
    facings = [DIRECTIONS.index(direction) for direction in state.player_orientations]
    seen = np.stack(planes).swapaxes(1, 2)  # theirs are (agents, width, height, planes)
    return end_of([cells], [facings], [score], seen[None])
