"""CartPole of Gymnasium and of gymnax: different work, for comparison."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import version
from typing import Any

from bench.measure import clock
from bench.peers.cases import VMAPPED, cogrid, scan, single
from bench.peers.peer_worker import PeerAnswer, Prepared, speed
from bench.peers.target import PeerCase, PeerTarget, alone, python_peer
from cogrid.benchmarks.case import Case

ID = "CartPole-v1"
NOTE = "different work"

Sampled = tuple[str, Callable[[], PeerAnswer]]  # the unit, and a sampler


def _case(way: str, case: Case, **facts: Any) -> PeerCase:
    other = {"id": ID, "options": {}, "workload": "random", **facts}
    return PeerCase(python_peer(way.split()[0], __name__), way, case, facts=other, agents=1)


def _target(what: str, way: str, case: Case) -> PeerTarget:
    return PeerTarget(what, "", (_case(way, case),), figure=alone, unit="steps/s", note=NOTE)


TARGETS = (
    _target("Gymnasium CartPole, one environment", "gymnasium", single("numpy-single")),
    _target("gymnax CartPole, scan@1024, automatic reset, actions drawn", "gymnax", scan()),
    PeerTarget(
        "trace + compile of the vmapped step",
        "gymnax CartPole",
        (cogrid(VMAPPED, "compile", measure="compile"), _case("gymnax compile", VMAPPED, measure="compile")),
        rounds=10,
        note=NOTE,
    ),
)


def prepare(way: str, case: Case) -> Prepared:
    """In the library that the way names."""
    library = way.split()[0]
    unit, sample = _WAYS[way](case)
    return Prepared(f"{library} {version(library)}", unit, sample)


def _played(case: Case, run: Callable[[], Any]) -> Sampled:
    """As many steps and environments as the case has."""
    return "steps/s", speed(clock, clock.Pass(run), case.steps * case.batch)


def _gymnasium(case: Case) -> Sampled:
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

    return _played(case, run)


def _gymnax(case: Case) -> Sampled:
    """A scan of a batch with automatic reset, with random actions drawn inside."""
    import jax

    from bench.peers import compiled

    play, _, start, _ = _vmapped(case)

    def step(state: Any, key: Any, joint: Any) -> Any:
        obs, state, reward, *_ = play(jax.random.split(key, case.batch), state, joint[:, 0] % 2)
        return state, obs, reward

    return _played(case, compiled.scan_drawn(step, start, case.steps, (case.batch, 1), case.seed))


def _vmapped(case: Case) -> tuple[Any, Any, Any, Any]:
    """gymnax's step of a batch with automatic reset, and its arguments: keys, states, actions."""
    import jax

    env, params = import_module("gymnax").make(ID)
    keys = jax.random.split(jax.random.key(0), case.batch)
    _, start = jax.vmap(env.reset, in_axes=(0, None))(keys, params)

    def step(keys: Any, states: Any, actions: Any) -> Any:
        return jax.vmap(env.step, in_axes=(0, 0, 0, None))(keys, states, actions, params)

    return step, keys, start, jax.numpy.zeros(case.batch, "int32")


def _compile(case: Case) -> Sampled:
    from bench.peers import compiled

    return "s", compiled.compilation(clock, *_vmapped(case))


_WAYS: Mapping[str, Callable[[Case], Sampled]] = {
    "gymnasium": _gymnasium,
    "gymnax": _gymnax,
    "gymnax compile": _compile,
}
