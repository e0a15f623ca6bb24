"""JaxMARL's OvercookedV2, which plays by the rules of cogrid's kitchens of that name."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

from bench.measure import clock
from bench.peers.cases import LOSSLESS, actions, beside, end_of
from bench.peers.peer_worker import Prepared, speed
from bench.peers.target import PeerTarget, python_peer
from bench.suites import options
from cogrid.benchmarks import modes
from cogrid.benchmarks.case import Case
from cogrid.cogrid_env import CoGridEnv
from cogrid.envs.overcooked_v2.objects import INGREDIENTS

THEIR_ACTION = np.array([3, 1, 2, 0, 5, 4, 4], np.int8)  # theirs: right, down, left, up, stay, interact
COGRID_FACING = np.array([3, 1, 0, 2])  # theirs: up, down, right, left
AGENTS = ("agent_0", "agent_1")

JAXMARL_V2 = python_peer("jaxmarl_v2", __name__)


def _scan(layout: str) -> Case:
    return Case(
        f"OvercookedV2-{layout}-V0", "jax-scan", 1024, 256, "cooperative", options=options(**LOSSLESS)
    )


TARGETS = (
    PeerTarget(
        "JAX scan@1024, lossless, OvercookedV2 CrampedRoomV2",
        "JaxMARL V2 step_env, actions given",
        beside(JAXMARL_V2, "play", _scan("CrampedRoomV2")),
        enough=6.0,
        stretch=8.0,
    ),
)


def prepare(way: str, case: Case) -> Prepared:
    return {"play": _play}[way](case)


def _game(case: Case) -> Any:
    module = import_module("jaxmarl.environments.overcooked_v2.overcooked")
    name = re.sub(r"(?<=[a-z])([A-Z])", r"_\1", case.spec.layout[0].name).lower()
    return module.OvercookedV2(layout=name, max_steps=case.spec.max_steps)


def _start(game: Any, case: Case) -> Any:
    """(batch,) states with the recipes that cogrid's reset draws."""
    import jax

    env = CoGridEnv(case.spec, "jax")
    slots = np.asarray(modes.jax_start(case, env, jax.vmap).slots)[:, 0]
    assert env.rules.slots is not None
    recipes: list[Any] = [*env.rules.slots.things]
    codes = [sum(4 << 2 * INGREDIENTS.index(item) for item in recipe.items) for recipe in recipes]
    state = jax.jit(jax.vmap(game.reset))(jax.random.split(jax.random.key(0), case.batch))[1]
    return state.replace(recipe=jax.numpy.asarray(np.array(codes)[slots], state.recipe.dtype))


def _play(case: Case) -> Prepared:
    import jax

    from bench.peers import compiled

    game = _game(case)
    keyless = jax.vmap(lambda state, named: game.step_env(jax.random.key(0), state, named))

    def step(state: Any, joint: Any) -> Any:
        named = {name: joint[:, number] for number, name in enumerate(AGENTS)}
        obs, state, rewards, _, _ = keyless(state, named)
        return state, obs, rewards[AGENTS[0]]

    joint = jax.device_put(THEIR_ACTION[actions(case)].astype(np.int32))
    run = compiled.scan(step, _start(game, case), joint)
    sample = speed(clock, clock.Pass(run), case.steps * case.batch)
    return Prepared(f"jaxmarl {version('jaxmarl')}", "steps/s", sample, _end(game, case, run()))


def _end(game: Any, case: Case, end: Any) -> dict[str, Any]:
    import jax

    state, obs, rewards = jax.tree.map(lambda leaf: np.asarray(leaf[: case.lanes]), end)
    cells = state.agents.pos.y * game.width + state.agents.pos.x
    planes = np.stack([obs[name] for name in AGENTS], axis=1)
    return end_of(cells, COGRID_FACING[state.agents.dir], rewards, planes)
