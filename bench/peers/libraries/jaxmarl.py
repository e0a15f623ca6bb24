"""JaxMARL's Overcooked, its first version, which plays by cogrid's rules."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

from bench.measure import clock
from bench.measure.gpu.compiled import UNIT as MODELLED
from bench.measure.gpu.targets import COMPILE_ONLY
from bench.peers.cases import COUNTED, LOSSLESS, actions, beside, cogrid, draws, end_of, scan
from bench.peers.peer_worker import Prepared, speed
from bench.peers.target import COGRID, PeerCase, PeerTarget, python_peer
from bench.suites import CRAMPED, options
from cogrid._core.author.layout import Layout
from cogrid.benchmarks.case import Case

PADDING = 4  # cells of wall on each side of their map
THEIR_ACTION = np.array([0, 1, 3, 2, 5, 4, 4], np.int8)  # theirs: up, down, right, left, stay, interact
COGRID_FACING = np.array([3, 1, 0, 2])  # theirs: north, south, east, west
AGENTS = ("agent_0", "agent_1")
EPISODE = 400
DRAWN = "drawn, resets"

JAXMARL = python_peer("jaxmarl", __name__)
RESETS = scan(steps=EPISODE, max_steps=EPISODE, **LOSSLESS)
NUMPY_BATCH = Case(CRAMPED, "numpy-batch", 1024, 64, "cooperative", options=options(**LOSSLESS))


def _of_step(what: str, way: str, measure: str, **limits: Any) -> PeerTarget:
    """A limit on the cost of our compiled step relative to JaxMARL's."""
    cases = beside(JAXMARL, way, scan(**LOSSLESS), way, measure=measure, mode="jax-vmap")
    return PeerTarget(
        f"{what} of the vmapped lossless step", "JaxMARL V1 step_env", cases, at_most=True, **limits
    )


def _compiled(what: str, way: str, batch: int, **limits: Any) -> PeerTarget:
    """Programs that are compiled for a GPU and not run: their modelled speeds."""
    drawn = "drawn" in way
    case = scan(batch=batch, steps=128, **LOSSLESS)
    facts = {"measure": "modelled"} | ({"workload": DRAWN} if drawn else {})
    cases = tuple(PeerCase(peer, way, case, COMPILE_ONLY, facts) for peer in (COGRID, JAXMARL))
    against = f"JaxMARL V1 step{'' if drawn else '_env'}"
    note = "modelled"
    return PeerTarget(
        f"{what}, compiled for an A100, not run", against, cases, rounds=COUNTED, note=note, **limits
    )


