"""The learner: independent PPO for one seed as pure functions, which the loop maps over many."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from cogrid._apps.train.network import Network, Past, Sight, forget, log_prob
from cogrid._apps.train.options import Options, environment, scored
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState
from cogrid.envs.registry import find, spec_of


class Run(NamedTuple):
    """The complete state of training, as plain arrays; several seeds are a leading axis."""

    seed: Array  # ()
    update: Array  # () updates so far
    network: Network
    optimizer: Any
    state: EnvState  # (B, …)
    obs: Array  # (B, n, …)
    memory: Array | None = None  # (B, n, size) of a network that has one


class Steps(NamedTuple):
    """The steps between two updates: T steps of B environments with n agents."""

    obs: Array  # (T, B, n, inputs) what the network saw before the agents acted
    actions: Array  # (T, B, n)
    log_probs: Array  # (T, B, n)
    values: Array  # (T, B, n)
    rewards: Array  # (T, B, n) with shaping
    rest: Array  # (T, B, n) bootstrap value where the time limit truncated the episode, else 0
    done: Array  # (T, B)
    score: Array  # (T, B) mean over the agents, without shaping
    lasted: Array | None = None  # (T, B) length of an episode that ends here, where agents can end it early
    seen: Array | None = None  # (T, recorded, n, …) the full observations, of some environments


class Batch(NamedTuple):
    """The training data from these steps, in rows; those of an environment are contiguous."""

    obs: Array  # (B, T · n, inputs), in a minibatch (rows, inputs)
    actions: Array  # (B, T · n) like all others
    log_probs: Array
    advantages: Array
    targets: Array  # of the values


class Recorded(NamedTuple):
    """The steps that NumPy replays; the arguments of `Shadow.chunk`."""

    first: EnvState  # (B, …)
    actions: Array
    obs: Array
    rewards: Array
    done: Array
    last: EnvState  # (B, …)


class Log(NamedTuple):
    """What is reported about an update."""

    score: Array  # () return of a scored episode at the rate of these steps, without shaping
    entropy: Array  # ()
    recorded: Recorded | None = None


class Learner:
    """Agents that share a network, each learning with PPO from its own observations."""

    def __init__(self, options: Options, recorded: int = 0) -> None:
        """The steps of `recorded` environments are returned; with 0, that code is not compiled."""
        self.options = options
        self.recorded = recorded
        self.env = environment(options)
        self.sight = Sight(self.env.rules)
        self.episode = spec_of(find(options.id), scored(options)).max_steps  # of an episode that is scored
        terms = self.env.spec.game.rewards()
        self.score_terms = tuple(term.name for term in terms if not term.shaping)
        gradient_steps = options.updates * options.epochs * options.minibatches
        rate = optax.linear_schedule(options.learning_rate, 0.0, gradient_steps)
        self.optimizer = optax.chain(
            optax.clip_by_global_norm(options.max_gradient), optax.adam(rate, eps=1e-5)
        )

    def mean(self, tree: Any) -> Any:
        """The mean over the devices that share the environments."""
        return jax.lax.pmean(tree, "envs") if self.options.sharing > 1 else tree

    def begin(self, seed: Array) -> Run:
        """A new network in freshly reset environments."""
        for_network, for_envs = jax.random.split(jax.random.fold_in(jax.random.key(seed), 2**31))
        actions = len(self.env.action_names)
        size, agents = self.options.memory, self.env.spec.num_agents
        network = Network(for_network, self.sight.inputs, self.options.hidden, actions, size)
        state, obs = self.env.jax_reset(jax.random.split(for_envs, self.options.num_envs))
        memory = jnp.zeros((self.options.num_envs, agents, size)) if size else None
        optimizer = self.optimizer.init(network)
        return Run(seed, jnp.zeros((), jnp.int32), network, optimizer, state, obs, memory)

    def chunk(self, run: Run) -> tuple[Run, Log]:
        """Several updates in one compiled loop."""
        return jax.lax.scan(self.update, run, None, length=self.options.chunk)  # type: ignore[no-any-return]

    def update(self, run: Run, _: None) -> tuple[Run, Log]:
        """Play, then learn from it."""
        # Randomness is a function of the seed and the update: there is no key to store.
        key = jax.random.fold_in(jax.random.key(run.seed), run.update)
        if self.options.sharing > 1:
            key = jax.random.fold_in(key, jax.lax.axis_index("envs"))
        for_play, for_learning = jax.random.split(key)
        passed = run.update / self.options.updates
        weight = jnp.where(passed < self.options.shaping, 1.0 - passed / self.options.shaping, 0.0)
        state = self.env.replace(run.state, shaping_weight=weight)
        last, obs, steps, memory = self.play(run.network, state, run.obs, for_play, run.memory)
        network, optimizer, entropy = self.learn(run, steps, obs, memory, for_learning)
        score = self.mean(steps.score.mean()) * self.length(steps)
        log = Log(score, self.mean(entropy), self.record(state, steps, last))
        return Run(run.seed, run.update + 1, network, optimizer, last, obs, memory), log

    def length(self, steps: Steps) -> Array | int:
        """Steps of a scored episode; where agents can end one early, the mean of those that ended here."""
        if steps.lasted is None:
            return self.episode
        ended = self.mean(steps.done.mean())
        total = self.mean(jnp.where(steps.done, steps.lasted, 0).mean())
        return jnp.where(ended > 0, total / jnp.maximum(ended, 1e-9), self.episode)

    def play(
        self, network: Network, state: EnvState, obs: Array, key: Array, memory: Array | None = None
    ) -> tuple[EnvState, Array, Steps, Array | None]:
        """Play `num_steps` in every environment, with automatic reset."""

        def one(carry: tuple[Any, ...], key: Array) -> tuple[tuple[Any, ...], Steps]:
            state, obs, memory = carry
            seen = self.sight(obs)
            logits, values, memory = network(seen, memory)
            actions = jax.random.categorical(key, logits)
            whole = obs[: self.recorded] if self.recorded else None
            state, obs, rewards, done, infos = self.env.jax_step(state, actions)
            rest, taken = self.rest(network, state, obs, done, memory), log_prob(logits, actions)
            lasted = self.lasted(state)
            steps = Steps(seen, actions, taken, values, rewards, rest, done, self.score(infos), lasted, whole)
            return (*self.env.renew_fn(state, obs, done), forget(memory, done)), steps

        keys = jax.random.split(key, self.options.num_steps)
        (state, obs, memory), steps = jax.lax.scan(one, (state, obs, memory), keys)
        return state, obs, steps, memory

    def rest(
        self, network: Network, state: EnvState, obs: Array, done: Array, memory: Array | None = None
    ) -> Array:
        """(B, n) the value of the last observation where the time limit truncates the episode, else 0.

        Agents do not observe the time: without this, the same observation would be worth less late in an
        episode.
        """
        cut = done[:, None] & (jnp.ones_like(state.pos, bool) if state.ended is None else ~state.ended)
        worth = lambda: jnp.where(cut, network(self.sight(obs), memory)[1], 0.0)  # noqa: E731
        return jax.lax.cond(done.any(), worth, lambda: jnp.zeros(cut.shape))

    def lasted(self, state: EnvState) -> Array | None:
        """(B,) the time if all agents have ended, else the length of a scored episode, whatever the limit."""
        if state.ended is None:
            return None
        return jnp.where(state.ended.all(axis=-1), state.time, self.episode)

    def score(self, infos: dict[str, Any]) -> Array:
        """(…, ) points of a step without shaping, as the mean over the agents."""
        return jnp.stack([infos["rewards"][name].mean(axis=-1) for name in self.score_terms]).sum(axis=0)

    def learn(
        self, run: Run, steps: Steps, obs: Array, memory: Array | None, key: Array
    ) -> tuple[Network, Any, Array]:
        """Several passes over the steps, in minibatches; `obs` and `memory` are those after the steps."""
        _, last_values, _ = run.network(self.sight(obs), memory)
        advantages = self.advantages(steps, last_values)
        past = None if run.memory is None else Past(run.memory, steps.done.T)
        batch = self.batch(steps, advantages)
        bonus = self.options.entropy * (1.0 - run.update / self.options.updates)

        def minibatch(carry: tuple[Network, Any], members: Array) -> tuple[tuple[Network, Any], Array]:
            network, optimizer = carry
            part = jax.tree.map(lambda x: x[members].reshape(-1, *x.shape[2:]), batch)
            before = jax.tree.map(lambda x: x[members], past)
            gradients, entropy = jax.grad(self.loss, has_aux=True)(network, bonus, part, before)
            gradients = self.mean(gradients)  # all devices take the same step
            changes, optimizer = self.optimizer.update(gradients, optimizer)
            return (optax.apply_updates(network, changes), optimizer), entropy

        def epoch(carry: tuple[Network, Any], key: Array) -> tuple[tuple[Network, Any], Array]:
            # A minibatch is made of whole environments, which is cheaper than a shuffle of all steps.
            members = jax.random.permutation(key, steps.done.shape[1])  # on this device
            return jax.lax.scan(minibatch, carry, members.reshape(self.options.minibatches, -1))  # type: ignore[no-any-return]

        keys = jax.random.split(key, self.options.epochs)
        (network, optimizer), entropy = jax.lax.scan(epoch, (run.network, run.optimizer), keys)
        return network, optimizer, entropy.mean()

    @staticmethod
    def batch(steps: Steps, advantages: Array) -> Batch:
        """Environments first; a CPU multiplies fast only matrices of two axes."""
        parts = (steps.obs, steps.actions, steps.log_probs, advantages, advantages + steps.values)
        return Batch(*(jnp.moveaxis(x, 1, 0).reshape(x.shape[1], -1, *x.shape[3:]) for x in parts))

    def advantages(self, steps: Steps, last_values: Array) -> Array:
        """(T, B, n) generalised advantages; truncated episodes are bootstrapped."""
        gamma, decay = self.options.gamma, self.options.gamma * self.options.gae_lambda

        def one(carry: tuple[Array, Array], step: tuple[Array, ...]) -> tuple[tuple[Array, Array], Array]:
            advantage, following = carry
            rewards, values, rest, done = step
            goes_on = 1.0 - done[:, None]
            error = rewards + gamma * (goes_on * following + rest) - values
            advantage = error + decay * goes_on * advantage
            return (advantage, values), advantage

        start = (jnp.zeros_like(last_values), last_values)
        rewards = self.options.reward_scale * steps.rewards
        played = (rewards, steps.values, steps.rest, steps.done)
        return jax.lax.scan(one, start, played, reverse=True)[1]

    def loss(
        self, network: Network, bonus: Array, batch: Batch, past: Past | None = None
    ) -> tuple[Array, Array]:
        """PPO's clipped loss with an entropy bonus, and the entropy."""
        options = self.options
        logits, values = network.replay(batch.obs, past)
        ratio = jnp.exp(log_prob(logits, batch.actions) - batch.log_probs)
        bounded = jnp.clip(ratio, 1.0 - options.clip, 1.0 + options.clip)
        advantages = batch.advantages - self.mean(batch.advantages.mean())
        advantages = advantages / (jnp.sqrt(self.mean(jnp.square(advantages).mean())) + 1e-8)
        policy_loss = -jnp.minimum(ratio * advantages, bounded * advantages).mean()
        value_loss = 0.5 * jnp.square(values - batch.targets).mean()
        log_probs = jax.nn.log_softmax(logits)
        entropy = -(jnp.exp(log_probs) * log_probs).sum(axis=-1).mean()
        return policy_loss + options.value_loss * value_loss - bonus * entropy, entropy

    def record(self, first: EnvState, steps: Steps, last: EnvState) -> Recorded | None:
        """The steps of the first environments, to replay on NumPy after the update."""
        if not self.recorded:
            return None
        first, last = (jax.tree.map(lambda x: x[: self.recorded], state) for state in (first, last))
        actions, rewards, done = (x[:, : self.recorded] for x in (steps.actions, steps.rewards, steps.done))
        return Recorded(first, actions, steps.seen, rewards, done, last)
