"""IPPO in one file: agents that share a network learn by PPO, all seeds in one compiled program.

python examples/ippo.py                                     CrampedRoom, three seeds, minutes on two cores
python examples/ippo.py --id Overcooked-CoordinationRing-V0 --steps 3e6 --out runs/ring

Read it from top to bottom: settings, network, rollout, advantages, update, loop, evaluation. The kitchen's
shaping reward helps in the beginning and is annealed to zero. `python -m cogrid train` learns the same way
and adds what long runs need: checkpoints, several devices and processes, plots, comparison with NumPy.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

import cogrid
from cogrid.backend import rng
from cogrid.policies import PolicyFile, save_policy

EPISODES = 100  # of every seed, for the score

Array = Any


@dataclasses.dataclass(frozen=True)
class Settings:
    """The fields are the options of the command line."""

    id: str = "Overcooked-CrampedRoom-V0"
    observation: str = "features"  # or lossless, window
    steps: int = 1_500_000  # of each seed
    seeds: int = 3
    num_envs: int = 64  # of each seed
    num_steps: int = 128  # of every environment between two updates
    epochs: int = 4  # passes over the steps in an update
    minibatches: int = 16  # gradient steps in a pass, each on its share of num_envs
    hidden: int = 64  # width of the two hidden layers
    learning_rate: float = 5e-4  # of Adam, annealed to zero
    reward_scale: float = 0.1  # for values of about 1
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip: float = 0.2
    entropy: float = 0.1  # weight of the bonus, annealed to zero
    value_loss: float = 0.5
    max_gradient: float = 0.5
    shaping: float = 0.5  # fraction of the run over which the shaping reward is annealed to zero

    @property
    def updates(self) -> int:
        return -(-self.steps // (self.num_envs * self.num_steps))


# The network


class Layer(eqx.Module):
    """A linear layer with orthogonal initial weights."""

    weight: Array
    bias: Array

    def __init__(self, key: Array, inputs: int, outputs: int, gain: float) -> None:
        self.weight = jax.nn.initializers.orthogonal(gain)(key, (inputs, outputs))
        self.bias = jnp.zeros(outputs)

    def __call__(self, x: Array) -> Array:
        return x @ self.weight + self.bias


class Network(eqx.Module):
    """An actor and a critic of two hidden layers each."""

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


def log_prob(logits: Array, actions: Array) -> Array:
    return jnp.take_along_axis(jax.nn.log_softmax(logits), actions[..., None], axis=-1)[..., 0]


# Learning


class Run(NamedTuple):
    """The whole of training at one moment; over many seeds they are a leading axis."""

    seed: Array  # ()
    update: Array  # () updates so far
    network: Network
    optimizer: Any
    state: Any  # EnvState (B, …)
    obs: Array  # (B, n, …)


class Steps(NamedTuple):
    """What was played between two updates: T steps of B environments with n agents."""

    obs: Array  # (T, B, n, inputs) what the agents saw before they acted
    actions: Array  # (T, B, n)
    log_probs: Array  # (T, B, n)
    values: Array  # (T, B, n)
    rewards: Array  # (T, B, n) with shaping
    rest: Array  # (T, B, n) value of what follows a step at which the clock cut the episode off, else 0
    done: Array  # (T, B)
    score: Array  # (T, B) mean over the agents, without shaping


class Learner:
    """Independent PPO for one seed as pure functions."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.env = cogrid.make(
            settings.id, backend="jax", infos=True, observation=settings.observation, shaping=1.0
        )
        self.score_terms = [term.name for term in self.env.spec.game.rewards() if not term.shaping]
        gradient_steps = settings.updates * settings.epochs * settings.minibatches
        rate = optax.linear_schedule(settings.learning_rate, 0.0, gradient_steps)
        self.optimizer = optax.chain(
            optax.clip_by_global_norm(settings.max_gradient), optax.adam(rate, eps=1e-5)
        )

    def begin(self, seed: Array) -> Run:
        """A fresh network in fresh environments."""
        for_network, for_envs = jax.random.split(jax.random.fold_in(jax.random.key(seed), 2**31))
        inputs = int(np.prod(self.env.observation_space(0).shape))
        network = Network(for_network, inputs, self.settings.hidden, len(self.env.action_names))
        state, obs = self.env.jax_reset(jax.random.split(for_envs, self.settings.num_envs))
        return Run(seed, jnp.zeros((), jnp.int32), network, self.optimizer.init(network), state, obs)

    def update(self, run: Run) -> tuple[Run, Array]:
        """Play, then learn from it; the score is the return of an episode at the pace of these steps."""
        # Randomness is a function of the seed and the update: there is no key to carry.
        key = jax.random.fold_in(jax.random.key(run.seed), run.update)
        for_play, for_learning = jax.random.split(key)
        passed = run.update / self.settings.updates
        weight = jnp.where(passed < self.settings.shaping, 1.0 - passed / self.settings.shaping, 0.0)
        state = self.env.replace(run.state, shaping_weight=weight)
        state, obs, steps = self.play(run.network, state, run.obs, for_play)
        network, optimizer = self.learn(run, steps, obs, for_learning)
        score = steps.score.mean() * self.env.spec.max_steps
        return Run(run.seed, run.update + 1, network, optimizer, state, obs), score

    def play(self, network: Network, state: Any, obs: Array, key: Array) -> tuple[Any, Array, Steps]:
        """`num_steps` in every environment, with automatic reset."""

        def one(carry: tuple[Any, Array], key: Array) -> tuple[tuple[Any, Array], Steps]:
            state, obs = carry
            logits, values = network(flat(obs))
            actions = jax.random.categorical(key, logits)
            state, seen, rewards, done, infos = self.env.jax_step(state, actions)
            paid = infos["rewards"]
            score = jnp.stack([paid[term].mean(axis=-1) for term in self.score_terms]).sum(axis=0)
            taken, rest = log_prob(logits, actions), self.rest(network, state, seen, done)
            steps = Steps(flat(obs), actions, taken, values, rewards, rest, done, score)
            return self.env.renew_fn(state, seen, done), steps

        keys = jax.random.split(key, self.settings.num_steps)
        (state, obs), steps = jax.lax.scan(one, (state, obs), keys)
        return state, obs, steps

    def rest(self, network: Network, state: Any, obs: Array, done: Array) -> Array:
        """(B, n) the value of what agents see when the clock cuts them off, which they do not see; else 0."""
        cut = done[:, None] & (jnp.ones_like(state.pos, bool) if state.ended is None else ~state.ended)
        worth = lambda: jnp.where(cut, network(flat(obs))[1], 0.0)  # noqa: E731
        return jax.lax.cond(done.any(), worth, lambda: jnp.zeros(cut.shape))

    def learn(self, run: Run, steps: Steps, obs: Array, key: Array) -> tuple[Network, Any]:
        """Several passes over the steps, in minibatches of whole environments."""
        advantages = self.advantages(steps, run.network(flat(obs))[1])
        parts = (steps.obs, steps.actions, steps.log_probs, advantages, advantages + steps.values)
        # Rows of an environment lie together: matrices of two axes are all that a CPU multiplies fast.
        batch = [jnp.moveaxis(x, 1, 0).reshape(x.shape[1], -1, *x.shape[3:]) for x in parts]
        bonus = self.settings.entropy * (1.0 - run.update / self.settings.updates)

        def minibatch(carry: tuple[Network, Any], members: Array) -> tuple[tuple[Network, Any], None]:
            network, optimizer = carry
            part = [x[members].reshape(-1, *x.shape[2:]) for x in batch]
            gradients = jax.grad(self.loss)(network, bonus, *part)
            changes, optimizer = self.optimizer.update(gradients, optimizer)
            return (optax.apply_updates(network, changes), optimizer), None

        def epoch(carry: tuple[Network, Any], key: Array) -> tuple[tuple[Network, Any], None]:
            members = jax.random.permutation(key, self.settings.num_envs)
            return jax.lax.scan(minibatch, carry, members.reshape(self.settings.minibatches, -1))  # type: ignore[no-any-return]

        keys = jax.random.split(key, self.settings.epochs)
        (network, optimizer), _ = jax.lax.scan(epoch, (run.network, run.optimizer), keys)
        return network, optimizer

    def advantages(self, steps: Steps, last_values: Array) -> Array:
        """(T, B, n) generalised advantages; an episode that the clock cuts off would have gone on."""
        gamma, decay = self.settings.gamma, self.settings.gamma * self.settings.gae_lambda

        def one(carry: tuple[Array, Array], step: tuple[Array, ...]) -> tuple[tuple[Array, Array], Array]:
            advantage, following = carry
            rewards, values, rest, done = step
            goes_on = 1.0 - done[:, None]
            error = rewards + gamma * (goes_on * following + rest) - values
            advantage = error + decay * goes_on * advantage
            return (advantage, values), advantage

        start = (jnp.zeros_like(last_values), last_values)
        played = (self.settings.reward_scale * steps.rewards, steps.values, steps.rest, steps.done)
        return jax.lax.scan(one, start, played, reverse=True)[1]

    def loss(self, network: Network, bonus: Array, *batch: Array) -> Array:
        """PPO's clipped loss, the value loss and an entropy bonus."""
        obs, actions, log_probs, advantages, targets = batch
        logits, values = network(obs)
        ratio = jnp.exp(log_prob(logits, actions) - log_probs)
        bounded = jnp.clip(ratio, 1.0 - self.settings.clip, 1.0 + self.settings.clip)
        advantages = advantages - advantages.mean()
        advantages = advantages / (jnp.sqrt(jnp.square(advantages).mean()) + 1e-8)
        policy_loss = -jnp.minimum(ratio * advantages, bounded * advantages).mean()
        value_loss = 0.5 * jnp.square(values - targets).mean()
        all_log_probs = jax.nn.log_softmax(logits)
        entropy = -(jnp.exp(all_log_probs) * all_log_probs).sum(axis=-1).mean()
        return policy_loss + self.settings.value_loss * value_loss - bonus * entropy


