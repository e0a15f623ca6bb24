"""Training: an update of the learner in cogrid._apps.train as a pass, and the environment's share of it."""

from __future__ import annotations

import math
import statistics
from importlib.util import find_spec
from typing import Any, NamedTuple

from bench.measure.counters import compiled_counters
from bench.measure.plan import Measured, Plan
from cogrid.backend.array import Array
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.clock import Pass
from cogrid.benchmarks.modes import Mismatch

NEEDS = ("optax", "equinox", "matplotlib", "rich")  # in addition to JAX


def missing() -> list[str]:
    """The learner's dependencies that are not installed."""
    return [name for name in NEEDS if find_spec(name) is None]


class Update(NamedTuple):
    """One update of a learner, from the same start each time."""

    learner: Any
    run: Any  # the beginning
    work: Pass  # its `run` returns the run after the update
    traced: Any
    compiled: Any

    @property
    def counters(self) -> dict[str, int]:
        return dict(compiled_counters(self.traced, self.compiled))


def ready(case: Case) -> Update:
    import jax

    learner = _learner(case)
    run = jax.jit(learner.begin)(jax.numpy.int32(case.seed))
    traced = jax.jit(lambda run: learner.update(run, None)[0]).trace(run)
    compiled = traced.lower().compile()
    return Update(learner, run, Pass(lambda: compiled(run)), traced, compiled)


def _learner(case: Case, recorded: int = 0) -> Any:
    """The learner as users have it, with the case's sizes and one seed."""
    from cogrid._apps.train.learner import Learner  # optional: it needs the extra `train`
    from cogrid._apps.train.options import Options

    options = Options(
        id=case.id,
        observation=case.spec.observation,
        steps=case.steps * case.batch,
        seeds=1,
        num_envs=case.batch,
        num_steps=case.steps,
        chunk=1,
        minibatches=math.gcd(Options.minibatches, case.batch),
    )
    return Learner(options, recorded)


def check(case: Case, update: Update) -> None:
    """Raise a Mismatch if NumPy plays the update's steps differently, or the timed update ends differently.

    The game has no checksum: it depends on the learner's floats, which any change of the learner may alter.
    """
    import jax

    learner = _learner(case, recorded=case.batch)
    recorded = jax.jit(learner.update)(update.run, None)[1].recorded
    from cogrid._env.shadow import Shadow  # an older revision may not have it

    shadow = Shadow(learner.env.spec, "jax")
    shadow.chunk(**recorded._replace(last=update.work.once().state)._asdict())
    if shadow.report.first:
        raise Mismatch(f"{shadow.report.first}.")


def train(case: Case, plan: Plan) -> Measured:
    """Environment steps of training per second, and the environment's part of the time of an update."""
    update = ready(case)
    check(case, update)
    steps = case.steps * case.batch
    taken, alone = (plan.take(work, steps) for work in (update.work, _environment(update)))
    return Measured(
        unit="steps/s",
        samples=[steps / seconds for seconds in taken.seconds],
        counters=update.counters,
        noise=taken.noise(),
        parts={"update": statistics.median(taken.seconds), "environment": statistics.median(alone.seconds)},
    )


def _environment(update: Update) -> Pass:
    """The same steps without the learner: stepping, observing, automatic reset, and writing all results."""
    import jax

    env = update.learner.env

    def one(carry: tuple[Any, Array], joint: Array) -> Any:
        state, obs = carry
        state, seen, rewards, done, infos = env.jax_step(state, joint)
        return env.renew_fn(state, seen, done), (obs, rewards, done, update.learner.score(infos))

    run = update.run
    play = jax.jit(update.learner.play)
    actions = play(run.network, run.state, run.obs, jax.random.key(0))[2].actions
    start = (run.state, run.obs)
    compiled = jax.jit(lambda *inputs: jax.lax.scan(one, *inputs)).lower(start, actions).compile()
    return Pass(lambda: compiled(start, actions))
