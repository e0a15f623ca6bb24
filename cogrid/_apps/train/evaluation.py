"""Evaluation of trained policies, and the output files of a run."""

from __future__ import annotations

import dataclasses
import json
import platform
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

import cogrid
from cogrid._apps.train.checkpoints import CHECKPOINT, History
from cogrid._apps.train.loop import over_seeds
from cogrid._apps.train.network import Network, Sight
from cogrid._apps.train.options import Options, environment, scored, scored_environment
from cogrid._io import files
from cogrid._io.messages import several
from cogrid._io.reading import as_settings
from cogrid.backend import rng
from cogrid.backend.array import Array
from cogrid.policies import policy_file
from cogrid.policies.policy_file import PolicyFile
from cogrid.replay import tapes
from cogrid.replay.recording import record
from cogrid.replay.tapes import Tapes

TAPES = "tapes.npz"
EPISODES = 100  # of every seed, for the score


def evaluate(options: Options, networks: Network) -> tuple[Array, Array]:
    """Play episodes with the final policies: points (seeds, episodes), actions (seeds, T, episodes, n).

    Episode i starts with seed i, and actions are sampled as in training. Points are the mean over the agents.
    """
    env = scored_environment(options, "jax")
    sight = Sight(environment(options).rules)  # as in training
    starts = jnp.stack([rng.key(seed) for seed in range(EPISODES)])
    nothing = jnp.zeros((EPISODES, env.spec.num_agents, options.memory)) if options.memory else None

    def play(network: Network, key: Array) -> tuple[Array, Array]:
        def one(carry: tuple[Any, Array, Array | None, Array], key: Array) -> tuple[Any, Array]:
            state, obs, memory, points = carry
            logits, _, memory = network(sight(obs), memory)
            actions = jax.random.categorical(key, logits)
            state, obs, rewards, _, _ = env.jax_step(state, actions)
            return (
                state,
                obs,
                memory,
                points + rewards.mean(axis=-1),
            ), actions  # summed in the same order as for tapes

        keys = jax.random.split(key, env.spec.max_steps)
        start = (*env.jax_reset(starts), nothing, jnp.zeros(EPISODES))
        (*_, points), actions = jax.lax.scan(one, start, keys)
        return points, actions

    keys = jax.random.split(jax.random.key(0), options.seeds)
    points, actions = jax.jit(over_seeds(lambda both: play(*both)))((networks, keys))
    return np.asarray(points), np.asarray(actions)


def random_play(options: Options) -> Array:
    """(episodes,) points of random play in the episodes of `evaluate`, for comparison."""
    env, draw = scored_environment(options, "numpy"), np.random.default_rng(0)
    state, _ = env.reset_fn(np.stack([rng.key(seed) for seed in range(EPISODES)]))
    points = np.zeros(EPISODES)
    for _ in range(env.spec.max_steps):
        actions = draw.integers(env.rules.n_actions, size=(EPISODES, env.spec.num_agents))
        state, _, rewards, done, _ = env.step_fn(state, actions)
        points += rewards.mean(axis=-1)
        if done.all():
            break
    return points


def learned(points: Array, random: Array) -> Array:
    """(seeds,) whether each gained over random play a tenth of what the best gained, and not by chance."""
    gained = points.mean(axis=1) - random.mean()
    return gained > max(0.1 * gained.max(), 2 * random.std() / np.sqrt(len(random)))


def finish(options: Options, out: Path, networks: Network, history: History) -> None:
    """Evaluate, write all files, and print the scores."""
    points, actions = evaluate(options, networks)
    random = random_play(options)
    results = _results(options, history, points, random)
    files.write(out / "results.json", json.dumps(results, indent=1) + "\n")
    _write_plot(out / "curve.png", options, history)
    _write_replay(out / "episode.replay.json.gz", options, points, actions)
    tapes.save(out / TAPES, Tapes(options.id, np.moveaxis(actions, 1, 2), points, scored(options)))
    written = [_write_policy(out, options, networks, points, member) for member in range(options.seeds)]
    score, best = results["score"], results["score"]["best_seed"] - options.first_seed
    for member, (name, mean, deviation) in enumerate(
        zip(written, score["by_seed"], score["deviation_by_seed"], strict=True)
    ):
        said = ", the best" if member == best and options.seeds > 1 else ""
        print(f"{name}: {mean:.1f} ± {deviation:.1f} points per episode{said}")
    chosen = f" with {as_settings(scored(options))}" if scored(options) else ""
    print(
        f"{options.id}{chosen}: mean return {score['mean']:.1f} in {EPISODES} episodes of each seed, "
        f"after {results['steps']:,} steps of each and {history.seconds / 60:.1f} minutes in all"
    )
    if not points.any() and not random.any():
        print(
            "No episode scored anything: random play may never reach a reward. `python -m cogrid check` "
            "counts what happens in it; train longer, or add a shaping term for the steps that lead to it."
        )
    elif failed := score["not_learned"]:
        which = "No seed learned" if len(failed) == options.seeds else f"Not learned by {_seeds(failed)}"
        print(
            f"{which}: random play scores {score['random']:.1f}. "
            "Train longer (--steps) or with other seeds (--first-seed); the learning curves are in curve.png."
        )
    others = ("results.json", "curve.png", "episode.replay.json.gz", TAPES, CHECKPOINT)
    print(f"{out}: {', '.join((*others, *written))}")


