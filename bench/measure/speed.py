"""Speed: steps per second of a case, checked against NumPy before the clock starts."""

from __future__ import annotations

from collections.abc import Mapping

from bench.measure.counters import compiled_counters, numpy_counters
from bench.measure.plan import Measured, Plan
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.modes import Ready, bytes_per_environment, check, keys, ready, verbs_met
from cogrid.benchmarks.workloads import spread, tape
from cogrid.cogrid_env import CoGridEnv


def speed(case: Case, plan: Plan) -> Measured:
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
        verbs=verbs_met(case),
    )


def counters_of(case: Case, prepared: Ready) -> Mapping[str, int]:
    """The counters of the compiled pass, or of one NumPy step."""
    if prepared.compiled:
        return compiled_counters(prepared.traced, prepared.compiled)
    env = CoGridEnv(case.spec)
    actions = tape(case.spec, case.workload, 1, case.lanes, case.seed)[0]  # (lanes, n)
    single = case.mode == "numpy-single"
    joint = actions[0] if single else spread(actions, case.batch)
    return numpy_counters(env.step_fn, env.reset_fn(keys(case))[0], joint)
