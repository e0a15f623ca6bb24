"""Phases: where the time of a step goes, phase by phase and feature by feature, on both backends."""

from __future__ import annotations

import contextlib
import os
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from bench.measure.clock import Length, Pass, Samples, each_call, per_call
from bench.measure.plan import Measured, Plan
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState
from cogrid.benchmarks.case import MAX_STEPS, Case
from cogrid.benchmarks.modes import keys
from cogrid.benchmarks.workloads import spread, tape
from cogrid.cogrid_env import CoGridEnv
from cogrid.core.observation import observe
from cogrid.core.profiling import PHASES, VARIABLE, timed_step, woven
from cogrid.core.rules import Rules
from cogrid.core.spec import Spec

MIDDLE = 64  # steps after which a game has its hands full
SECONDS = 0.3  # on the clock for each part
STEPS = 200  # of NumPy, of which the medians are taken
SAMPLES = 5  # of the whole, of NumPy's single steps: every fifth belongs to one


class Parts(NamedTuple):
    """Seconds of each part of a step, and of the whole in one piece.

    NumPy's parts are taken inside of the whole, and what is missing in their sum lies between them. JAX's
    are compiled apart, so that their sum may exceed the whole: the compiler fuses across phases.
    """

    seconds: Mapping[str, float]
    wholes: list[float]  # samples

    @property
    def whole(self) -> float:
        return statistics.median(self.wholes)

    @property
    def total(self) -> float:
        return sum(self.seconds.values())


def table(columns: Mapping[str, Parts]) -> list[list[str]]:
    """Rows for printing: a header, the parts of all columns, their sum and the whole; µs, and the share."""
    names = dict.fromkeys(name for parts in columns.values() for name in parts.seconds)
    rows = [["", *columns]]
    rows += [[name, *(_cell(p, p.seconds.get(name)) for p in columns.values())] for name in names]
    rows.append(["sum", *(_cell(p, p.total) for p in columns.values())])
    rows.append(["whole", *(_cell(p, p.whole) for p in columns.values())])
    return rows


def _cell(parts: Parts, seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1e6:.1f} µs {seconds / parts.whole:4.0%}"


def numpy_phases(case: Case) -> Parts:
    """The median of each phase over `STEPS` steps: of `env.step` for one environment, else of a batch."""
    with _profiling():
        env = CoGridEnv(_endless(case.spec))
    state, actions = _middle(env, case, STEPS + 1)
    one = case.mode.endswith("single")
    return _single(env, state, actions) if one else _batch(env.rules, state, actions)


def _single(env: CoGridEnv, state: EnvState, actions: Array) -> Parts:
    env.set_state(state)
    turns = iter([dict(enumerate(joint.tolist())) for joint in actions])
    return _median(lambda: env.step(next(turns)), lambda: env.step_timing or {}, len(actions) - 1)


def _batch(rules: Rules, state: EnvState, actions: Array) -> Parts:
    step, timing = timed_step()
    turns = iter(actions)

    def turn() -> None:
        nonlocal state
        state = step(rules, state, next(turns))[0]

    return _median(turn, lambda: timing, len(actions) - 1)


def _median(turn: Callable[[], Any], timing: Callable[[], Mapping[str, int]], steps: int) -> Parts:
    """The median is not moved by a neighbour that takes the core away in a few of the steps."""
    taken: dict[str, list[int]] = {name: [] for name in PHASES}

    def note() -> None:
        for name, nanoseconds in timing().items():
            taken.setdefault(name, []).append(nanoseconds)

    # Noted before the next step, off the clock; a first step warms up, and has none before it to be noted.
    wholes = each_call(Pass(turn, note), steps, warmup=Length(0.0, 1))
    note()
    medians = {name: statistics.median(times[2:]) / 1e9 for name, times in taken.items()}
    return Parts(medians, [statistics.median(wholes[k::SAMPLES]) for k in range(min(SAMPLES, steps))])


