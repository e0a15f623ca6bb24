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
from cogrid.backend.array import Array
from cogrid.placement import Placement, place
from cogrid.shadow import Shadow, ShadowReport
from cogrid.train import checkpoints
from cogrid.train.checkpoints import CHECKPOINT, Checkpoint, History
from cogrid.train.learner import Learner, Log, Recorded, Run
from cogrid.train.options import Options
from cogrid.train.progress import TrainingProgress

RECORDED = 8  # environments of every seed whose steps are replayed on NumPy under a shadow


def train(
    options: Options, out: Path, checkpoint: Checkpoint | None = None, shadow: Shadow | None = None
) -> tuple[Run, History]:
    """Run all chunks that are left, with a checkpoint after each; a shadow replays a part of them."""
    started = time.perf_counter()
    there = place(options.devices, options.num_envs)
    learner = Learner(options, min(RECORDED, there.size) if shadow else 0)
    begin = jax.jit(over_seeds(learner.begin), out_shardings=_shardings(there))
    if checkpoint:
        history, run = (
            checkpoint.history,
            checkpoints.restore(checkpoint, jax.eval_shape(begin, seeds(options))),
        )
        run = jax.device_put(run, _shardings(there))
    else:
        history, run = History([], 0.0), begin(seeds(options))
    chunk, before = jax.jit(chunk_on(there, learner), donate_argnums=0), history.shadow
    with TrainingProgress(options) as progress:
        for done in range(len(history.scores), options.updates // options.chunk):
            progress.start(done)
            run, log = jax.block_until_ready(chunk(run))
            _refuse_divergence(run, done)
            if shadow:
                replay_on_numpy(shadow, log.recorded)
            now = time.perf_counter()
            scores = [*history.scores, np.asarray(log.score).mean(axis=1).tolist()]
            history = History(scores, history.seconds + now - started, combined(before, shadow))
            started = now
            checkpoints.save(out / CHECKPOINT, options, run, history)
            progress.finish(done + 1, scores[-1])
    return run, history


def _refuse_divergence(run: Run, done: int) -> None:
    """A network of NaN or infinity learns nothing more, and nobody can play with it."""
    leaves = [leaf.addressable_data(0) for leaf in jax.tree.leaves(run.network)]
    if not all(np.isfinite(leaf).all() for leaf in leaves):
        kept = f"the checkpoint after {done} chunks is kept" if done else "there is no checkpoint yet"
        raise FloatingPointError(
            f"the weights have become NaN or infinite; {kept}: try a lower --learning-rate."
        )


def seeds(options: Options) -> Array:
    """(seeds,) their numbers."""
    return jnp.arange(options.first_seed, options.first_seed + options.seeds)


def combined(before: ShadowReport | None, shadow: Shadow | None) -> ShadowReport | None:
    """What shadows have seen in all, including before the run was resumed."""
    if not before or not shadow:
        return shadow.report if shadow else before
    now = shadow.report
    return dataclasses.replace(
        now,
        comparisons=before.comparisons + now.comparisons,
        mismatches=before.mismatches + now.mismatches,
        first=before.first or now.first,
    )


def _shardings(there: Placement) -> Run:
    """Where a run lies, seeds leading: environments on the devices that play them, the rest on all."""
    everywhere, spread = there.everywhere(), there.spread(1)
    return Run(everywhere, everywhere, everywhere, everywhere, spread, spread)


def chunk_on(there: Placement, learner: Learner) -> Callable[[Run], tuple[Run, Log]]:
    """Every device plays its own environments; only means are exchanged."""
    whole = jax.sharding.PartitionSpec()
    run = Run(whole, whole, whole, whole, there.spec(1), there.spec(1))
    state, steps = there.spec(2), there.spec(3)  # (seeds, updates, B, …) and (seeds, updates, T, B, …)
    log = Log(whole, whole, Recorded(state, steps, steps, steps, steps, state) if learner.recorded else None)
    return there.on_each(over_seeds(learner.chunk), (run,), (run, log))


def over_seeds(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function of one seed for all of them: side by side, or on a CPU one after the other.

    A CPU multiplies the small matrices of several seeds together at half the speed of those of one.
    """
    return partial(jax.lax.map, function) if jax.default_backend() == "cpu" else jax.vmap(function)


def replay_on_numpy(shadow: Shadow, recorded: Recorded | None) -> None:
    """Play every update's steps again, all seeds as one batch; arrays come as (seeds, updates, …)."""
    gathered: Recorded = distributed.gather(recorded)

    def at(update: int, part: Any, axis: int) -> Any:
        return jax.tree.map(lambda x: np.concatenate(np.asarray(x)[:, update], axis), part)

    for update in range(gathered.done.shape[1]):
        # Of states (S, B, …) -> (S·B, …), of the others (S, T, B, …) -> (T, S·B, …)
        parts = gathered._asdict().items()
        shadow.chunk(**{name: at(update, part, int(name not in ("first", "last"))) for name, part in parts})