TARGETS = (
    PeerTarget(
        "JAX scan@1024, lossless, CrampedRoom",
        "JaxMARL V1 step_env, actions given",
        beside(JAXMARL, "play", scan(**LOSSLESS)),
        enough=4.5,
        stretch=6.0,
    ),
    PeerTarget(
        "JAX scan@1024, lossless, CounterCircuit",
        "JaxMARL V1 step_env, actions given",
        beside(JAXMARL, "play", scan("Overcooked-CounterCircuit-V0", **LOSSLESS)),
        enough=3.5,
        stretch=5.0,
    ),
    PeerTarget(
        "JAX scan@1024, lossless, automatic reset, actions drawn",
        "JaxMARL V1 step",
        beside(JAXMARL, "drawn", RESETS, "drawn", workload=DRAWN),
        enough=7.0,
        stretch=8.0,
        rounds=12,
    ),
    PeerTarget(
        "JAX scan@1024, lossless, actions drawn, through our JaxMARL adapter with LogWrapper",
        "JaxMARL V1 step",
        beside(JAXMARL, "drawn", RESETS, "adapter", workload=DRAWN),
        enough=5.0,
        stretch=6.0,
        rounds=12,
    ),
    _compiled("scan@1024, lossless", "modelled", 1024, enough=4.5),
    _compiled("scan@65536, lossless", "modelled", 65_536, enough=7.0),
    _compiled("scan@1024, lossless, resets, actions drawn", "modelled drawn", 1024),
    _compiled("scan@65536, lossless, resets, actions drawn", "modelled drawn", 65_536, enough=6.0),
    PeerTarget(
        "JAX scan@1024, lossless, resets at all times, actions drawn",
        "JaxMARL V1 step",
        beside(JAXMARL, "staggered", RESETS, "staggered", workload="drawn, staggered resets"),
        rounds=8,
    ),
    PeerTarget(
        "NumPy@1024 in one call, lossless",
        "JaxMARL V1 JAX scan of step_env",
        (cogrid(NUMPY_BATCH), PeerCase(JAXMARL, "play", NUMPY_BATCH, label=", JAX scan")),
        enough=1.0,
        stretch=2.0,
    ),
    _of_step("trace + compile", "compile", "compile", enough=0.33, stretch=0.3, rounds=10),
    _of_step("bytes accessed", "bytes", "bytes accessed", rounds=COUNTED),
    _of_step("fusions", "fusions", "fusions", rounds=COUNTED),
    PeerTarget(
        "state bytes per environment, CrampedRoom",
        "JaxMARL V1",
        beside(JAXMARL, "state bytes", scan(steps=1), "state bytes", measure="state bytes"),
        enough=0.15,
        stretch=0.1,
        at_most=True,
        rounds=COUNTED,
    ),
)


def prepare(way: str, case: Case) -> Prepared:
    return _WAYS[way](case)


def _prepared(
    unit: str, sample: Callable[[], dict[str, Any]], end: Mapping[str, Any] | None = None
) -> Prepared:
    return Prepared(f"jaxmarl {version('jaxmarl')}", unit, sample, end or {})


def _game(case: Case) -> Any:
    module = import_module("jaxmarl.environments.overcooked.overcooked")
    return module.Overcooked(layout=_layout(case.spec.layout[0]), max_steps=case.spec.max_steps)


def _layout(layout: Layout) -> Any:
    """Their layout from our text, so that starts and agent numbers are cogrid's."""
    letters = "".join(layout.letters)
    kinds = {"wall": "XPODS", "goal": "S", "plate_pile": "D", "onion_pile": "O", "pot": "P"}
    cells = {
        f"{name}_idx": np.array([cell for cell, letter in enumerate(letters) if letter in kind])
        for name, kind in kinds.items()
    }
    starts = np.array([row * layout.width + column for row, column in layout.starts])
    frozen = import_module("flax.core.frozen_dict").FrozenDict
    return frozen({"height": layout.height, "width": layout.width, "agent_idx": starts, **cells})


def _start(game: Any, case: Case) -> Any:
    """(batch,) states as cogrid's reset makes them: facing up, which their state stores in three places."""
    import jax

    keys = jax.random.split(jax.random.key(case.seed), case.batch)
    state = jax.jit(jax.vmap(game.reset))(keys)[1]
    vectors = import_module("jaxmarl.environments.overcooked.common").DIR_TO_VEC
    north = jax.numpy.zeros_like(state.agent_dir_idx)
    x, y = (state.agent_pos[..., axis].astype(np.int32) + PADDING for axis in (0, 1))  # (batch, 2)
    every = np.arange(case.batch)[:, None]
    maps = state.maze_map.at[every, y, x, 2].set(0)
    return state.replace(agent_dir_idx=north, agent_dir=vectors[north], maze_map=maps)


def _named(joint: Any) -> dict[str, Any]:
    return {name: joint[:, number] for number, name in enumerate(AGENTS)}


def _stepper(game: Any) -> Callable[[Any, Any], Any]:
    """`step_env` over a batch: no reset, and the key is not used."""
    import jax

    keyless = jax.vmap(lambda state, named: game.step_env(jax.random.key(0), state, named))

    def step(state: Any, joint: Any) -> Any:
        obs, state, rewards, _, _ = keyless(state, _named(joint))
        return state, obs, rewards[AGENTS[0]]

    return step