def _seeds(numbers: list[int]) -> str:
    return f"seed{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


def _results(options: Options, history: History, points: Array, random: Array) -> dict[str, Any]:
    """All numbers of the run."""
    means, steps = points.mean(axis=1), options.updates * options.num_envs * options.num_steps
    return {
        "options": dataclasses.asdict(options),
        "versions": {
            "python": platform.python_version(),
            "cogrid": cogrid.__version__,
            "jax": jax.__version__,
        },
        "steps": steps,  # of each seed
        "training_seconds": round(history.seconds, 1),
        "steps_per_second": round(steps * options.seeds / history.seconds, 1),  # compilation included
        "shadow": history.shadow
        and {"comparisons": history.shadow.comparisons, "mismatches": history.shadow.mismatches},
        "episodes": EPISODES,  # of each seed
        "score": {
            "mean": float(means.mean()),
            "by_seed": means.tolist(),
            "deviation_by_seed": points.std(axis=1).tolist(),  # over the episodes
            "random": float(random.mean()),
            "best_seed": options.first_seed + int(means.argmax()),
            "not_learned": (options.first_seed + np.flatnonzero(~learned(points, random))).tolist(),
        },
        "curve": np.round(history.scores, 2).tolist(),  # (chunks, seeds)
    }


def _write_policy(out: Path, options: Options, networks: Network, points: Array, member: int) -> str:
    """Write the actor of one seed; returns the name of its file."""
    seed = options.first_seed + member
    network = jax.tree.map(lambda x: np.asarray(x)[member], networks)
    first = [] if network.memory is None else [network.memory.seen]
    unit = [] if network.memory is None else [network.memory.inwards, network.memory.onwards]
    layers, memory = (
        [(layer.weight, layer.bias) for layer in part] for part in (first + network.actor, unit)
    )
    sight = Sight(environment(options).rules)
    layers[0] = (sight.whole(layers[0][0]), layers[0][1])
    about = {"seed": seed, "score": float(points[member].mean()), "options": dataclasses.asdict(options)}
    path = out / f"policy-{seed}.npz"
    policy_file.save(path, PolicyFile(options.id, options.observation, layers, about, memory))
    return path.name


def _write_replay(path: Path, options: Options, points: Array, actions: Array) -> None:
    """Write the first episode of the best seed."""
    best = int(points.mean(axis=1).argmax())
    env = scored_environment(options, "numpy")
    about = {"learner": "cogrid.train", "seed": options.first_seed + best, "score": float(points[best, 0])}
    record(env, actions[best, :, 0], 0, metadata=about).save(path)


def _write_plot(path: Path, options: Options, history: History) -> None:
    """Plot the learning curve of every seed, and their mean."""
    scores = np.array(history.scores)  # (chunks, seeds)
    steps = np.arange(1, len(scores) + 1) * options.steps_of_chunk / 1e6
    figure = Figure(figsize=(6.4, 4), layout="constrained")
    axes = figure.subplots()
    point = "o" if len(scores) == 1 else None  # a line would show nothing
    axes.plot(steps, scores, marker=point, color="tab:blue", alpha=0.4, linewidth=0.8)
    mean = f"mean of {several(options.seeds, 'seed')}"
    axes.plot(steps, scores.mean(axis=1), marker=point, color="tab:blue", label=mean)
    if options.shaping > 0:
        axes.axvline(options.shaping * steps[-1], color="gray", linestyle=":", label="shaping ends")
    axes.set(
        title=options.id, xlabel="million environment steps of each seed", ylabel="return without shaping"
    )
    axes.set_ylim(bottom=min(0.0, float(scores.min())))
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    with files.replacing(path) as file:
        figure.savefig(file, dpi=120)
