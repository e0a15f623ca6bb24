"""Measures: what can be measured of a case, from speed to the parts of a step, each with its samples."""

from __future__ import annotations

import functools
import itertools
import json
import math
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from cogrid.benchmarks import clock, phases
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.clock import Pass
from cogrid.benchmarks.counters import compiled_counters, numpy_counters
from cogrid.benchmarks.modes import Ready, bytes_per_environment, check, jax_start, keys, ready
from cogrid.benchmarks.workloads import spread, tape
from cogrid.cogrid_env import CoGridEnv

LATENCY_STEPS = 2000


class Plan(NamedTuple):
    """How many samples of which length, after which warm-up; an iteration is a step of one environment."""

    samples: int = 10
    seconds: float = clock.SAMPLE_SECONDS
    warmup: float = clock.WARMUP_SECONDS
    iterations: int = 0
    warmup_iterations: int = 0

    def take(self, work: Pass, steps: int) -> clock.Samples:
        """Samples of a pass that makes so many steps, each as long as asked for in seconds and in steps."""
        length = clock.Length(self.seconds, math.ceil(self.iterations / steps))
        warmup = clock.Length(self.warmup, math.ceil(self.warmup_iterations / steps))
        return clock.take(work, self.samples, length, warmup)


class Measured(NamedTuple):
    """The samples and all that stands beside them."""

    unit: str
    samples: list[float]
    counters: Mapping[str, int] = {}
    memory: Mapping[str, int | None] = {}
    noise: Mapping[str, float] = {}
    checksum: str | None = None
    parts: Mapping[str, float] = {}


Measure = Callable[[Case, Plan], Measured]


def measure(case: Case, plan: Plan, also: Mapping[str, Measure] = MappingProxyType({})) -> Measured:
    """Do what the case says; raises what goes wrong. `also` are measures of others, by name: training."""
    measured: Measured
    how = {**_MEASURES, **also}[case.measure]
    measured, noise = clock.noted(lambda: how(case, plan))
    return measured if measured.noise else measured._replace(noise=noise)


def _speed(case: Case, plan: Plan) -> Measured:
    """Steps per second, over the batch; the first pass is checked against NumPy and not timed."""
    prepared = ready(case)
    end = prepared.end(prepared.work.once())
    digest, memory = check(case, prepared, end), bytes_per_environment(case, end)
    del end
    steps = case.steps * case.batch
    taken = plan.take(prepared.work, steps)
    return Measured(
        unit="steps/s",
        samples=[steps / seconds for seconds in taken.seconds],
        counters=counters_of(case, prepared),
        memory=memory,
        noise=taken.noise(),
        checksum=digest,
    )


def counters_of(case: Case, prepared: Ready) -> Mapping[str, int]:
    """Those of the compiled pass, or of one NumPy step."""
    if prepared.compiled:
        return compiled_counters(prepared.traced, prepared.compiled)
    env = CoGridEnv(case.spec)
    actions = tape(case.spec, case.workload, 1, case.lanes, case.seed)[0]  # (lanes, n)
    single = case.mode == "numpy-single"
    joint = actions[0] if single else spread(actions, case.batch)
    return numpy_counters(env.step_fn, env.reset_fn(keys(case))[0], joint)


def _latency(case: Case, plan: Plan) -> Measured:
    """Seconds of single steps of the interactive loop: `env.step`, NumPy values in and out."""
    env = CoGridEnv(case.spec, case.backend)
    env.reset(seed=case.seed)
    actions = tape(case.spec, case.workload, case.steps, 1, case.seed)[:, 0]
    turns = itertools.cycle([dict(enumerate(joint.tolist())) for joint in actions])
    work = Pass(lambda: env.step(next(turns)), transfers=True)
    work.once()  # compiles
    return Measured("s", clock.each_call(work, LATENCY_STEPS))


def _reset(case: Case, plan: Plan) -> Measured:
    """Seconds of a reset of the batch, with its first observation."""
    env = CoGridEnv(case.spec, case.backend)
    start, begin = env.rules.backend.key(keys(case)), env.reset_fn
    if case.backend == "jax":
        import jax

        begin = jax.jit(begin).lower(start).compile()
    work = Pass(lambda: begin(start))
    taken = plan.take(work, case.batch)
    return Measured("s", taken.seconds, noise=taken.noise())


def _create(case: Case, plan: Plan) -> Measured:
    """Seconds of the first `make` of a process, its tables included."""
    before = "import cogrid, jax; jax.devices()" if case.backend == "jax" else "import cogrid"
    make = f"cogrid.make({case.id!r}, backend={case.backend!r}, **json.loads(sys.argv[1]))"
    return _in_fresh_processes(plan, before, make, json.dumps(dict(case.options)))


def _import(case: Case, plan: Plan) -> Measured:
    """Seconds of the first import in a process."""
    return _in_fresh_processes(plan, "", "import cogrid, jax" if case.backend == "jax" else "import cogrid")


def _in_fresh_processes(plan: Plan, before: str, timed: str, *arguments: str) -> Measured:
    program = "\n".join(
        [
            "import json, sys, time",
            before,
            "start = time.perf_counter()",
            timed,
            "print(time.perf_counter() - start)",
        ]
    )
    command = [sys.executable, "-c", program, *arguments]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(plan.samples)]
    return Measured("s", [float(run.stdout) for run in runs])


def _compile(case: Case, plan: Plan) -> Measured:
    """Seconds of tracing, lowering and compiling the step, one after the other."""
    import jax

    if jax.config.jax_enable_compilation_cache and jax.config.jax_compilation_cache_dir:
        raise ValueError(
            "compilation is measured without a persistent cache: start with JAX_ENABLE_COMPILATION_CACHE=0."
        )
    over = jax.vmap if case.batch > 1 else lambda function: function
    env = CoGridEnv(case.spec, case.backend)
    state = jax_start(case, env, over)
    actions = jax.numpy.zeros(state.pos.shape, np.int8)
    parts: dict[str, list[float]] = {"trace": [], "lower": [], "compile": []}
    for _ in range(plan.samples):
        jax.clear_caches()
        stage: Any = None
        for name, go in (
            ("trace", lambda _: jax.jit(over(env.jax_step)).trace(state, actions)),
            ("lower", lambda traced: traced.lower()),
            ("compile", lambda lowered: lowered.compile()),
        ):
            seconds, stage = clock.timed(functools.partial(go, stage))
            parts[name].append(seconds)
    medians = {name: statistics.median(times) for name, times in parts.items()}
    return Measured("s", [sum(times) for times in zip(*parts.values(), strict=True)], parts=medians)


def _profile(case: Case, plan: Plan) -> Measured:
    """Seconds of a step, in one piece and by phases."""
    batch = None if case.mode.endswith("single") else case.batch
    how = phases.numpy_phases if case.backend == "numpy" else phases.jax_phases
    found = how(case.spec, batch, workload=case.workload, seed=case.seed)
    return Measured("s", found.wholes, parts=found.seconds)


def _features(case: Case, plan: Plan) -> Measured:
    """Seconds of the flat observation, in one piece and by its parts."""
    batch = None if case.mode.endswith("single") else case.batch
    found = phases.feature_parts(case.spec, case.backend, batch, workload=case.workload, seed=case.seed)
    return Measured("s", found.wholes, parts=found.seconds)


_MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        "speed": _speed,
        "latency": _latency,
        "reset": _reset,
        "create": _create,
        "import": _import,
        "compile": _compile,
        "profile": _profile,
        "features": _features,
    }
)
