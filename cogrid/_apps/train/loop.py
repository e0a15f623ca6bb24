"""The training loop: chunk by chunk on any number of devices, with a checkpoint after each."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from cogrid import distributed
from cogrid._apps.train import checkpoints
from cogrid._apps.train.checkpoints import CHECKPOINT, Checkpoint, History
from cogrid._apps.train.learner import Learner, Log, Recorded, Run
from cogrid._apps.train.options import Options
from cogrid._apps.train.progress import TrainingProgress
from cogrid._apps.train.speeds import SpeedLog
from cogrid._env.shadow import Shadow, ShadowReport
from cogrid._scale.placement import Placement, place
from cogrid.backend.array import Array

RECORDED = 8  # environments of every seed whose steps are replayed on NumPy under a shadow


def train(
    options: Options, out: Path, checkpoint: Checkpoint | None = None, shadow: Shadow | None = None
) -> tuple[Run, History]:
    """Run the remaining chunks, with a checkpoint after each; a shadow replays a part of them."""
    started = time.perf_counter()
    placement = place(options.devices, options.num_envs)
    learner = Learner(options, min(RECORDED, options.num_envs // options.sharing) if shadow else 0)
    shardings = Run(*(jax.sharding.NamedSharding(placement.mesh, spec) for spec in specs(learner)[0]))
    begin = jax.jit(over_seeds(learner.begin), out_shardings=shardings)
    if checkpoint:
        history, run = (
            checkpoint.history,
            checkpoints.restore(checkpoint, jax.eval_shape(begin, seeds(options))),
        )
        run = jax.device_put(run, shardings)
    else:
        history, run = History([], 0.0), begin(seeds(options))
    chunk, before = jax.jit(chunk_on(placement, learner), donate_argnums=0), history.shadow
    speeds = SpeedLog(out, options, len(history.scores))
    with TrainingProgress(options) as progress:
        for done in range(len(history.scores), options.updates // options.chunk):
            progress.start(done)
            began = time.perf_counter()
            run, log = jax.block_until_ready(chunk(run))
            seconds = time.perf_counter() - began
            _refuse_divergence(run, done)
            if shadow:
                replay_on_numpy(shadow, log.recorded)
            now = time.perf_counter()
            scores = [*history.scores, np.asarray(log.score).mean(axis=1).tolist()]
            history = History(scores, history.seconds + now - started, combined(before, shadow))
            started = now
            speeds.add(done + 1, seconds, scores[-1])  # first: a resume cuts what no checkpoint has
            checkpoints.save(out / CHECKPOINT, options, run, history)
            progress.finish(done + 1, scores[-1])
    return run, history


def _refuse_divergence(run: Run, done: int) -> None:
    """Raise an error if weights are NaN or infinite: such a network cannot learn or play."""
    shards = [shard.data for leaf in jax.tree.leaves(run.network) for shard in leaf.addressable_shards]
    if not all(np.isfinite(shard).all() for shard in shards):
        kept = f"the checkpoint after {done} chunks is kept" if done else "there is no checkpoint yet"
        raise FloatingPointError(
            f"the weights have become NaN or infinite; {kept}: try a lower --learning-rate."
        )


def seeds(options: Options) -> Array:
    """(seeds,) consecutive numbers from `first_seed` on."""
    return jnp.arange(options.first_seed, options.first_seed + options.seeds)


def combined(before: ShadowReport | None, shadow: Shadow | None) -> ShadowReport | None:
    """The combined report of all shadows, including those before the run was resumed."""
    if not before or not shadow:
        return shadow.report if shadow else before
    now = shadow.report
    return dataclasses.replace(
        now,
        comparisons=before.comparisons + now.comparisons,
        mismatches=before.mismatches + now.mismatches,
        first=before.first or now.first,
    )


def specs(learner: Learner) -> tuple[Run, Log]:
    """The shardings of a run and its log, seeds leading: by seeds, or by environments.

    Environments are on the devices that play them, and everything else is replicated.
    """
    by_seed, whole = Placement.spec(0), jax.sharding.PartitionSpec()
    if learner.options.sharing == 1:
        recorded = Recorded(*[by_seed] * 6) if learner.recorded else None
        return Run(*[by_seed] * 7), Log(by_seed, by_seed, recorded)
    envs, state, steps = (Placement.spec(axis) for axis in (1, 2, 3))  # logs have (seeds, updates, T, B, …)
    recorded = Recorded(state, steps, steps, steps, steps, state) if learner.recorded else None
    return Run(whole, whole, whole, whole, envs, envs, envs), Log(whole, whole, recorded)


def chunk_on(placement: Placement, learner: Learner) -> Callable[[Run], tuple[Run, Log]]:
    """A chunk, each device with its own seeds or environments; if they share seeds, they exchange means."""
    run, log = specs(learner)
    return placement.on_each(over_seeds(learner.chunk), (run,), (run, log))


def over_seeds(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of one seed applied to all: vectorised, or on a CPU one after the other.

    A CPU multiplies the small matrices of several seeds together at half the speed of single ones.
    """
    return partial(jax.lax.map, function) if jax.default_backend() == "cpu" else jax.vmap(function)


def replay_on_numpy(shadow: Shadow, recorded: Recorded | None) -> None:
    """Replay every update's steps, all seeds as one batch; arrays are (seeds, updates, …)."""
    gathered: Recorded = distributed.gather(recorded)

    def at(update: int, part: Any, axis: int) -> Any:
        return jax.tree.map(lambda x: np.concatenate(np.asarray(x)[:, update], axis), part)

    for update in range(gathered.done.shape[1]):
        # Of states (S, B, …) -> (S·B, …), of the others (S, T, B, …) -> (T, S·B, …)
        parts = gathered._asdict().items()
        shadow.chunk(**{name: at(update, part, int(name not in ("first", "last"))) for name, part in parts})
