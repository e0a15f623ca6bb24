"""lbforaging: level-based foraging in plain Python, which plays by cogrid's rules."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

from bench.measure import clock
from bench.peers.cases import FORAGING, cogrid, lanes
from bench.peers.peer_worker import Prepared, speed
from bench.peers.target import PeerCase, PeerTarget, python_peer
from cogrid.benchmarks import workloads
from cogrid.benchmarks.case import Case
from cogrid.cogrid_env import CoGridEnv
from cogrid.envs.foraging.game import Foraging

THEIR_ACTION = np.array([1, 2, 3, 4, 0, 5])  # theirs: none, north, south, west, east, load

LBFORAGING = python_peer("lbforaging", __name__)
SINGLE = Case(FORAGING.id, "numpy-single", 1, FORAGING.steps)

TARGETS = (
    PeerTarget(
        "foraging 8 × 8, 2 players, 3 foods, JAX scan@1024, vector",
        "lbforaging, one environment",
        (cogrid(FORAGING), PeerCase(LBFORAGING, "play", SINGLE)),
        enough=500.0,
    ),
    PeerTarget(
        "foraging 8 × 8, 2 players, 3 foods, NumPy one environment, vector",
        "lbforaging, one environment",
        (cogrid(SINGLE), PeerCase(LBFORAGING, "play", SINGLE)),
    ),
)


def prepare(way: str, case: Case) -> Prepared:
    """One environment with the case's options, in the state in which the first tape starts."""
    spec, game = case.spec, case.spec.game
    assert isinstance(game, Foraging)
    state: Any = CoGridEnv(spec).reset_fn(workloads.start_keys(case.seed, 1)[0])[0]
    field, levels = np.asarray(state.field), np.asarray(state.agent_level)
    places = (np.asarray(state.agent_pos) - 1).tolist()
    env = import_module("lbforaging.foraging.environment").ForagingEnv(
        players=spec.num_agents,
        min_player_level=game.min_player_level,
        max_player_level=game.max_player_level,
        min_food_level=game.min_food_level,
        max_food_level=game.max_food_level,
        field_size=field.shape,
        max_num_food=game.max_num_food,
        sight=game.sight or game.field_size,
        max_episode_steps=spec.max_steps,
        force_coop=game.force_coop,
    )
    joint = THEIR_ACTION[lanes(case)[:, 0]].tolist()

    def start() -> None:
        env.field = field.astype(np.int32)
        for player, place, level in zip(env.players, places, levels.tolist(), strict=True):
            player.setup(tuple(place), level, field.shape)
            player.reward = 0
        env._food_spawned, env.current_step, env._game_over = field.sum(), 0, False
        env._gen_valid_moves()

    def run() -> Any:
        kept = []
        for actions in joint:
            _, rewards, _, _, _ = env.step(actions)
            kept.append(rewards)
        return kept

    start()
    total = np.float32(0)
    for rewards in run():
        total = np.float32(total + np.float32(rewards[0]))
    cells = [(row + 1) * spec.width + column + 1 for row, column in (p.position for p in env.players)]
    sample = speed(clock, clock.Pass(run, start), case.steps)
    end = {"positions": [[int(cell) for cell in cells]], "rewards": [float(total)]}
    return Prepared(f"lbforaging {version('lbforaging')}", "steps/s", sample, end)
