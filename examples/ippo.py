"""IPPO in one file: cooks that share a network learn to deliver soups; all seeds in one compiled program.

python examples/ippo.py                                     CrampedRoom, three seeds, minutes on two cores
python examples/ippo.py --id Overcooked-CoordinationRing-V0 --steps 5e6 --out runs/ring
python examples/ippo.py --out runs/ring --resume            go on with what was stopped
python examples/ippo.py --devices 2 --num-envs 128          every device plays a part, gradients are averaged
srun python examples/ippo.py --join --devices 16            the same by several processes

Every agent learns by itself with PPO (clipped, with generalised advantages) from what it sees, and all agents
of a seed share one network. The kitchen's shaping reward helps in the beginning and is annealed to nothing.
"""

from __future__ import annotations

import os
import signal
import sys

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    # The imports take seconds: until they are done, Ctrl-C ends it with a line.
    signal.signal(signal.SIGINT, lambda *_: (os.write(2, b"\nInterrupted.\n"), os._exit(130)))

import argparse
import dataclasses
import json
import math
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

import cogrid
from cogrid import distributed, files, interrupt
from cogrid.backend import rng
from cogrid.core.difference import Difference
from cogrid.core.snapshot import fingerprint
from cogrid.placement import Placement, place
from cogrid.replay import record
from cogrid.shadow import Mismatch, Shadow, ShadowReport, show_progress, wanted

EPISODES = 100  # of every seed, for the score
RECORDED = 8  # environments of every seed whose steps are replayed on NumPy, with --shadow
OBSERVATIONS = ("features", "lossless", "window")
CHECKPOINT, PREVIOUS = "checkpoint.npz", "checkpoint.previous.npz"
# Exit codes: a mistake or a file that cannot be used, NumPy played anything differently.
USAGE, MISMATCH = 2, 22

KINDS: dict[str, Any] = {"str": str, "int": int, "float": int | float}  # of options

Array = Any


def option(default: Any, text: str, low: float = -math.inf, high: float = math.inf) -> Any:
    """A field with its default, its line of --help, and its bounds."""
    return dataclasses.field(default=default, metadata={"help": text, "low": low, "high": high})


