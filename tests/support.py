"""What the tests share: the installed backends, boards, played episodes and exact comparison."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid._core.phases.phase import Phase
from cogrid._core.rules import Rules
from cogrid.backend import rng
from cogrid.backend.backends import BACKENDS as BY_NAME
from cogrid.backend.backends import installed
from cogrid.envs.overcooked import specs
from cogrid.envs.overcooked.game import Kitchen
from cogrid.envs.registry import spec_of

HAS_JAX = importlib.util.find_spec("jax") is not None
if HAS_JAX:
    import jax
#: For tests of signals that end a process, and of modes, links and pipes in the file system.
posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals, modes, links or pipes")
with_dev_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has /dev/full")
#: Backends whose libraries are installed; the NumPy session proves that the suite needs no JAX.
#: One that needs a compiler is tested where the variable names it, as in `tests(native)`: it takes long.
_QUICK = " ".join(name for name, entry in BY_NAME.items() if not entry.compilers)
_WANTED = (os.environ.get("COGRID_TEST_BACKENDS") or _QUICK).split()
BACKENDS = tuple(name for name in installed() if name in _WANTED)
#: Those whose shadow can run too.
SHADOWED = tuple(name for name in BACKENDS if BY_NAME[name].shadow in BACKENDS)
EVERY_ID = tuple(cogrid.registered())
#: Of ids that are much alike, by their prefix, these stand for all; the others are tested at night.
SAMPLES = {
    # Seven players and large windows: boards of tests/envs/commons stand for them.
    "CommonsHarvest-": (),
    "CleanUp-": (),
    "OvercookedAI-": (
        "OvercookedAI-CounterCircuit-V0",  # tomatoes, several soups, a bonus
        "OvercookedAI-MultiplayerSchelling-V0",  # four agents
        "OvercookedAI-OldDynamicsPutTest-V0",  # one agent, and a start of its own
    ),
    "OvercookedV2-": (
        "OvercookedV2-CrampedRoomV2-V0",  # an indicator
        "OvercookedV2-GroundedCoordSimple-V0",  # buttons, three ingredients
        "OvercookedV2-LongRoom-V0",  # one agent
    ),
    "Foraging-": ("Foraging-8x8-2p-3f-V0",),
    "SearchRescue-": ("SearchRescue-Ruins-V0",),
    # Classic kitchens with other options.
    "Overcooked-CrampedRoom-SingleAgent": (),
    "Overcooked-CrampedRoom-LocalView": (),
    "Overcooked-AsymmetricAdvantages-PartialObs": (),
    # Kitchens of every key's own, with tests of their own.
    "Overcooked-Generated": (),
}
IDS = tuple(
    id
    for id in EVERY_ID
    if all(id in sample or not id.startswith(prefix) for prefix, sample in SAMPLES.items())
)
#: The ids of the families beside the kitchens.
FAMILIES = tuple(id for id in EVERY_ID if not id.startswith("Overcooked"))
KITCHENS = tuple(id for id in EVERY_ID if isinstance(spec_of(id, {}, ()).game, Kitchen))
CLASSIC = tuple(specs.CLASSIC)

UP, DOWN, LEFT, RIGHT, INTERACT, TOGGLE, NOOP = range(7)


def marks(id: str, *others: pytest.MarkDecorator) -> tuple[pytest.MarkDecorator, ...]:
    """Those of a test of this id: what the samples stand for is slow."""
    return others if id in IDS else (*others, pytest.mark.slow)


def on_backends(values: Iterable[Any], sample: Collection[Any]) -> list[Any]:
    """(value, backend) on NumPy for all values; elsewhere for the sample, and at night for all of them.

    Parity says that backends do the same, so not all need be compared with what NumPy is compared with.
    """
    return [
        pytest.param(
            value,
            backend,
            marks=[pytest.mark.slow] * (backend != "numpy" and value not in sample),
            id=f"{backend}-{value.stem if isinstance(value, Path) else value}",
        )
        for backend in BACKENDS
        for value in values
    ]


#: XLA's own effort, by the flags that `nox -s tests` lowers for programs that run a few times only.
EFFORT = {
    "xla_backend_optimization_level": 3,
    "xla_cpu_use_fusion_emitters": True,
    "xla_cpu_parallel_codegen_split_count": 32,
}


def as_users_compile(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, compiled by JAX with the whole effort that users get, also where tests get less."""
    lowered = os.environ.get("XLA_FLAGS", "")
    options = {flag: effort for flag, effort in EFFORT.items() if flag in lowered}
    return jax.jit(function, compiler_options=options)


def assert_same(left: Any, right: Any, what: str = "") -> None:
    """Two states are equal, field by field; integer widths are the backend's own business."""
    ours, theirs = left.plain(), right.plain()
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        if not np.array_equal(value, theirs[name]):
            np.testing.assert_array_equal(value, theirs[name], err_msg=f"{what} {name}")


def keys(seed: int, n: int) -> Any:
    """n keys of a seed."""
    return rng.split(rng.key(seed), n)


def plant(patch: pytest.MonkeyPatch, rules: Rules, kind: type[Phase], **faults: Callable[[Any], Any]) -> None:
    """Plant a fault: replace tables of one phase by functions of them, until the patch is undone."""
    phase = rules.phase(kind)
    assert phase is not None, f"these rules have no {kind.__name__}"
    faulty = dataclasses.replace(
        phase, **{name: fault(getattr(phase, name)) for name, fault in faults.items()}
    )
    phases = tuple(faulty if one is phase else one for one in rules.phases)
    patch.setattr(rules, "phases", phases)
    patch.setattr(rules, "parts", rules.parts._replace(phases=phases))


def read_only(state: Any) -> Any:
    """The state with arrays that refuse to be written."""
    frozen = {}
    for f in dataclasses.fields(state):
        value = getattr(state, f.name)
        if isinstance(value, np.ndarray):
            value = value.copy()
            value.flags.writeable = False
        frozen[f.name] = value
    return type(state)(**frozen)


def has_features(id: str) -> bool:
    """Whether the family has features, so the observation of that name."""
    return bool(spec_of(id, {}, ()).game.features())


def busy_actions(env: Any, generator: Any, steps: int, batch: int) -> Any:
    """(steps, batch, n) random actions of which half are interact, some out of range."""
    shape = (steps, batch, env.config["num_agents"])
    actions = generator.integers(-1, env.rules.n_actions + 1, shape)
    return np.where(generator.random(shape) < 0.4, main_action(env), actions).astype(np.int32)


def main_action(env: Any) -> int:
    """The number of interact, or of the last of a game's own actions."""
    names = env.action_names
    return names.index("interact") if "interact" in names else len(names) - 1


@contextlib.contextmanager
def full_disk(left: int) -> Iterator[None]:
    """Files can have so many bytes and no more: what is written beyond that raises as on a full disk."""
    resource = pytest.importorskip("resource", reason="Windows limits no file sizes")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    writes_no_bytecode = sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # or the modules imported here would be cut off for everybody
    resource.setrlimit(resource.RLIMIT_FSIZE, (left, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        sys.dont_write_bytecode = writes_no_bytecode