def flat(obs: Array) -> Array:
    """Observations (B, n, …) as float vectors (B, n, inputs)."""
    return obs.reshape(*obs.shape[:2], -1).astype(jnp.float32)


# Training and evaluation


def train(settings: Settings) -> tuple[Run, Array]:
    """All seeds from the beginning to the end: their runs, and the scores (updates, seeds)."""
    learner, scores = Learner(settings), []
    # One seed after the other suits a CPU; on a GPU `jax.vmap` is faster.
    run = jax.jit(partial(jax.lax.map, learner.begin))(jnp.arange(settings.seeds))
    update = jax.jit(partial(jax.lax.map, learner.update), donate_argnums=0)
    each, began = settings.num_envs * settings.num_steps, time.perf_counter()
    for done in range(1, settings.updates + 1):
        run, score = update(run)
        scores.append(np.asarray(score))
        if done % max(1, settings.updates // 20) == 0 or done == settings.updates:
            speed = done * each * settings.seeds / (time.perf_counter() - began)
            mean = np.mean(scores[-10:])
            print(f"{done * each / 1e6:.2f} M steps, return {mean:.1f}, {speed:,.0f} steps/s", flush=True)
    return run, np.stack(scores)


def evaluate(settings: Settings, networks: Network) -> Array:
    """(seeds, episodes) points of whole episodes without shaping; actions are drawn as in training."""
    env = cogrid.make(settings.id, backend="jax", observation=settings.observation)
    starts = jnp.stack([rng.key(seed) for seed in range(EPISODES)])

    def play(network: Network, key: Array) -> Array:
        def one(carry: tuple[Any, Array], key: Array) -> tuple[Any, Array]:
            state, obs = carry
            actions = jax.random.categorical(key, network(flat(obs))[0])
            state, obs, rewards, _, _ = env.jax_step(state, actions)
            return (state, obs), rewards.mean(axis=-1)

        keys = jax.random.split(key, env.spec.max_steps)
        return jax.lax.scan(one, env.jax_reset(starts), keys)[1].sum(axis=0)

    return np.asarray(jax.jit(jax.vmap(play))(networks, jax.random.split(jax.random.key(0), settings.seeds)))


def save(settings: Settings, networks: Network, out: Path) -> None:
    """A policy file for each seed, which `python -m cogrid play --partner` takes."""
    out.mkdir(parents=True, exist_ok=True)
    for seed in range(settings.seeds):
        layers = [(np.asarray(layer.weight)[seed], np.asarray(layer.bias)[seed]) for layer in networks.actor]
        policy = PolicyFile(settings.id, settings.observation, layers, {"seed": seed})
        save_policy(out / f"policy-{seed}.npz", policy)


def main() -> None:
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=as_written)
    # 5e6 is a whole number too.
    types: dict[str, Any] = {"str": str, "int": lambda text: int(float(text)), "float": float}
    for field in dataclasses.fields(Settings):
        flag = f"--{field.name.replace('_', '-')}"
        parser.add_argument(
            flag, type=types[str(field.type)], default=field.default, help=f"({field.default})"
        )
    parser.add_argument(
        "--out", type=Path, default=Path("runs/ippo"), help="folder for the policies (runs/ippo)"
    )
    given = vars(parser.parse_args())
    out, settings = given.pop("out"), Settings(**given)
    if settings.num_envs % settings.minibatches:
        parser.error(f"num_envs {settings.num_envs} cannot be split into {settings.minibatches} minibatches.")
    run, _ = train(settings)
    for seed, points in enumerate(evaluate(settings, run.network)):
        print(f"seed {seed}: {points.mean():.1f} ± {points.std():.1f} points an episode")
    save(settings, run.network, out)
    print(f"{out}: {', '.join(f'policy-{seed}.npz' for seed in range(settings.seeds))}")


if __name__ == "__main__":
    main()