@dataclasses.dataclass(frozen=True)
class Options:
    """What a run is; a checkpoint keeps them, and two runs with the same options end the same."""

    id: str = option("Overcooked-CrampedRoom-V0", "kitchen to learn in")
    observation: str = option("features", "features (a short vector), lossless (the whole grid) or window")
    steps: int = option(1_500_000, "environment steps of each seed, rounded up to whole chunks", 1)
    seeds: int = option(3, "how many seeds learn side by side", 1)
    first_seed: int = option(0, "the first of them; the others follow it")
    num_envs: int = option(64, "environments of each seed", 1)
    devices: int = option(1, "devices that share them; of all processes", 1)
    num_steps: int = option(128, "steps of every environment between two updates", 1)
    chunk: int = option(10, "updates between two checkpoints", 1)
    epochs: int = option(4, "passes over the steps in an update", 1)
    minibatches: int = option(4, "gradient steps in a pass, each on its own part of the environments", 1)
    hidden: int = option(64, "width of the two hidden layers", 1)
    learning_rate: float = option(1e-3, "of Adam, annealed to zero", 0)
    gamma: float = option(0.99, "discount of a step", 0, 1)
    gae_lambda: float = option(0.95, "decay of the generalised advantages", 0, 1)
    clip: float = option(0.2, "PPO's bound on how much the probability of an action changes", 0)
    entropy: float = option(0.02, "weight of the entropy bonus, annealed to zero", 0)
    value_loss: float = option(0.5, "weight of the value loss", 0)
    max_gradient: float = option(0.5, "norm that gradients are clipped to", 0)
    shaping: float = option(
        0.5, "fraction of the run over which the shaping reward is annealed to nothing", 0, 1
    )

    @property
    def updates(self) -> int:
        """Whole chunks that make at least the steps that were asked for."""
        return -(-self.steps // (self.num_envs * self.num_steps * self.chunk)) * self.chunk


# The network


class Layer(eqx.Module):
    """A linear layer that starts orthogonal."""

    weight: Array
    bias: Array

    def __init__(self, key: Array, inputs: int, outputs: int, gain: float) -> None:
        self.weight = jax.nn.initializers.orthogonal(gain)(key, (inputs, outputs))
        self.bias = jnp.zeros(outputs)

    def __call__(self, x: Array) -> Array:
        return x @ self.weight + self.bias


class Network(eqx.Module):
    """An actor and a critic, two hidden layers each, for batches of observations."""

    actor: list[Layer]
    critic: list[Layer]

    def __init__(self, key: Array, inputs: int, hidden: int, actions: int) -> None:
        def layers(keys: Array, outputs: int, last_gain: float) -> list[Layer]:
            sizes = ((inputs, hidden, 2**0.5), (hidden, hidden, 2**0.5), (hidden, outputs, last_gain))
            return [Layer(key, *size) for key, size in zip(keys, sizes, strict=True)]

        keys = jax.random.split(key, (2, 3))
        self.actor = layers(keys[0], actions, 0.01)  # all actions about as likely at first
        self.critic = layers(keys[1], 1, 1.0)

    def __call__(self, obs: Array) -> tuple[Array, Array]:
        """Flat observations (…, inputs) -> logits (…, actions), values (…)."""
        logits, values = obs, obs
        for actor, critic in zip(self.actor[:-1], self.critic[:-1], strict=True):
            logits, values = jnp.tanh(actor(logits)), jnp.tanh(critic(values))
        return self.actor[-1](logits), self.critic[-1](values)[..., 0]


def flat(obs: Array, shape: tuple[int, ...]) -> Array:
    """Observations (…, *shape) as float vectors."""
    return obs.reshape(*obs.shape[: obs.ndim - len(shape)], -1).astype(jnp.float32)


def log_prob(logits: Array, actions: Array) -> Array:
    """Of the actions that were taken."""
    return jnp.take_along_axis(jax.nn.log_softmax(logits), actions[..., None], axis=-1)[..., 0]


# The learner


class Run(NamedTuple):
    """All that training is at one moment, as plain arrays; under `vmap` seeds are a leading axis."""

    seed: Array  # ()
    update: Array  # () updates so far
    network: Network
    optimizer: Any
    state: Any  # EnvState (B, …)
    obs: Array  # (B, n, …)


class Steps(NamedTuple):
    """What was played between two updates: T steps of B environments with n agents."""

    obs: Array  # (T, B, n, …) what the agents saw before they acted
    actions: Array  # (T, B, n)
    log_probs: Array  # (T, B, n)
    values: Array  # (T, B, n)
    rewards: Array  # (T, B, n) with shaping
    done: Array  # (T, B)
    score: Array  # (T, B) without shaping


class Recorded(NamedTuple):
    """The part of what was played that NumPy repeats; the arguments of `Shadow.chunk`."""

    first: Any  # EnvState (B, …)
    actions: Array
    obs: Array
    rewards: Array
    done: Array
    last: Any  # EnvState (B, …)


class Log(NamedTuple):
    """What is told about an update."""

    score: Array  # () return of an episode at the pace of these steps, without shaping
    entropy: Array  # ()
    recorded: Recorded | None = None


def kitchen(options: Options) -> cogrid.CoGridEnv:
    """The environment to learn in; only its pure functions are used, which have no shadow."""
    overrides: dict[str, Any] = {"observation": options.observation, "shaping": 1.0}
    return cogrid.make(options.id, backend="jax", infos=True, shadow=False, **overrides)


class Learner:
    """Independent PPO for one seed: pure functions, so that `jax.vmap` makes them learn many."""

    def __init__(self, options: Options, recorded: int = 0) -> None:
        self.options = options
        self.recorded = recorded  # environments whose steps are returned; without them nothing is paid
        self.env = kitchen(options)
        self.seen = self.env.observation_space(0).shape
        gradient_steps = options.updates * options.epochs * options.minibatches
        rate = optax.linear_schedule(options.learning_rate, 0.0, gradient_steps)
        self.optimizer = optax.chain(
            optax.clip_by_global_norm(options.max_gradient), optax.adam(rate, eps=1e-5)
        )

    def mean(self, tree: Any) -> Any:
        """Over the devices."""
        return jax.lax.pmean(tree, "envs") if self.options.devices > 1 else tree

    def begin(self, seed: Array) -> Run:
        """A fresh network in fresh kitchens."""
        for_network, for_kitchens = jax.random.split(jax.random.fold_in(jax.random.key(seed), 2**31))
        inputs, actions = int(np.prod(self.seen)), len(self.env.action_names)
        network = Network(for_network, inputs, self.options.hidden, actions)
        state, obs = self.env.jax_reset(jax.random.split(for_kitchens, self.options.num_envs))
        return Run(seed, jnp.zeros((), jnp.int32), network, self.optimizer.init(network), state, obs)

    def chunk(self, run: Run) -> tuple[Run, Log]:
        """Some updates in one loop; Python only sees how they end."""
        return jax.lax.scan(self.update, run, None, length=self.options.chunk)  # type: ignore[no-any-return]

    def update(self, run: Run, _: None) -> tuple[Run, Log]:
        """Play, then learn from it."""
        # Randomness is a function of the seed and the update: there is no key to keep.
        key = jax.random.fold_in(jax.random.key(run.seed), run.update)
        if self.options.devices > 1:
            key = jax.random.fold_in(key, jax.lax.axis_index("envs"))
        for_play, for_learning = jax.random.split(key)
        passed = run.update / self.options.updates
        weight = jnp.where(passed < self.options.shaping, 1.0 - passed / self.options.shaping, 0.0)
        state = self.env.replace(run.state, shaping_weight=weight)
        last, obs, steps = self.play(run.network, state, run.obs, for_play)
        network, optimizer, entropy = self.learn(run, steps, obs, for_learning)
        score = self.mean(steps.score.mean()) * self.env.spec.max_steps
        log = Log(score, self.mean(entropy), self.record(state, steps, last))
        return Run(run.seed, run.update + 1, network, optimizer, last, obs), log

    def play(self, network: Network, state: Any, obs: Array, key: Array) -> tuple[Any, Array, Steps]:
        """`num_steps` in every environment; who is done begins anew."""

        def one(carry: tuple[Any, Array], key: Array) -> tuple[tuple[Any, Array], Steps]:
            state, obs = carry
            logits, values = network(flat(obs, self.seen))
            actions = jax.random.categorical(key, logits)
            state, seen, rewards, done, infos = self.env.jax_step(state, actions)
            score = infos["reward delivery"][..., 0]  # the same for all agents
            steps = Steps(obs, actions, log_prob(logits, actions), values, rewards, done, score)
            return self.env.renew_fn(state, seen, done), steps

        (state, obs), steps = jax.lax.scan(one, (state, obs), jax.random.split(key, self.options.num_steps))
        return state, obs, steps

    def learn(self, run: Run, steps: Steps, obs: Array, key: Array) -> tuple[Network, Any, Array]:
        """Several passes over the steps, in parts."""
        _, last_values = run.network(flat(obs, self.seen))
        advantages = self.advantages(steps, last_values)
        batch = (steps, advantages, advantages + steps.values)
        bonus = self.options.entropy * (1.0 - run.update / self.options.updates)

        def one_part(carry: tuple[Network, Any], members: Array) -> tuple[tuple[Network, Any], Array]:
            network, optimizer = carry
            part = jax.tree.map(lambda x: x[:, members], batch)
            gradients, entropy = jax.grad(self.loss, has_aux=True)(network, bonus, *part)
            gradients = self.mean(gradients)  # all devices take the same step
            changes, optimizer = self.optimizer.update(gradients, optimizer)
            return (optax.apply_updates(network, changes), optimizer), entropy

        def one_pass(carry: tuple[Network, Any], key: Array) -> tuple[tuple[Network, Any], Array]:
            # Whole environments are dealt out, which is cheaper than a shuffle of all steps.
            members = jax.random.permutation(key, steps.done.shape[1])  # of this device
            return jax.lax.scan(one_part, carry, members.reshape(self.options.minibatches, -1))  # type: ignore[no-any-return]

        keys = jax.random.split(key, self.options.epochs)
        (network, optimizer), entropy = jax.lax.scan(one_pass, (run.network, run.optimizer), keys)
        return network, optimizer, entropy.mean()

    def advantages(self, steps: Steps, last_values: Array) -> Array:
        """(T, B, n), generalised. An episode that the clock ends counts as ended, as is usual here."""
        gamma, decay = self.options.gamma, self.options.gamma * self.options.gae_lambda

        def one(carry: tuple[Array, Array], step: tuple[Array, ...]) -> tuple[tuple[Array, Array], Array]:
            advantage, following = carry
            rewards, values, done = step
            goes_on = 1.0 - done[:, None]
            error = rewards + gamma * goes_on * following - values
            advantage = error + decay * goes_on * advantage
            return (advantage, values), advantage

        start = (jnp.zeros_like(last_values), last_values)
        played = (steps.rewards, steps.values, steps.done)
        return jax.lax.scan(one, start, played, reverse=True)[1]

    def loss(
        self, network: Network, bonus: Array, steps: Steps, advantages: Array, targets: Array
    ) -> tuple[Array, Array]:
        """PPO's clipped loss, and the entropy, of which there is a bonus."""
        options = self.options
        logits, values = network(flat(steps.obs, self.seen))
        ratio = jnp.exp(log_prob(logits, steps.actions) - steps.log_probs)
        bounded = jnp.clip(ratio, 1.0 - options.clip, 1.0 + options.clip)
        advantages = advantages - self.mean(advantages.mean())
        advantages = advantages / (jnp.sqrt(self.mean(jnp.square(advantages).mean())) + 1e-8)
        policy_loss = -jnp.minimum(ratio * advantages, bounded * advantages).mean()
        value_loss = 0.5 * jnp.square(values - targets).mean()
        log_probs = jax.nn.log_softmax(logits)
        entropy = -(jnp.exp(log_probs) * log_probs).sum(axis=-1).mean()
        return policy_loss + options.value_loss * value_loss - bonus * entropy, entropy

    def record(self, first: Any, steps: Steps, last: Any) -> Recorded | None:
        """The first environments' steps, for a replay on NumPy after the update."""
        if not self.recorded:
            return None
        first, last = (jax.tree.map(lambda x: x[: self.recorded], state) for state in (first, last))
        steps = jax.tree.map(lambda x: x[:, : self.recorded], steps)
        return Recorded(first, steps.actions, steps.obs, steps.rewards, steps.done, last)


# Checkpoints


class Past(NamedTuple):
    """What a run remembers of the way that it came."""

    scores: list[list[float]]  # of every chunk, by seed
    seconds: float  # of training, compilation included
    shadow: ShadowReport | None = None  # of all steps so far that NumPy has repeated


class Checkpoint(NamedTuple):
    """A file's content."""

    options: Options
    past: Past
    spec: str  # the kitchen's fingerprint
    arrays: dict[str, Array]  # of the run, by their places


class CheckpointError(ValueError):
    """A checkpoint that cannot be used, in a sentence."""


def save(path: Path, options: Options, run: Run, past: Past) -> None:
    """One file without pickles; it takes the old one's place when it is whole, so a kill damages nothing.

    The old one stays beside it, for the day on which the disk damages the new one.
    """
    run = distributed.gather(run)
    if jax.process_index() > 0:
        return
    shadow = past.shadow and dataclasses.asdict(past.shadow)
    told = json.dumps(
        {
            "options": dataclasses.asdict(options),
            "past": past._replace(shadow=None)._asdict() | {"shadow": shadow},
            "spec": fingerprint(kitchen(options).rules),
        }
    )
    arrays: dict[str, Any] = {name: np.asarray(leaf) for name, leaf in named(run)}
    keep_previous(path, path.with_name(PREVIOUS))
    with files.replacing(path) as file:
        np.savez(file, told=np.array(told), **arrays)


def keep_previous(path: Path, previous: Path) -> None:
    """A second name for the file at `path`, which will get another; a copy where the disk has no links."""
    if path.is_file():
        previous.unlink(missing_ok=True)
        try:
            os.link(path, previous)
        except OSError:
            files.write(previous, path.read_bytes())


def load(path: Path) -> Checkpoint:
    """What `save` wrote; anything else is refused."""
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        told = json.loads(str(arrays.pop("told")))
        options, past = Options(**told["options"]), Past(**told["past"])
        for field in dataclasses.fields(Options):
            if not isinstance(getattr(options, field.name), KINDS[str(field.type)]):
                raise TypeError(field.name)
        np.reshape(past.scores, (-1, options.seeds))
        past = past._replace(shadow=report_of(told["past"]["shadow"]))
        return Checkpoint(options, past, told["spec"], arrays)
    except Exception as error:  # a damaged file may raise anything
        raise CheckpointError(
            f"{path} is no checkpoint of this program, or a damaged one ({type(error).__name__})."
        ) from None


def newest(paths: Sequence[Path]) -> Checkpoint:
    """The first of the files that is whole, and a word about those that are not."""
    damaged: list[CheckpointError] = []
    for path in paths:
        try:
            kept = load(path)
        except CheckpointError as error:
            damaged.append(error)
            continue
        if damaged:
            told = f"The run goes on from {path.name}, after {len(kept.past.scores)} chunks."
            print(f"{damaged[0]} {told}", file=sys.stderr)
        return kept
    raise damaged[0]


def report_of(told: dict[str, Any] | None) -> ShadowReport | None:
    """The report of a shadow, from JSON."""
    if told is None:
        return None
    if first := told["first"]:
        difference = Difference(*first["difference"])
        first = Mismatch(**first | {"difference": difference, "backends": tuple(first["backends"])})
    return ShadowReport(**told | {"first": first})


def run_of(kept: Checkpoint, like: Run) -> Run:
    """The run of a checkpoint; `like` has its form."""
    forms = {name: (leaf.shape, leaf.dtype) for name, leaf in named(like)}
    if {name: (array.shape, array.dtype) for name, array in kept.arrays.items()} != forms:
        raise CheckpointError("the checkpoint's arrays are not those of its options.")
    leaves = [jnp.asarray(kept.arrays[name]) for name in forms]
    run: Run = jax.tree.unflatten(jax.tree.structure(like), leaves)
    return run


def named(run: Run) -> Iterator[tuple[str, Array]]:
    """Every array of a run by its place."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(run):
        yield jax.tree_util.keystr(path), leaf


# Training, evaluation and what is left of them


def seeds_of(options: Options) -> Array:
    return jnp.arange(options.first_seed, options.first_seed + options.seeds)


def train(
    options: Options, out: Path, kept: Checkpoint | None = None, watch: Shadow | None = None
) -> tuple[Run, Past]:
    """All chunks that are left, with a checkpoint after each; the shadow, if there is one, watches them."""
    started = time.perf_counter()
    there = place(options.devices, options.num_envs)
    learner = Learner(options, min(RECORDED, there.size) if watch else 0)
    begin = jax.jit(jax.vmap(learner.begin), out_shardings=shardings(there))
    if kept:
        past, run = kept.past, run_of(kept, jax.eval_shape(begin, seeds_of(options)))
        run = jax.device_put(run, shardings(there))
    else:
        past, run = Past([], 0.0), begin(seeds_of(options))
    chunk, before = jax.jit(chunk_on(there, learner), donate_argnums=0), past.shadow
    with Telling(options) as telling:
        for done in range(len(past.scores), options.updates // options.chunk):
            telling.start(done)
            run, log = jax.block_until_ready(chunk(run))
            if watch:
                replay(watch, log.recorded)
            now = time.perf_counter()
            scores = [*past.scores, np.asarray(log.score).mean(axis=1).tolist()]
            past, started = Past(scores, past.seconds + now - started, whole(before, watch)), now
            save(out / CHECKPOINT, options, run, past)
            telling.finish(done + 1, scores[-1])
    return run, past


def whole(before: ShadowReport | None, watch: Shadow | None) -> ShadowReport | None:
    """What shadows have seen, the one of before the run was resumed included."""
    if not before or not watch:
        return watch.report if watch else before
    now = watch.report
    return dataclasses.replace(
        now,
        comparisons=before.comparisons + now.comparisons,
        mismatches=before.mismatches + now.mismatches,
        first=before.first or now.first,
    )


def shardings(there: Placement) -> Run:
    """Where a run lies, seeds leading: environments on the devices that play them, the rest on all."""
    everywhere, spread = there.everywhere(), there.spread(1)
    return Run(everywhere, everywhere, everywhere, everywhere, spread, spread)


def chunk_on(there: Placement, learner: Learner) -> Callable[[Run], tuple[Run, Log]]:
    """Every device plays its own environments; only means go from one to the other."""
    whole = jax.sharding.PartitionSpec()
    run = Run(whole, whole, whole, whole, there.spec(1), there.spec(1))
    state, steps = there.spec(2), there.spec(3)  # (seeds, updates, B, …) and (seeds, updates, T, B, …)
    log = Log(whole, whole, Recorded(state, steps, steps, steps, steps, state) if learner.recorded else None)
    return there.on_each(jax.vmap(learner.chunk), (run,), (run, log))


def replay(watch: Shadow, recorded: Recorded) -> None:
    """Play every update's steps again, all seeds as one batch; arrays come as (seeds, updates, …)."""
    recorded = distributed.gather(recorded)

    def at(update: int, part: Any, axis: int) -> Any:
        return jax.tree.map(lambda x: np.concatenate(np.asarray(x)[:, update], axis), part)

    for update in range(recorded.done.shape[1]):
        # Of states (S, B, …) -> (S·B, …), of the others (S, T, B, …) -> (T, S·B, …)
        parts = recorded._asdict().items()
        watch.chunk(**{name: at(update, part, int(name not in ("first", "last"))) for name, part in parts})


class Telling:
    """Progress: a bar on a terminal, plain lines elsewhere."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.chunks = options.updates // options.chunk
        self.each = options.num_envs * options.num_steps * options.chunk  # steps of a seed in a chunk
        self.console = Console(stderr=True)
        self.bar = Progress(
            TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(), console=self.console
        )
        self.every = max(1, self.chunks // 20)  # of the plain lines

    def __enter__(self) -> Telling:
        if self.console.is_terminal:
            self.bar.start()
        self.task = self.bar.add_task("compiling", total=self.chunks)
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def start(self, done: int) -> None:
        """A chunk begins."""
        self.began = time.perf_counter()
        self.bar.update(self.task, completed=done)

    def finish(self, done: int, scores: Sequence[float]) -> None:
        """A chunk is there; the first one was compiled meanwhile, so its speed says nothing."""
        speed = self.options.seeds * self.each / (time.perf_counter() - self.began)
        score, soups = np.mean(scores), np.mean(scores) / soup_value(self.options)
        steps = done * self.each / 1e6
        told = f"{steps:.2f} M steps, return {score:.1f} ({soups:.1f} soups), {speed:,.0f} steps/s"
        self.bar.update(self.task, completed=done, description=told)
        if not self.console.is_terminal and (done % self.every == 0 or done == self.chunks):
            print(told, file=sys.stderr, flush=True)


def soup_value(options: Options) -> float:
    """Points of a soup."""
    game: Any = cogrid.make(options.id).spec.game
    return float(game.soup_value)


def evaluate(options: Options, networks: Network) -> tuple[Array, Array]:
    """Whole episodes with the final policies: points (seeds, episodes), actions (seeds, T, episodes, n).

    Episode i begins with seed i, and actions are drawn as in training.
    """
    env = cogrid.make(options.id, backend="jax", observation=options.observation)
    seen, starts = env.observation_space(0).shape, jnp.stack([rng.key(seed) for seed in range(EPISODES)])

    def play(network: Network, key: Array) -> tuple[Array, Array]:
        def one(carry: tuple[Any, Array], key: Array) -> tuple[Any, Any]:
            state, obs = carry
            actions = jax.random.categorical(key, network(flat(obs, seen))[0])
            state, obs, rewards, _, _ = env.jax_step(state, actions)
            return (state, obs), (rewards[:, 0], actions)

        keys = jax.random.split(key, env.spec.max_steps)
        _, (rewards, actions) = jax.lax.scan(one, env.jax_reset(starts), keys)
        return rewards.sum(axis=0), actions

    points, actions = jax.jit(jax.vmap(play))(networks, jax.random.split(jax.random.key(0), options.seeds))
    return np.asarray(points), np.asarray(actions)


def write_replay(path: Path, options: Options, points: Array, actions: Array) -> None:
    """The first episode of the best seed."""
    best = int(points.mean(axis=1).argmax())
    env = cogrid.make(options.id, observation=options.observation)
    told = {"learner": "examples/ippo.py", "seed": options.first_seed + best, "score": float(points[best, 0])}
    record(env, actions[best, :, 0], 0, metadata=told).save(path)


def write_plot(path: Path, options: Options, past: Past) -> None:
    """The learning curve of every seed, and their mean."""
    scores = np.array(past.scores)  # (chunks, seeds)
    steps = np.arange(1, len(scores) + 1) * options.chunk * options.num_envs * options.num_steps / 1e6
    figure = Figure(figsize=(6.4, 4), layout="constrained")
    axes = figure.subplots()
    point = "o" if len(scores) == 1 else None  # a line would show nothing
    axes.plot(steps, scores, marker=point, color="tab:blue", alpha=0.4, linewidth=0.8)
    axes.plot(
        steps, scores.mean(axis=1), marker=point, color="tab:blue", label=f"mean of {options.seeds} seeds"
    )
    if options.shaping > 0:
        axes.axvline(options.shaping * steps[-1], color="gray", linestyle=":", label="shaping has ended")
    axes.set(
        title=options.id, xlabel="million environment steps of each seed", ylabel="return without shaping"
    )
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    with files.replacing(path) as file:
        figure.savefig(file, dpi=120)


def write_results(path: Path, options: Options, past: Past, points: Array) -> dict[str, Any]:
    """All numbers of the run."""
    means, soup = points.mean(axis=1), soup_value(options)
    steps = options.updates * options.num_envs * options.num_steps
    content = {
        "options": dataclasses.asdict(options),
        "versions": {
            "python": platform.python_version(),
            "cogrid": cogrid.__version__,
            "jax": jax.__version__,
        },
        "steps": steps,  # of each seed
        "training_seconds": round(past.seconds, 1),
        "steps_per_second": round(steps * options.seeds / past.seconds),  # of all seeds, compilation included
        "episodes": EPISODES,  # of each seed
        "score": {
            "mean": float(means.mean()),
            "soups": float(means.mean() / soup),
            "by_seed": means.tolist(),
            "deviation_by_seed": points.std(axis=1).tolist(),  # over the episodes
        },
        "curve": np.round(past.scores, 2).tolist(),  # (chunks, seeds)
    }
    if past.shadow:
        content["shadow"] = {"comparisons": past.shadow.comparisons, "mismatches": past.shadow.mismatches}
    files.write(path, json.dumps(content, indent=1) + "\n")
    return content


def finish(options: Options, out: Path, run: Run, past: Past) -> None:
    """Evaluate, and leave the results, the plot and a replay."""
    points, actions = evaluate(options, run.network)
    results = write_results(out / "results.json", options, past, points)
    write_plot(out / "curve.png", options, past)
    write_replay(out / "episode.replay.json.gz", options, points, actions)
    score, soup = results["score"], soup_value(options)
    for seed, mean, deviation in zip(
        range(options.first_seed, options.first_seed + options.seeds),
        score["by_seed"],
        score["deviation_by_seed"],
        strict=True,
    ):
        print(f"seed {seed}: {mean:.1f} ± {deviation:.1f} points, {mean / soup:.2f} soups an episode")
    print(
        f"{options.id}: mean return {score['mean']:.1f} ({score['soups']:.2f} soups) in {EPISODES} episodes "
        f"of each seed, after {results['steps']:,} steps of each and {past.seconds / 60:.1f} minutes in all"
    )
    print(f"{out}: results.json, curve.png, episode.replay.json.gz, {CHECKPOINT}")


# The command


def count(text: str) -> int:
    """A whole number, also written as 5e6."""
    value = float(text.replace("_", ""))
    if not value.is_integer():
        raise ValueError
    return int(value)


def parse(arguments: Sequence[str] | None) -> tuple[Options, Path, Checkpoint | None, bool]:
    """The options, where to, what to resume, whether to compare with NumPy."""
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=as_written)
    kinds: dict[str, Callable[[str], Any]] = {"str": str, "int": count, "float": float}
    for field in dataclasses.fields(Options):
        parser.add_argument(
            f"--{field.name.replace('_', '-')}",
            type=kinds[str(field.type)],
            default=argparse.SUPPRESS,  # only what is given must agree with a checkpoint
            help=f"{field.metadata['help']} ({field.default})",
        )
    parser.add_argument("--out", type=Path, help="directory for the results (runs/ippo-ID)")
    parser.add_argument("--resume", action="store_true", help="go on with the checkpoint in --out")
    parser.add_argument(
        "--join",
        nargs="*",
        metavar="ADDRESS PROCESSES PROCESS",
        help="be one of several processes; inside of a cluster nothing more is needed",
    )
    parser.add_argument(
        "--shadow",
        action="store_true",
        help="repeat a part of all steps on NumPy and compare; exits 22 if any differ",
    )
    given = vars(parser.parse_args(arguments))
    out, resume, shadow = given.pop("out"), given.pop("resume"), given.pop("shadow")
    join(parser, given.pop("join"))
    out = out or Path("runs") / f"ippo-{given.get('id', Options.id)}"
    kept, there = None, [file for file in (out / CHECKPOINT, out / PREVIOUS) if file.is_file()]
    if resume:
        if not there:
            parser.error(f"there is no checkpoint in {out}: start without --resume.")
        kept = resumed(parser, there, given)
    elif there:
        parser.error(f"{out} holds a run already: add --resume to go on with it, or choose another --out.")
    options = kept.options if kept else Options(**given)
    if wrong := refused(options):
        parser.error(wrong)
    if kept and kept.spec != fingerprint(kitchen(options).rules):
        parser.error(f"{options.id} is another game now than when the run in {out} began: start a new one.")
    shadow = wanted(shadow or None)
    if jax.process_count() > 1:
        try:
            chunks = len(kept.past.scores) if kept else 0
            facts = {"resume": resume, "chunks": chunks, "shadow": shadow}
            distributed.agree("ippo", **facts, **dataclasses.asdict(options))
        except ValueError as error:
            parser.error(str(error))
    return options, out, kept, shadow


def join(parser: argparse.ArgumentParser, words: list[str] | None) -> None:
    """Start JAX together with the other processes, if there are any."""
    if words is None:
        return
    if len(words) not in (0, 3) or not all(word.isdigit() for word in words[1:]):
        parser.error("--join takes nothing, or the address of process 0, their number and its own.")
    try:
        if words:
            address, processes, process = words
            distributed.start(address, int(processes), int(process))
        else:
            distributed.start()
    except (RuntimeError, TimeoutError, ValueError) as error:
        parser.error(str(error))


def resumed(parser: argparse.ArgumentParser, paths: list[Path], given: dict[str, Any]) -> Checkpoint:
    """The run as it was kept; the options that are given again must be the same."""
    try:
        kept = newest(paths)
    except CheckpointError as error:
        parser.error(str(error))
    for name, now in given.items():
        if now != (then := getattr(kept.options, name)):
            parser.error(f"{name} was {then!r} when this run began and cannot become {now!r}.")
    return kept


def refused(options: Options) -> str | None:
    """What is wrong with the options, in a sentence."""
    for field in dataclasses.fields(Options):
        value, low, high = getattr(options, field.name), field.metadata["low"], field.metadata["high"]
        if field.type != "str" and not (math.isfinite(value) and low <= value <= high):
            bounds = f"at least {low}" if math.isinf(high) else f"from {low} to {high}"
            return f"{field.name} is {value}, but must be {bounds if math.isfinite(value) else 'finite'}."
    if options.observation not in OBSERVATIONS:
        return f"observation is {options.observation!r}, but must be one of {', '.join(OBSERVATIONS)}."
    if not options.id.startswith("Overcooked-") or options.id not in cogrid.registered():
        kitchens = (id for id in cogrid.registered() if id.startswith("Overcooked-"))
        return f"id is {options.id!r}, but must be one of {', '.join(kitchens)}."
    if options.num_envs % (options.minibatches * options.devices):
        each = f" on each of {options.devices} devices" if options.devices > 1 else ""
        return f"num_envs {options.num_envs} cannot be dealt out to {options.minibatches} minibatches{each}."
    if options.devices > len(jax.devices()):
        return f"devices is {options.devices}, but JAX has {len(jax.devices())}."
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    options, out, kept, shadow = parse(arguments)
    watch, code = None, 0
    if shadow:
        show_progress()
        watch = Shadow(kitchen(options).spec, "jax")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        print(f"{Path(sys.argv[0]).name}: {out} cannot be a folder: {error.strerror}.", file=sys.stderr)
        return USAGE
    try:
        run, past = train(options, out, kept, watch)
        run = distributed.gather(run)
        if jax.process_index() == 0:  # the others have the same
            finish(options, out, run, past)
        if jax.process_count() > 1:
            distributed.agree("end")  # nobody ends while process 0 is at that
    except (CheckpointError, OSError) as error:  # such as a full disk
        if interrupt.is_closed_output(error):
            raise
        print(f"{Path(sys.argv[0]).name}: {error}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        advice = f"Go on with: python {sys.argv[0]} --out {out} --resume"
        if not (out / CHECKPOINT).exists():
            advice = "There was no checkpoint yet."
        print(f"\nStopped. {advice}", file=sys.stderr)
        code = interrupt.INTERRUPTED
    if report := whole(kept.past.shadow if kept else None, watch):
        print(report)
    return MISMATCH if report and report.mismatches else code


if __name__ == "__main__":
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(interrupt.run(main))
