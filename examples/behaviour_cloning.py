"""Behaviour cloning in one file: policies that imitate recorded games, their accuracy, and how they play.

python examples/behaviour_cloning.py clean_train_trials.pickle clean_test_trials.pickle --out humans
python -m cogrid play Overcooked-CrampedRoom-V0 --partner humans/clones/Overcooked-CrampedRoom-V0.npz

Games are first made into datasets, by `python -m cogrid humans`; a dataset is taken as it is.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

import cogrid
from cogrid.__main__ import main as command
from cogrid.policies import PolicyFile, crossplay, save_policy, usual_policy, zoo

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


def datasets(given: list[Path], out: Path) -> list[Path]:
    """One file for each environment: those that were given, and those made from the games."""
    found = [path for path in given if path.suffix == ".npz"]
    if games := [str(path) for path in given if path not in found]:
        earlier = {path: path.stat().st_mtime_ns for path in out.glob("*.npz")}
        if code := command(["humans", *games, "--out", str(out)]):
            sys.exit(code)
        found += [path for path in sorted(out.glob("*.npz")) if path.stat().st_mtime_ns != earlier.get(path)]
    return list(dict.fromkeys(found))


def clone(path: Path, out: Path, settings: argparse.Namespace) -> None:
    """Learn from a dataset, write the policy, and play with itself, the script and the zoo."""
    with np.load(path, allow_pickle=False) as data:
        id, observation, chosen = str(data["id"]), str(data["observation"]), json.loads(str(data["options"]))
        train, test = split(data, settings.held_out)
    env = cogrid.make(id, observation=observation, **chosen)  # such as a layout of your own
    network = fit(*train, settings, len(env.action_names))
    agreement = {
        name: accuracy(network, *part) for name, part in (("seen", train), ("held out", test)) if len(part[0])
    }
    for name, share in agreement.items():
        print(f"accuracy on games that were {name}: {share:.3f}")
    layers = [(np.asarray(layer.weight).T, np.asarray(layer.bias)) for layer in network.layers]
    options = {name: value for name, value in vars(settings).items() if isinstance(value, (int, float))}
    about = {"cloned from": path.name, "accuracy": agreement, "seed": settings.seed}
    about["options"] = options | {"steps": len(train[0]), "set": chosen}
    out.parent.mkdir(parents=True, exist_ok=True)
    save_policy(out, PolicyFile(id, observation, layers, about))
    trained = [] if chosen else zoo.names(id)  # the zoo learned by the usual rules
    partner = usual_policy(env.rules)
    players = {"clone": str(out), partner: partner}
    players |= {f"zoo-{name.rpartition('-')[2]}": name for name in trained}
    result = crossplay(env, players, settings.episodes)
    print(result.text())
    table = result.table
    beside = (table[0] + table[:, 0]) / 2  # over both seats
    print(f"mean return with itself: {beside[0]:.1f}, {partner}: {beside[1]:.1f}", end="")
    print(f", with the zoo: {beside[2:].mean():.1f}" if trained else "")
    save_policy(out, PolicyFile(id, observation, layers, about | {"score": float(table[0, 0])}))
    print(out, flush=True)


def main() -> None:
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=as_written)
    parser.add_argument(
        "games",
        metavar="FILE",
        nargs="+",
        type=Path,
        help="games that `python -m cogrid humans` reads, or a dataset that it wrote",
    )
    parser.add_argument("--out", type=Path, default=Path("humans"), metavar="FOLDER", help="(humans)")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--held-out", type=float, default=0.2, help="share of the games to measure on (0.2)")
    parser.add_argument("--episodes", type=int, default=20, help="that it plays with each partner (20)")
    parser.add_argument("--seed", type=int, default=0)
    settings = parser.parse_args()
    for path in datasets(settings.games, settings.out):
        clone(path, settings.out / "clones" / path.name, settings)


if __name__ == "__main__":
    main()
