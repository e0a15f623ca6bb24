"""CartPole of Gymnasium and of gymnax: different work, for orientation."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import version
from typing import Any

from bench.measure import clock
from bench.peers.cases import scan, single
from bench.peers.peer_worker import Prepared, speed
from bench.peers.target import PeerCase, Target, alone, python_peer
from cogrid.benchmarks.case import Case

ID = "CartPole-v1"


def _target(what: str, library: str, case: Case) -> Target:
    facts = {"id": ID, "options": {}, "workload": "random"}
    own = PeerCase(python_peer(library, __name__), library, case, facts=facts, agents=1)
    return Target(what, "", (own,), figure=alone, unit="steps/s", note="different work")


TARGETS = (
    _target("Gymnasium CartPole, one environment", "gymnasium", single("numpy-single")),
    _target("gymnax CartPole, scan@1024, automatic reset, actions drawn", "gymnax", scan()),
)


def prepare(way: str, case: Case) -> Prepared:
    """As many steps and environments as the case has, in the library that the way names."""
    run = _WAYS[way](case)
    sample = speed(clock, clock.Pass(run), case.steps * case.batch)
    return Prepared(f"{way} {version(way)}", "steps/s", sample)


def _gymnasium(case: Case) -> Callable[[], Any]:
    """One environment, reset when its episode ends."""
    import gymnasium

    env = gymnasium.make(ID)
    env.reset(seed=case.seed)
    turns = list(itertools.islice(itertools.cycle((0, 1)), case.steps))

    def run() -> Any:
        for action in turns:
            obs, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
        return obs

    return run


def _gymnax(case: Case) -> Callable[[], Any]:
    """A scan of a batch that resets by itself, with random actions drawn inside."""
    import jax

    from bench.peers import compiled

    env, params = import_module("gymnax").make(ID)
    keys = jax.random.split(jax.random.key(0), case.batch)
    _, start = jax.vmap(env.reset, in_axes=(0, None))(keys, params)

    def step(state: Any, key: Any, joint: Any) -> Any:
        keys = jax.random.split(key, case.batch)
        obs, state, reward, *_ = jax.vmap(env.step, in_axes=(0, 0, 0, None))(
            keys, state, joint[:, 0] % 2, params
        )
        return state, obs, reward

    return compiled.scan_drawn(step, start, case.steps, (case.batch, 1), case.seed)


_WAYS: Mapping[str, Callable[[Case], Callable[[], Any]]] = {"gymnasium": _gymnasium, "gymnax": _gymnax}