def jax_phases(case: Case) -> Parts:
    """Each phase compiled apart and fed what it gets in the middle of a game; the whole step as one."""
    import jax

    env, over = CoGridEnv(_endless(case.spec), "jax"), _over(case)
    state, actions = _middle(env, case, 1)
    joint = jax.device_put(actions[0])
    inputs = jax.jit(over(lambda *arguments: _inputs(env.rules, *arguments)))(state, joint)
    parts = {}
    for phase, function in _functions(env.rules).items():
        if phase in inputs:  # not every game has all
            parts[phase] = _compiled_seconds(over(function), inputs[phase]).median
    return Parts(parts, _compiled_seconds(over(env.jax_step), (state, joint)).seconds)


def _inputs(rules: Rules, state: EnvState, actions: Array) -> dict[str, tuple[Any, ...]]:
    """What the step hands to each of its phases, but for the rules."""
    seen: dict[str, tuple[Any, ...]] = {}

    def noted(phase: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(rules: Rules, *arguments: Any) -> Any:
            seen[phase] = arguments
            return function(rules, *arguments)

        return run

    woven(noted)(rules, state, actions)
    return seen


def _functions(rules: Rules) -> dict[str, Callable[..., Any]]:
    """The phases as functions of what is not constant."""
    found: dict[str, Callable[..., Any]] = {}

    def kept(phase: str, function: Callable[..., Any]) -> Callable[..., Any]:
        found[phase] = lambda *arguments: function(rules, *arguments)
        return function

    woven(kept)
    return found


def feature_parts(case: Case) -> Parts:
    """Each part of the flat observation alone, and the whole observation."""
    env = CoGridEnv(_endless(case.spec).override(observation="features"), case.backend)
    rules, parts = env.rules, env.spec.game.features()
    state, _ = _middle(env, case, 1)

    def took(function: Callable[[EnvState], Array]) -> Samples:
        if case.backend == "jax":
            return _compiled_seconds(_over(case)(function), (state,))
        return per_call(lambda: function(state), seconds=SECONDS)

    timed = {
        label: took(part.compile(rules)).median for label, part in zip(_labels(parts), parts, strict=True)
    }
    return Parts(timed, took(lambda state: observe(rules, state)).seconds)


def _labels(parts: tuple[Any, ...]) -> list[str]:
    """The names of the classes; numbered where one comes twice."""
    names = [type(part).__name__ for part in parts]
    often, seen = Counter(names), Counter[str]()
    labels = []
    for name in names:
        seen[name] += 1
        labels.append(f"{name} {seen[name]}" if often[name] > 1 else name)
    return labels


def _compiled_seconds(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Samples:
    import jax

    compiled = jax.jit(function).lower(*arguments).compile()
    return per_call(lambda: compiled(*arguments), seconds=SECONDS)


def _over(case: Case) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """What makes a function of one environment a function of so many."""
    import jax

    return (
        (lambda function: function) if case.mode.endswith("single") else lambda function: jax.vmap(function)
    )


def _endless(spec: Spec) -> Spec:
    return spec.override(max_steps=MAX_STEPS)


def _middle(env: CoGridEnv, case: Case, steps: int) -> tuple[EnvState, Array]:
    """A state in the middle of a game, single or a batch, and the actions of the next steps."""
    lanes = tape(env.spec, case.workload, MIDDLE + steps, case.lanes, case.seed)  # (steps, lanes, n)
    actions = lanes[:, 0] if case.mode.endswith("single") else spread(lanes, case.batch, axis=1)
    compiled = env.rules.backend.compiled
    step = compiled(env.step_fn)
    state, _ = compiled(env.reset_fn)(env.rules.backend.key(keys(case)))
    for joint in actions[:MIDDLE]:
        state = step(state, joint)[0]
    return state, actions[MIDDLE:]


@contextlib.contextmanager
def _profiling() -> Iterator[None]:
    """Environments made in here take their own time."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def profile(case: Case, plan: Plan) -> Measured:
    found = (numpy_phases if case.backend == "numpy" else jax_phases)(case)
    return Measured("s", found.wholes, parts=found.seconds)


def features(case: Case, plan: Plan) -> Measured:
    found = feature_parts(case)
    return Measured("s", found.wholes, parts=found.seconds)
