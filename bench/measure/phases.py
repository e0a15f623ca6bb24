"""Phases: where the time of a step goes, phase by phase and feature by feature, on both backends."""

from __future__ import annotations

import contextlib
import math
import os
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from bench.measure.clock import Length, Pass, Samples, each_call
from bench.measure.plan import Measured, Plan
from cogrid._core.compile.spec import Spec
from cogrid._core.phases.phase import Events, Phase
from cogrid._core.profiling import COMMON, VARIABLE, timed_step, watched
from cogrid._core.rules import Rules
from cogrid._core.see.observation import observe
from cogrid._core.step import step
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState
from cogrid.benchmarks.case import MAX_STEPS, Case
from cogrid.benchmarks.modes import keys
from cogrid.benchmarks.workloads import spread, tape
from cogrid.cogrid_env import CoGridEnv

MIDDLE = 64  # steps after which a game is in full swing; --warmup overrides it
STEPS = 200  # of NumPy, of which means and medians are taken
WALL = "wall"  # the whole call, in addition to the phases

PLAN = Plan()


class Parts(NamedTuple):
    """Seconds of each part of a step, and of the whole step.

    NumPy's parts are timed within the whole, so their sum is smaller by the time between them. JAX's are
    compiled separately, so their sum may exceed the whole: the compiler fuses across phases.
    """

    seconds: Mapping[str, float]  # medians
    wholes: list[float]  # samples
    means: Mapping[str, float] = {}  # of the parts; of NumPy's whole under `WALL`, whose samples are medians

    @property
    def whole(self) -> float:
        return statistics.median(self.wholes)

    @property
    def total(self) -> float:
        return sum(self.seconds.values())

    @property
    def mean_total(self) -> float | None:
        return sum(self.means[name] for name in self.seconds) if self.means else None


def table(columns: Mapping[str, Parts]) -> list[list[str]]:
    """Rows for printing: a header, the parts of all columns, their sum (the step) and the whole call."""
    names = dict.fromkeys(name for parts in columns.values() for name in parts.seconds)
    found = list(columns.values())
    rows = [["", *(f"{title}\n{HEADER}" for title in columns)]]
    rows += [[name, *(_cell(p, p.seconds.get(name), p.means.get(name)) for p in found)] for name in names]
    rows.append(["step", *(_cell(p, p.total, p.mean_total) for p in found)])
    wholes = (_cell(p, p.whole, p.means.get(WALL, statistics.fmean(p.wholes))) for p in found)
    rows.append([WALL, *wholes])
    return rows


HEADER = "median µs   mean µs   step   wall"


def _cell(parts: Parts, median: float | None, mean: float | None) -> str:
    """Microseconds, and the shares of the medians: of the sum of the parts, and of the whole call."""
    if median is None:
        return ""
    shown = f"{mean * 1e6:.1f}" if mean is not None else "–"
    return f"{median * 1e6:9.1f} {shown:>9} {median / parts.total:6.0%} {median / parts.whole:6.0%}"


def numpy_phases(case: Case, plan: Plan = PLAN) -> Parts:
    """Phase times over `STEPS` or `iterations`: of `env.step` for one environment, else of a batch."""
    with _profiling():
        env = CoGridEnv(_endless(case.spec))
    steps = max(math.ceil(plan.iterations / case.batch), plan.samples) if plan.iterations else STEPS
    state, actions = _middle(env, case, plan, steps + 1)
    one = case.mode.endswith("single")
    turn, timing = _single(env, state, actions) if one else _batch(env.rules, state, actions)
    return _timed_parts(turn, timing, steps, plan.samples)


Turn = Callable[[], Any]
Timing = Callable[[], Mapping[str, int]]


def _single(env: CoGridEnv, state: EnvState, actions: Array) -> tuple[Turn, Timing]:
    env.set_state(state)
    turns = iter([dict(enumerate(joint.tolist())) for joint in actions])
    return lambda: env.step(next(turns)), lambda: env.step_timing or {}


def _batch(rules: Rules, state: EnvState, actions: Array) -> tuple[Turn, Timing]:
    timed, timing = timed_step(rules)
    turns = iter(actions)

    def turn() -> None:
        nonlocal state
        state = timed(rules, state, next(turns))[0]

    return turn, lambda: timing


def _timed_parts(turn: Turn, timing: Timing, steps: int, samples: int) -> Parts:
    """Medians, which are robust against another process taking the core in a few of the steps."""
    taken: dict[str, list[int]] = {name: [] for name in COMMON}

    def note() -> None:
        for name, nanoseconds in timing().items():
            taken.setdefault(name, []).append(nanoseconds)

    # Recorded before the next step, untimed; the first step warms up, and has none before it to record.
    wholes = each_call(Pass(turn, note), steps, warmup=Length(0.0, 1))
    note()
    medians = {name: statistics.median(times[-steps:]) / 1e9 for name, times in taken.items()}
    means = {name: statistics.fmean(times[-steps:]) / 1e9 for name, times in taken.items()}
    means[WALL] = statistics.fmean(wholes)
    count = min(samples, steps)
    return Parts(medians, [statistics.median(wholes[k::count]) for k in range(count)], means)


