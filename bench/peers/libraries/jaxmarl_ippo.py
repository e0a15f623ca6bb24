"""Training in JaxMARL's Overcooked with independent PPO and its script's settings, and ours with the same.

The script itself (baselines/IPPO/ippo_ff_overcooked.py) is in its repository and in none of its packages. So
JaxMARL's environment and LogWrapper are driven by the learner below, which follows the script's published
settings: network, batch, shuffled minibatches, clipped value loss, shaping added from the infos. It leaves
out what the script logs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import version
from types import MappingProxyType
from typing import Any, NamedTuple

from bench.measure import clock
from bench.peers.cases import LOSSLESS, TWO_DEVICES, beside, cogrid
from bench.peers.peer_worker import Prepared, speed
from bench.peers.target import PeerCase, PeerTarget, python_peer
from bench.suites import CRAMPED, options
from cogrid.benchmarks.case import Case

#: The settings of ippo_ff_overcooked.yaml, by the names of cogrid's options.
SETTINGS: Mapping[str, Any] = MappingProxyType(
    {
        "num_envs": 16,
        "num_steps": 128,
        "steps": 5_000_000,
        "epochs": 4,
        "minibatches": 4,
        "hidden": 64,
        "learning_rate": 2.5e-4,
        "gamma": 0.99,
        "gae_lambda": 0.95,
        "clip": 0.2,
        "entropy": 0.01,
        "value_loss": 0.5,
        "max_gradient": 0.5,
        "shaping": 0.5,  # of the run
    }
)
UPDATES = 4  # of a pass, which takes about a second
SEEDS = 2

JAXMARL = python_peer("jaxmarl", __name__)
LEARNING = Case(
    CRAMPED, "jax-scan", SETTINGS["num_envs"], UPDATES * SETTINGS["num_steps"], options=options(**LOSSLESS)
)
WHAT, AGAINST = (
    "training by IPPO, 16 environments, lossless",
    "JaxMARL V1 by a learner with its script's settings",
)
BOTH: Mapping[str, Any] = {"measure": "train", "mode": f"jax-scan, {SEEDS} seeds"}

TARGETS = (
    PeerTarget(
        f"{WHAT}, one seed",
        AGAINST,
        beside(JAXMARL, "learn", LEARNING, "learn", measure="train"),
        enough=3.0,
        stretch=5.0,
    ),
    PeerTarget(
        f"{WHAT}, {SEEDS} seeds, one on each core",
        f"{AGAINST}, by vmap as it does",
        (
            cogrid(LEARNING, "learn", TWO_DEVICES, **BOTH),
            PeerCase(JAXMARL, "learn seeds", LEARNING, facts=BOTH),
        ),
        enough=3.0,
        stretch=5.0,
    ),
)


def prepare(way: str, case: Case) -> Prepared:
    return _WAYS[way](case)


def _learn(case: Case, seeds: int = 1) -> Prepared:
    """Several updates from the same start each time, as one compiled loop."""
    import jax

    jaxmarl = import_module("jaxmarl")
    layouts = import_module("jaxmarl.environments.overcooked").overcooked_layouts
    wrapper = import_module("jaxmarl.wrappers.baselines").LogWrapper
    env = wrapper(jaxmarl.make("overcooked", layout=layouts["cramped_room"]), replace_info=False)
    begin, update = learner(env, SETTINGS)
    length = case.steps // SETTINGS["num_steps"]

    def updates(run: TrainingState) -> Any:
        return jax.lax.scan(update, run, None, length)

    each = jax.vmap if seeds > 1 else lambda function: function
    keys = jax.random.split(jax.random.key(case.seed), seeds)
    run = jax.jit(each(begin))(keys if seeds > 1 else keys[0])
    loop = jax.jit(each(updates)).lower(run).compile()
    sample = speed(clock, clock.Pass(lambda: loop(run)), case.steps * case.batch * seeds)
    return Prepared(f"jaxmarl {version('jaxmarl')}", "steps/s", sample)


_WAYS: Mapping[str, Callable[[Case], Prepared]] = {
    "learn": _learn,
    "learn seeds": functools.partial(_learn, seeds=SEEDS),
}


class TrainingState(NamedTuple):
    """The complete state of training."""

    network: Any
    optimizer: Any
    state: Any  # (B, …) of LogWrapper
    obs: Any  # by agent, (B, height, width, 26)
    update: Any  # ()
    key: Any


class PlayedSteps(NamedTuple):
    """T steps of B environments and 2 agents, the agents side by side: A = 2 B."""

    obs: Any  # (T, A, inputs)
    actions: Any  # (T, A)
    log_probs: Any
    values: Any
    rewards: Any
    done: Any


def learner(
    env: Any, settings: Mapping[str, Any]
) -> tuple[Callable[[Any], TrainingState], Callable[..., Any]]:
    """A function that starts from a key, and one that makes an update, as the body of a scan."""
    import jax
    import jax.numpy as jnp
    import optax

    batch, length, minibatches = (settings[name] for name in ("num_envs", "num_steps", "minibatches"))
    actors = batch * env.num_agents
    updates = settings["steps"] // (batch * length)

    def rate(count: Any) -> Any:
        passed = count // (minibatches * settings["epochs"]) / updates
        return settings["learning_rate"] * (1.0 - passed)

    optimizer = optax.chain(optax.clip_by_global_norm(settings["max_gradient"]), optax.adam(rate, eps=1e-5))
    shaping = optax.linear_schedule(1.0, 0.0, round(settings["shaping"] * settings["steps"]))

    def begin(key: Any) -> TrainingState:
        for_network, for_envs, key = jax.random.split(key, 3)
        shape = env.observation_space(env.agents[0]).shape
        inputs, hidden = shape[0] * shape[1] * shape[2], settings["hidden"]
        outputs = {"actor": (env.action_space(env.agents[0]).n, 0.01), "critic": (1, 1.0)}
        network: dict[str, Any] = {}
        for name, (last, gain) in outputs.items():
            sizes = ((inputs, hidden, 2**0.5), (hidden, hidden, 2**0.5), (hidden, last, gain))
            keys = jax.random.split(jax.random.fold_in(for_network, len(network)), len(sizes))
            network[name] = [
                (jax.nn.initializers.orthogonal(scale)(key, (rows, columns)), jnp.zeros(columns))
                for key, (rows, columns, scale) in zip(keys, sizes, strict=True)
            ]
        obs, state = jax.vmap(env.reset)(jax.random.split(for_envs, batch))
        return TrainingState(network, optimizer.init(network), state, obs, jnp.zeros((), jnp.int32), key)

    def forward(network: Any, obs: Any) -> tuple[Any, Any]:
        """(…, inputs) -> logarithms of the probabilities (…, actions), values (…)."""
        outputs_of = {}
        for name, layers in network.items():
            hidden = obs.astype(jnp.float32)
            for weight, bias in layers[:-1]:
                hidden = jnp.tanh(hidden @ weight + bias)
            outputs_of[name] = hidden @ layers[-1][0] + layers[-1][1]
        return jax.nn.log_softmax(outputs_of["actor"]), outputs_of["critic"][..., 0]

    def side_by_side(by_agent: Mapping[str, Any]) -> Any:
        stacked = jnp.stack([by_agent[name] for name in env.agents])  # (n, B, …)
        return stacked.reshape(actors, -1) if stacked.ndim > 2 else stacked.reshape(actors)

    def step(run: TrainingState, _: None) -> tuple[TrainingState, PlayedSteps]:
        key, for_actions, for_envs = jax.random.split(run.key, 3)
        obs = side_by_side(run.obs)
        log_probs, values = forward(run.network, obs)
        actions = jax.random.categorical(for_actions, log_probs)
        joint = dict(zip(env.agents, actions.reshape(-1, batch), strict=True))
        seen, state, rewards, done, infos = jax.vmap(env.step)(
            jax.random.split(for_envs, batch), run.state, joint
        )
        weight = shaping(run.update * batch * length)
        paid = jax.tree.map(lambda reward, shaped: reward + weight * shaped, rewards, infos["shaped_reward"])
        taken = jnp.take_along_axis(log_probs, actions[:, None], axis=-1)[:, 0]
        steps = PlayedSteps(obs, actions, taken, values, side_by_side(paid), side_by_side(done))
        return run._replace(state=state, obs=seen, key=key), steps

    def advantages_of(steps: PlayedSteps, last_values: Any) -> Any:
        def one(carry: tuple[Any, Any], step: PlayedSteps) -> tuple[tuple[Any, Any], Any]:
            advantage, following = carry
            goes_on = settings["gamma"] * (1.0 - step.done)
            error = step.rewards + goes_on * following - step.values
            advantage = error + settings["gae_lambda"] * goes_on * advantage
            return (advantage, step.values), advantage

        start = (jnp.zeros_like(last_values), last_values)
        return jax.lax.scan(one, start, steps, reverse=True, unroll=16)[1]

    def loss(network: Any, steps: PlayedSteps, advantages: Any, targets: Any) -> Any:
        clip = settings["clip"]
        log_probs, values = forward(network, steps.obs)
        taken = jnp.take_along_axis(log_probs, steps.actions[:, None], axis=-1)[:, 0]
        near = steps.values + jnp.clip(values - steps.values, -clip, clip)
        value_loss = 0.5 * jnp.maximum(jnp.square(values - targets), jnp.square(near - targets)).mean()
        scaled = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        ratio = jnp.exp(taken - steps.log_probs)
        gain = jnp.minimum(ratio * scaled, jnp.clip(ratio, 1.0 - clip, 1.0 + clip) * scaled).mean()
        entropy = -(jnp.exp(log_probs) * log_probs).sum(axis=-1).mean()
        return settings["value_loss"] * value_loss - gain - settings["entropy"] * entropy

    def minibatch(carry: tuple[Any, Any], part: Any) -> tuple[tuple[Any, Any], Any]:
        network, state = carry
        value, gradients = jax.value_and_grad(loss)(network, *part)
        changes, state = optimizer.update(gradients, state)
        return (optax.apply_updates(network, changes), state), value

    def update(run: TrainingState, _: None) -> tuple[TrainingState, Any]:
        run, steps = jax.lax.scan(step, run, None, length)
        advantages = advantages_of(steps, forward(run.network, side_by_side(run.obs))[1])
        played = (steps, advantages, advantages + steps.values)
        flat = jax.tree.map(lambda leaf: leaf.reshape(length * actors, *leaf.shape[2:]), played)

        def epoch(carry: tuple[Any, Any], key: Any) -> Any:
            order = jax.random.permutation(key, length * actors)
            shuffled = jax.tree.map(
                lambda leaf: jnp.take(leaf, order, axis=0).reshape(minibatches, -1, *leaf.shape[1:]), flat
            )
            return jax.lax.scan(minibatch, carry, shuffled)

        key, for_epochs = jax.random.split(run.key)
        keys = jax.random.split(for_epochs, settings["epochs"])
        (network, state), _ = jax.lax.scan(epoch, (run.network, run.optimizer), keys)
        score = run.state.returned_episode_returns.mean()
        return run._replace(network=network, optimizer=state, update=run.update + 1, key=key), score

    return begin, update
