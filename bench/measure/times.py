"""Times: of single steps, resets, the first environment, imports and compilation."""

from __future__ import annotations

import functools
import itertools
import json
import statistics
import subprocess
import sys
from typing import Any

import numpy as np

from bench.measure import clock
from bench.measure.plan import Measured, Plan
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.clock import Pass
from cogrid.benchmarks.modes import jax_start, keys
from cogrid.benchmarks.workloads import tape
from cogrid.cogrid_env import CoGridEnv

LATENCY_STEPS = 2000


def latency(case: Case, plan: Plan) -> Measured:
    """Seconds of single steps of the interactive loop: `env.step`, NumPy values in and out."""
    env = CoGridEnv(case.spec, case.backend)
    env.reset(seed=case.seed)
    actions = tape(case.spec, case.workload, case.steps, 1, case.seed)[:, 0]
    turns = itertools.cycle([dict(enumerate(joint.tolist())) for joint in actions])
    work = Pass(lambda: env.step(next(turns)), transfers=True)
    work.once()  # compiles
    return Measured("s", clock.each_call(work, LATENCY_STEPS))


def reset(case: Case, plan: Plan) -> Measured:
    """Seconds of a reset of the batch, with its first observation."""
    env = CoGridEnv(case.spec, case.backend)
    start, begin = env.rules.backend.key(keys(case)), env.reset_fn
    if case.backend == "jax":
        import jax

        begin = jax.jit(begin).lower(start).compile()
    work = Pass(lambda: begin(start))
    taken = plan.take(work, case.batch)
    return Measured("s", taken.seconds, noise=taken.noise())


def create(case: Case, plan: Plan) -> Measured:
    """Seconds of the first `make` of a process, its tables included."""
    before = "import cogrid, jax; jax.devices()" if case.backend == "jax" else "import cogrid"
    make = f"cogrid.make({case.id!r}, backend={case.backend!r}, **json.loads(sys.argv[1]))"
    return _in_fresh_processes(plan, before, make, json.dumps(dict(case.options)))


def import_(case: Case, plan: Plan) -> Measured:
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


def compile_(case: Case, plan: Plan) -> Measured:
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