def jax_phases(case: Case, plan: Plan = PLAN) -> Parts:
    """Each phase compiled separately, with its inputs from the middle of a game; and the whole step."""
    import jax

    env, over = CoGridEnv(_endless(case.spec), "jax"), _over(case)
    state, actions = _middle(env, case, plan, 1)
    joint = jax.device_put(actions[0])
    inputs = jax.jit(over(lambda *arguments: _inputs(env.rules, *arguments)))(state, joint)
    parts = {}
    for part, function in _functions(env.rules).items():
        parts[part] = _compiled_seconds(over(function), inputs[part], case, plan)
    return _sampled(parts, _compiled_seconds(over(env.jax_step), (state, joint), case, plan))


def _inputs(rules: Rules, state: EnvState, actions: Array) -> dict[str, tuple[Any, ...]]:
    """What the step passes to each of its parts, without the rules; events as fields, for JAX."""
    seen: dict[str, tuple[Any, ...]] = {}

    def noted(name: str, part: Callable[..., Any]) -> Callable[..., Any]:
        def run(rules: Rules, *arguments: Any) -> Any:
            seen[name] = tuple(vars(a) if isinstance(a, Events) else a for a in arguments)
            return part(rules, *arguments)

        return run

    step(rules, state, actions, watched=watched(rules, noted))
    return seen


def _functions(rules: Rules) -> dict[str, Callable[..., Any]]:
    """The parts of the step as functions of such arguments; of the events they return what has changed."""

    def of_fields(phase: Phase) -> Callable[..., Any]:
        def run(state: EnvState, fields: Mapping[str, Array]) -> Any:
            state, events = phase(rules, state, Events(**fields))
            return state, {name: new for name, new in vars(events).items() if new is not fields[name]}

        return run

    phases = {phase.name: of_fields(phase) for phase in rules.phases}
    return phases | {"observe": lambda state: observe(rules, state)}


def feature_parts(case: Case, plan: Plan = PLAN) -> Parts:
    """Each part of the flat observation alone, and the whole observation."""
    env = CoGridEnv(_endless(case.spec).override(observation="features"), case.backend)
    rules, parts = env.rules, env.spec.game.features()
    state, _ = _middle(env, case, plan, 1)

    def took(function: Callable[[EnvState], Array]) -> Samples:
        if case.backend == "jax":
            return _compiled_seconds(_over(case)(function), (state,), case, plan)
        return plan.take(Pass(lambda: function(state)), case.batch)

    timed = {label: took(part.compile(rules)) for label, part in zip(_labels(parts), parts, strict=True)}
    return _sampled(timed, took(lambda state: observe(rules, state)))


def _sampled(parts: Mapping[str, Samples], whole: Samples) -> Parts:
    medians = {name: taken.median for name, taken in parts.items()}
    means = {name: statistics.fmean(taken.seconds) for name, taken in parts.items()}
    return Parts(medians, whole.seconds, means)


def _labels(parts: tuple[Any, ...]) -> list[str]:
    """The names of the classes, numbered if one occurs twice."""
    names = [type(part).__name__ for part in parts]
    often, seen = Counter(names), Counter[str]()
    labels = []
    for name in names:
        seen[name] += 1
        labels.append(f"{name} {seen[name]}" if often[name] > 1 else name)
    return labels


def _compiled_seconds(
    function: Callable[..., Any], arguments: tuple[Any, ...], case: Case, plan: Plan
) -> Samples:
    import jax

    compiled = jax.jit(function).lower(*arguments).compile()
    return plan.take(Pass(lambda: compiled(*arguments)), case.batch)


def _over(case: Case) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Turns a function of one environment into one of the case's batch."""
    import jax

    return (
        (lambda function: function) if case.mode.endswith("single") else lambda function: jax.vmap(function)
    )


def _endless(spec: Spec) -> Spec:
    return spec.override(max_steps=MAX_STEPS)


def _middle(env: CoGridEnv, case: Case, plan: Plan, steps: int) -> tuple[EnvState, Array]:
    """A state in the middle of a game, single or a batch, and the actions of the next steps."""
    before = plan.warmup_iterations or MIDDLE
    lanes = tape(env.spec, case.workload, before + steps, case.lanes, case.seed)  # (steps, lanes, n)
    actions = lanes[:, 0] if case.mode.endswith("single") else spread(lanes, case.batch, axis=1)
    compiled = env.rules.backend.compiled
    step = compiled(env.step_fn)
    state, _ = compiled(env.reset_fn)(env.rules.backend.key(keys(case)))
    for joint in actions[:before]:
        state = step(state, joint)[0]
    return state, actions[before:]


@contextlib.contextmanager
def _profiling() -> Iterator[None]:
    """Environments made in this block time their phases."""
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
    found = (numpy_phases if case.backend == "numpy" else jax_phases)(case, plan)
    return Measured("s", found.wholes, parts=found.seconds, part_means=found.means)


def features(case: Case, plan: Plan) -> Measured:
    found = feature_parts(case, plan)
    return Measured("s", found.wholes, parts=found.seconds, part_means=found.means)