def _played(case: Case, run: Callable[[], Any], end: Mapping[str, Any] | None = None) -> Prepared:
    return _prepared("steps/s", speed(clock, clock.Pass(run), case.steps * case.batch), end)


def _play(case: Case) -> Prepared:
    import jax

    from bench.peers import compiled

    game = _game(case)
    joint = jax.device_put(THEIR_ACTION[actions(case)].astype(np.int32))
    run = compiled.scan(_stepper(game), _start(game, case), joint)
    return _played(case, run, _end(game, case, run()))


def _end(game: Any, case: Case, end: Any) -> dict[str, Any]:
    import jax

    state, obs, rewards = jax.tree.map(lambda leaf: np.asarray(leaf[: case.lanes]), end)
    cells = state.agent_pos[..., 1] * game.width + state.agent_pos[..., 0]
    planes = np.stack([obs[name] for name in AGENTS], axis=1)
    return end_of(cells, COGRID_FACING[state.agent_dir_idx], rewards, planes)


def _drawn(case: Case, staggered: bool = False) -> Prepared:
    """A scan of `step`, with its automatic reset, and random actions; staggered episodes end at any time."""
    from bench.peers import compiled

    step, start = _resetting(case, staggered)
    return _played(case, compiled.scan_drawn(step, start, *draws(case)))


def _resetting(case: Case, staggered: bool = False) -> tuple[Any, Any]:
    """Their `step` over a batch, and the first states."""
    import jax

    game = _game(case)
    start = _start(game, case)
    if staggered:
        start = start.replace(step=np.arange(case.batch, dtype=start.step.dtype) % case.spec.max_steps)

    def step(state: Any, key: Any, joint: Any) -> Any:
        keys = jax.random.split(key, case.batch)
        obs, state, rewards, _, _ = jax.vmap(game.step)(keys, state, _named(joint))
        return state, obs, rewards[AGENTS[0]]

    return step, start


def _modelled(case: Case) -> Prepared:
    """The scan of `step_env`, compiled for a GPU and not run."""
    from bench.peers import compiled, modelled

    game = _game(case)
    loop = compiled.loop(_stepper(game), _start(game, case), THEIR_ACTION[actions(case)].astype(np.int32))
    return _prepared(MODELLED, modelled.modelled(loop, case.steps * case.batch))


def _modelled_drawn(case: Case) -> Prepared:
    """The scan of `step` as drawn, compiled for a GPU and not run."""
    from bench.peers import compiled, modelled

    step, start = _resetting(case)
    loop = compiled.loop_drawn(step, start, *draws(case))
    return _prepared(MODELLED, modelled.modelled(loop, case.steps * case.batch))


def _vmapped(case: Case) -> tuple[Any, Any, Any]:
    game = _game(case)
    return _stepper(game), _start(game, case), np.zeros((case.batch, len(AGENTS)), np.int32)


def _compile(case: Case) -> Prepared:
    from bench.peers import compiled

    return _prepared("s", compiled.compilation(clock, *_vmapped(case)))


def _counted(name: str, unit: str, case: Case) -> Prepared:
    from bench.peers import compiled

    return _prepared(unit, compiled.counter(name, *_vmapped(case)))


def _state_bytes(case: Case) -> Prepared:
    import jax

    size = sum(leaf.nbytes for leaf in jax.tree.leaves(_start(_game(case), case))) // case.batch
    return _prepared("B", lambda: {"value": size})


_WAYS: Mapping[str, Callable[[Case], Prepared]] = {
    "play": _play,
    "drawn": _drawn,
    "staggered": functools.partial(_drawn, staggered=True),
    "modelled": _modelled,
    "modelled drawn": _modelled_drawn,
    "compile": _compile,
    "bytes": functools.partial(_counted, "bytes_accessed", "B"),
    "fusions": functools.partial(_counted, "fusions", "fusions"),
    "state bytes": _state_bytes,
}
