"""A policy gradient in plain NumPy through Gymnasium's vector API: no JAX, no torch, gradients by hand.

python examples/numpy_policy_gradient.py                    CrampedRoom, about a minute
python examples/numpy_policy_gradient.py --steps 100000     a first look

Each agent is a sub-environment of a Gymnasium VectorEnv, and one small actor-critic plays them all. It learns
from the kitchen's reward with its shaping, and is judged without: by the soups that it delivers.
"""

import argparse
import os
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # for matrices this small threads wait more than they work

import numpy as np  # after that

import cogrid
from cogrid.adapters.gymnasium import AgentVectorEnv

GAMMA, LAMBDA = 0.99, 0.95
ENTROPY, VALUE, RATE = 0.01, 0.5, 5e-3
HIDDEN, LENGTH = 64, 16  # units, and steps between two updates


def main() -> None:
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=as_written)
    parser.add_argument("--id", default="Overcooked-CrampedRoom-V0", help="kitchen (%(default)s)")
    steps = "environment steps, also 1e6 (%(default)s)"
    parser.add_argument("--steps", type=lambda text: int(float(text)), default=3_000_000, help=steps)
    parser.add_argument("--num-envs", type=int, default=64, help="kitchens side by side (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    options = parser.parse_args()

    generator = np.random.default_rng(options.seed)
    envs = AgentVectorEnv(cogrid.make_vec(options.id, options.num_envs, shaping=1.0))
    inputs, actions = envs.single_observation_space.shape[0], int(envs.single_action_space.n)
    network = begin(generator, inputs, actions)
    print(f"random play: {evaluate(options.id, network, generator):.2f} soups an episode")

    optimizer = {name: (np.zeros_like(w), np.zeros_like(w)) for name, w in network.items()}
    obs, _ = envs.reset(seed=options.seed)
    updates = max(1, options.steps // (options.num_envs * LENGTH))
    start, reward = time.perf_counter(), 0.0
    for update in range(1, updates + 1):
        obs, steps, last_values = play(envs, network, obs, generator)
        advantages = advantages_of(steps["rewards"], steps["values"], steps["done"], last_values)
        gradients = gradients_of(network, flat(steps), advantages.ravel())
        descend(network, optimizer, gradients, update, RATE * (1 - update / updates))
        reward += steps["rewards"].mean() * envs.vec.spec.max_steps
        if update % max(1, updates // 20) == 0:
            done, passed = update * LENGTH * options.num_envs, time.perf_counter() - start
            mean = reward / max(1, updates // 20)
            print(
                f"{done:>10,} steps  {done / passed:8,.0f} steps/s  {mean:6.1f} points of reward an episode"
            )
            reward = 0.0
    passed = time.perf_counter() - start
    print(f"after {passed:.0f} s: {evaluate(options.id, network, generator):.2f} soups an episode")


def begin(generator, inputs, actions):
    """One hidden layer; a head for the policy, whose actions begin equally likely, and one for the value."""
    return {
        "hidden": generator.normal(0, inputs**-0.5, (inputs, HIDDEN)).astype(np.float32),
        "hidden bias": np.zeros(HIDDEN, np.float32),
        "policy": np.zeros((HIDDEN, actions), np.float32),
        "policy bias": np.zeros(actions, np.float32),
        "value": np.zeros(HIDDEN, np.float32),
        "value bias": np.zeros(1, np.float32),
    }


def forward(network, obs):
    """(N, inputs) -> what the hidden units say (N, HIDDEN), probabilities (N, actions), values (N,)."""
    hidden = np.tanh(obs @ network["hidden"] + network["hidden bias"])
    logits = hidden @ network["policy"] + network["policy bias"]
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return hidden, odds / odds.sum(axis=1, keepdims=True), hidden @ network["value"] + network["value bias"]


def sample(generator, probabilities):
    """One action a row."""
    drawn = generator.random((len(probabilities), 1)) > probabilities.cumsum(axis=1)
    return np.minimum(drawn.sum(axis=1), probabilities.shape[1] - 1)


def play(envs, network, obs, generator):
    """LENGTH steps of all agents: what they see next, the steps (LENGTH, N, …), and the values there."""
    kept = {name: [] for name in ("obs", "actions", "rewards", "done", "values")}
    for _ in range(LENGTH):
        _, probabilities, values = forward(network, obs)
        actions = sample(generator, probabilities)
        seen, rewards, terminations, truncations, _ = envs.step(actions)
        step = (obs, actions, rewards, terminations | truncations, values)
        for name, value in zip(kept, step, strict=True):
            kept[name].append(value)
        obs = seen
    return obs, {name: np.stack(values) for name, values in kept.items()}, forward(network, obs)[2]


def advantages_of(rewards, values, done, last_values):
    """(LENGTH, N), generalised."""
    advantages, following, advantage = np.empty_like(values), last_values, np.zeros_like(last_values)
    for t in reversed(range(len(rewards))):
        goes_on = 1 - done[t].astype(np.float32)
        error = rewards[t] + GAMMA * goes_on * following - values[t]
        advantage = error + GAMMA * LAMBDA * goes_on * advantage
        advantages[t], following = advantage, values[t]
    return advantages


def flat(steps):
    """(LENGTH, N, …) -> (LENGTH · N, …)"""
    return {name: value.reshape(-1, *value.shape[2:]) for name, value in steps.items()}


def loss_of(network, steps, advantages):
    """What `gradients_of` is the gradient of; here to be read, and for the test that compares the two."""
    _, probabilities, values = forward(network, steps["obs"])
    taken = np.log(np.take_along_axis(probabilities, steps["actions"][:, None], axis=1)[:, 0])
    entropy = -(probabilities * np.log(probabilities)).sum(axis=1)
    errors = values - (advantages + steps["values"])
    return (-normal(advantages) * taken - ENTROPY * entropy + VALUE * errors**2 / 2).mean()


def gradients_of(network, steps, advantages):
    """By hand, from the loss back to every weight."""
    obs, actions = steps["obs"], steps["actions"]
    hidden, probabilities, values = forward(network, obs)
    logs = np.log(probabilities)
    chosen = np.eye(probabilities.shape[1], dtype=np.float32)[actions]
    surprise = (probabilities * logs).sum(axis=1, keepdims=True)  # the negative entropy
    by_logits = (probabilities - chosen) * normal(advantages)[:, None]
    by_logits += ENTROPY * probabilities * (logs - surprise)
    by_logits /= len(obs)
    by_values = VALUE * (values - (advantages + steps["values"])) / len(obs)
    by_hidden = by_logits @ network["policy"].T + by_values[:, None] * network["value"]
    by_hidden *= 1 - hidden**2  # through the tanh
    return {
        "hidden": obs.T @ by_hidden,
        "hidden bias": by_hidden.sum(axis=0),
        "policy": hidden.T @ by_logits,
        "policy bias": by_logits.sum(axis=0),
        "value": by_values @ hidden,
        "value bias": by_values.sum(keepdims=True),
    }


def normal(advantages):
    return (advantages - advantages.mean()) / (advantages.std() + 1e-8)


def descend(network, optimizer, gradients, update, rate):
    """One step of Adam, in place, with gradients of norm 0.5 at most."""
    norm = np.sqrt(sum((g**2).sum() for g in gradients.values()))
    scale = min(1.0, 0.5 / (norm + 1e-8))
    for name, gradient in gradients.items():
        mean, square = optimizer[name]
        mean += 0.1 * (scale * gradient - mean)
        square += 0.001 * ((scale * gradient) ** 2 - square)
        hat, root = mean / (1 - 0.9**update), np.sqrt(square / (1 - 0.999**update))
        network[name] -= rate * hat / (root + 1e-5)


def evaluate(id, network, generator):
    """Soups in an episode, the mean of 64."""
    vec = cogrid.make_vec(id, 64)  # without shaping the reward is the score
    envs, soup = AgentVectorEnv(vec), vec.spec.game.soup_value
    obs, _ = envs.reset(seed=1)
    total = 0.0
    for _ in range(vec.spec.max_steps):
        obs, rewards, *_ = envs.step(sample(generator, forward(network, obs)[1]))
        total += rewards.mean() / soup
    return total


if __name__ == "__main__":
    main()
