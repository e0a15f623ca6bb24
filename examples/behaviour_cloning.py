"""Behaviour cloning in one file: a policy that imitates recorded games, its accuracy, and how it plays.

python -m cogrid humans clean_train_trials.pickle --out humans      the dataset, one file for each kitchen
python examples/behaviour_cloning.py humans/Overcooked-CrampedRoom-V0.npz --out clone.npz
python -m cogrid play Overcooked-CrampedRoom-V0 --partner clone.npz
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

import cogrid
from cogrid import policy_file
from cogrid.crossplay.pairs import crossplay
from cogrid.policy_file import PolicyFile

Array = Any


def split(data: Any, held_out: float) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Observations and actions of single people, from the first games and from the last ones."""
    games, people = data["game"], data["people"]
    later = games >= max(1, round((1 - held_out) * (games.max() + 1)))
    obs = data["obs"].reshape(*people.shape, -1).astype(np.float32)  # (N, n, inputs)
    first, last = (
        (obs[rows], data["actions"][rows]) for rows in (people & part[:, None] for part in (~later, later))
    )
    return first, last


def logits_of(network: eqx.nn.MLP, obs: Array) -> Array:
    return jax.vmap(network)(obs)


def fit(obs: Array, actions: Array, settings: argparse.Namespace, n_actions: int) -> eqx.nn.MLP:
    """An MLP with tanh layers, by Adam on the cross-entropy."""
    key = jax.random.key(settings.seed)
    network = eqx.nn.MLP(obs.shape[-1], n_actions, settings.hidden, 2, jnp.tanh, key=key)
    optimizer = optax.adamw(settings.learning_rate, weight_decay=1e-4)

    obs, actions = jnp.asarray(obs), jnp.asarray(actions, jnp.int32)

    def loss(arrays: Any, members: Array) -> Array:
        logits = logits_of(eqx.combine(arrays, static), obs[members])
        return optax.softmax_cross_entropy_with_integer_labels(logits, actions[members]).mean()

    # The activation is no array, so that a scan carries the arrays and the rest stands beside it.
    arrays, static = eqx.partition(network, eqx.is_array)

    def step(carry: tuple[Any, Any], members: Array) -> tuple[tuple[Any, Any], Array]:
        arrays, state = carry
        value, gradients = jax.value_and_grad(loss)(arrays, members)
        changes, state = optimizer.update(gradients, state, arrays)
        return (optax.apply_updates(arrays, changes), state), value

    epoch = jax.jit(lambda carry, order: jax.lax.scan(step, carry, order))
    carry = arrays, optimizer.init(arrays)
    size = min(settings.batch, len(obs))
    for number in range(settings.epochs):
        order = jax.random.permutation(jax.random.fold_in(key, number), len(obs))
        order = order[: len(obs) // size * size].reshape(-1, size)
        carry, losses = epoch(carry, order)
        if number == 0 or (number + 1) % 5 == 0:
            print(f"epoch {number + 1} of {settings.epochs}: loss {losses.mean():.3f}", flush=True)
    return eqx.combine(carry[0], static)


def accuracy(network: eqx.nn.MLP, obs: Array, actions: Array) -> float:
    """How often the most likely action is the one that was taken."""
    return float((np.asarray(logits_of(network, jnp.asarray(obs))).argmax(axis=-1) == actions).mean())


def main() -> None:
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=as_written)
    parser.add_argument("data", type=Path, help="a file that `python -m cogrid humans` wrote")
    parser.add_argument("--out", type=Path, default=Path("clone.npz"), help="the policy's file (clone.npz)")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--held-out", type=float, default=0.2, help="share of the games to measure on (0.2)")
    parser.add_argument("--episodes", type=int, default=20, help="that it plays with each partner (20)")
    parser.add_argument("--seed", type=int, default=0)
    settings = parser.parse_args()
    with np.load(settings.data, allow_pickle=False) as data:
        id, observation = str(data["id"]), str(data["observation"])
        train, test = split(data, settings.held_out)
    env = cogrid.make(id)
    network = fit(*train, settings, len(env.action_names))
    agreement = {
        name: accuracy(network, *part) for name, part in (("seen", train), ("held out", test)) if len(part[0])
    }
    for name, share in agreement.items():
        print(f"accuracy on games that were {name}: {share:.3f}")
    layers = [(np.asarray(layer.weight).T, np.asarray(layer.bias)) for layer in network.layers]
    options = {name: value for name, value in vars(settings).items() if isinstance(value, (int, float))}
    about = {"accuracy": agreement, "seed": settings.seed, "options": options | {"steps": len(train[0])}}
    policy_file.save(settings.out, PolicyFile(id, observation, layers, about))
    result = crossplay(env, {"clone": str(settings.out), "scripted": "scripted"}, settings.episodes)
    print(result.text())
    policy_file.save(
        settings.out, PolicyFile(id, observation, layers, about | {"score": float(result.table[0, 0])})
    )
    print(settings.out)


if __name__ == "__main__":
    main()
