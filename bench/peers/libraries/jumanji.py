"""Jumanji's level-based foraging on JAX: different rules where agents meet, and an additional action mask."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

from bench.measure import clock
from bench.peers.cases import FORAGING, actions, beside
from bench.peers.peer_worker import Prepared, speed
from bench.peers.target import PeerTarget, python_peer
from cogrid.benchmarks.case import Case

THEIR_ACTION = np.array([1, 3, 4, 2, 0, 5], np.int8)  # theirs: noop, up, right, down, left, load

JUMANJI = python_peer("jumanji", __name__)

TARGETS = (
    PeerTarget(
        "foraging 8 × 8, 2 players, 3 foods, JAX scan@1024, vector",
        "Jumanji LevelBasedForaging, actions given",
        beside(JUMANJI, "play", FORAGING),
        enough=3.0,
        stretch=5.0,
    ),
)


def prepare(way: str, case: Case) -> Prepared:
    """A scan over the tape, from Jumanji's own starts: its rules differ from ours where agents meet."""
    import jax

    from bench.peers import compiled

    lbf, spec = import_module("jumanji.environments.routing.lbf"), case.spec
    game: Any = spec.game
    generator = import_module(f"{lbf.__name__}.generator").RandomGenerator(
        grid_size=game.field_size,
        fov=game.sight or game.field_size,
        num_agents=spec.num_agents,
        num_food=game.max_num_food,
        max_agent_level=game.max_player_level,
        force_coop=game.force_coop,
    )
    env = import_module(f"{lbf.__name__}.env").LevelBasedForaging(generator, time_limit=spec.max_steps)
    keys = jax.random.split(jax.random.PRNGKey(case.seed), case.batch)
    start, _ = jax.jit(jax.vmap(env.reset))(keys)

    def step(state: Any, joint: Any) -> Any:
        state, timestep = jax.vmap(env.step)(state, joint)
        return state, timestep.observation, timestep.reward

    run = compiled.scan(step, start, jax.device_put(THEIR_ACTION[actions(case)].astype(np.int32)))
    sample = speed(clock, clock.Pass(run), case.steps * case.batch)
    return Prepared(f"jumanji {version('jumanji')}", "steps/s", sample)
