"""The worker of a suite: measures a case in a process of its own."""

from __future__ import annotations

import sys
from time import perf_counter
from typing import Any

import msgspec

from bench.measure.measures import measure
from bench.measure.plan import Plan
from bench.processes.protocol import serve
from bench.records import Measurement, ShadowCheck
from cogrid._core.step import Functions, functions
from cogrid._env.shadow import Shadow, ShadowReport, show_progress
from cogrid.backend.array import Array
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.clock import peak_memory
from cogrid.benchmarks.modes import CHECKED
from cogrid.benchmarks.workloads import spread, start_keys, tape
from cogrid.cogrid_env import CoGridEnv
from cogrid.envs.registry import adopt, is_own


def handle(request: dict[str, Any]) -> dict[str, Any]:
    case, plan = Case.of(request["case"]), Plan(**request["plan"])
    if is_own(case.id):  # its command has imported it, because a person named it
        adopt(case.id)
    if request["shadow"]:
        show_progress()
    answer: dict[str, Any] = msgspec.to_builtins(measured(case, plan, request["shadow"]))
    return answer


def measured(case: Case, plan: Plan, shadow: bool = False) -> Measurement:
    found = measure(case, plan)
    check = checked(case) if shadow and case.measure == "speed" else None
    wrong = check.first if check else None
    peaks = {"peak_rss_bytes": peak_memory(), "device_peak_bytes": _device_peak()}
    return Measurement(
        agents=case.spec.num_agents,
        status="mismatch" if wrong else "ok",
        error=f"{wrong}." if wrong else None,
        shadow=check,
        **found._replace(samples=[] if wrong else found.samples, memory={**found.memory, **peaks})._asdict(),
    )


def checked(case: Case) -> ShadowCheck:
    report = shadowed(case)
    return ShadowCheck(
        beside=report.shadow,
        comparisons=report.comparisons,
        mismatches=report.mismatches,
        ratio=report.ratio,
        first=None if report.first is None else str(report.first),
    )


def _device_peak() -> int | None:
    if jax := sys.modules.get("jax"):
        statistics = jax.devices()[0].memory_stats()  # None on a CPU
        return statistics["peak_bytes_in_use"] if statistics else None
    return None


def shadowed(case: Case) -> ShadowReport:
    """Play the case's tape in up to `CHECKED` environments, call by call, or for a scan as one chunk."""
    shadow, env = Shadow(case.spec, case.backend), CoGridEnv(case.spec, case.backend, shadow=False)
    batch = min(case.batch, CHECKED)
    keys = spread(start_keys(case.seed, case.lanes), batch)  # (B, 2)
    actions = spread(tape(case.spec, case.workload, case.steps, case.lanes, case.seed), batch, axis=1)
    if case.mode.endswith("single"):
        keys, actions = keys[0], actions[:, 0]
    start = env.rules.backend.key(keys)
    if case.mode == "jax-scan":
        _scan(shadow, env, start, actions)
        return shadow.report
    compiled = env.rules.backend.compiled
    reset, step, _, _ = shadow.watched(Functions(*[compiled(pure) for pure in functions(env.rules)]))
    state, _ = reset(start)
    for joint in actions:
        state, *_ = step(state, joint)
    return shadow.report


def _scan(shadow: Shadow, env: CoGridEnv, start: Array, actions: Array) -> None:
    """Two chunks in a row, because the first one compiles and is not timed."""
    import jax

    def one(carry: Any, joint: Array) -> Any:
        state, obs = carry
        state, seen, rewards, done, _ = env.jax_step(state, joint)
        return env.renew_fn(state, seen, done), (obs, rewards, done)

    play = jax.jit(lambda *inputs: jax.lax.scan(one, *inputs))
    carry = jax.jit(env.jax_reset)(start)
    for _ in range(2):
        first, began = carry[0], perf_counter()
        carry, (obs, rewards, done) = jax.block_until_ready(play(carry, actions))
        shadow.chunk(first, actions, obs, rewards, done, carry[0], perf_counter() - began)


if __name__ == "__main__":
    serve(handle)
