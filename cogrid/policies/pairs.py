"""Cross-play: every pair of policies plays together, in both seats, in one NumPy batch; needs no JAX."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from cogrid._core.rules import Rules
from cogrid._core.state.pool import environment
from cogrid._io import files
from cogrid._io.messages import several
from cogrid.backend import rng
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState
from cogrid.cogrid_env import CoGridEnv
from cogrid.envs.registry import recipe
from cogrid.policies import policy_file
from cogrid.policies.named import POLICIES, Actor, file_of, policy_of

MAX_GAMES = 2**16
SEATS = "mean returns; the player of the row is agent 0, that of the column all others"
#: A batch of states and the seats (B, n) that a player has -> actions (B, n), of which those seats count.
BatchPolicy = Callable[[EnvState, Array], Array]


class CrossPlay(NamedTuple):
    """Points of all pairs: player a is agent 0, player b the other agents."""

    id: str
    names: tuple[str, ...]
    points: Array  # (a, b, episodes) mean over the agents
    options: Mapping[str, Any] = MappingProxyType({})  # of the environment, that were changed
    policies: tuple[Mapping[str, Any], ...] = ()  # of the players: the file, and what it was trained with

    @property
    def table(self) -> Array:
        """(a, b) mean over the episodes."""
        return self.points.mean(axis=-1)

    def figures(self) -> dict[str, Any]:
        """The usual figures: self-play, cross-play, their gap, and the worst pair."""
        table, same = self.table, np.eye(len(self.names), dtype=bool)
        figures: dict[str, Any] = {"self-play": float(table[same].mean())}
        if len(self.names) > 1:
            worst = np.unravel_index(np.where(same, np.inf, table).argmin(), table.shape)
            figures["cross-play"] = float(table[~same].mean())
            figures["gap"] = figures["self-play"] - figures["cross-play"]
            figures["worst pair"] = [*(self.names[player] for player in worst), float(table[worst])]
        return figures

    def text(self) -> str:
        """The table and the figures for a terminal."""
        wide = max(8, *(len(name) for name in self.names)) + 2
        lines = [SEATS, "".join(f"{name:>{wide}}" for name in ("", *self.names))]
        lines += [
            f"{name:>{wide}}" + "".join(f"{value:>{wide}.1f}" for value in row)
            for name, row in zip(self.names, self.table.round(1) + 0.0, strict=True)  # 0.0 also for -0.04
        ]
        for name, value in self.figures().items():
            shown = (
                f"{value:.1f}" if isinstance(value, float) else f"{value[0]} with {value[1]}: {value[2]:.1f}"
            )
            lines.append(f"{name}: {shown}")
        return "\n".join(lines)

    def save(self, folder: Path) -> None:
        """Write crossplay.json and, where matplotlib is installed, the heat map crossplay.png."""
        content = {
            "id": self.id,
            "options": dict(self.options),
            "players": self.names,
            "policies": self.policies,
            "mean": self.table.tolist(),
            "deviation": self.points.std(axis=-1).tolist(),
            "episodes": self.points.shape[-1],
            "figures": self.figures(),
        }
        folder.mkdir(parents=True, exist_ok=True)
        files.write(folder / "crossplay.json", json.dumps(content, indent=1) + "\n")
        _write_heat_map(folder / "crossplay.png", self)


def crossplay(
    env: CoGridEnv,
    players: Mapping[str, str],
    episodes: int = 20,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> CrossPlay:
    """Play `episodes` games of every ordered pair; a player is named as in `policy_of`.

    Game i of every pair starts with seed + i. `progress` is called with the step and the number of steps.
    """
    if env.backend != "numpy":
        raise ValueError(f"cross-play runs on numpy, not on {env.backend}: make(..., backend='numpy').")
    if env.spec.num_agents < 2:
        raise ValueError("cross-play takes an environment of at least two agents.")
    names, rules = tuple(players), env.rules
    count, n = len(names), env.spec.num_agents
    if not names or episodes < 1 or count * count * episodes > MAX_GAMES:
        games = (
            f"{several(count, 'player')} and {several(episodes, 'episode')} make {count**2 * episodes} games"
        )
        raise ValueError(f"{games}, but there must be from 1 to {MAX_GAMES:,}.")
    policies = [_batch_policy(kind, rules, seed, number) for number, kind in enumerate(players.values())]
    first, second, game = (part.ravel() for part in np.indices((count, count, episodes)))
    owners = np.stack([first, *[second] * (n - 1)], axis=-1)  # (B, n) players
    state, _ = env.reset_fn(np.stack([rng.key(seed + number) for number in range(episodes)])[game])
    points = np.zeros(len(game))
    for step in range(env.spec.max_steps):
        actions = np.zeros(owners.shape, np.int32)
        for number, act in enumerate(policies):
            seats = owners == number
            actions = np.where(seats, act(state, seats), actions)
        state, _, rewards, done, _ = env.step_fn(state, actions)
        points += rewards.mean(axis=-1)
        if progress:
            progress(step + 1, env.spec.max_steps)
        if done.all():
            break
    id, options = recipe(env.spec, env.id) or (env.id or str(env.config["layout"]), {})
    known = tuple(map(_identity, players.values()))
    return CrossPlay(id, names, points.reshape(count, count, episodes), options, known)


def _identity(kind: str) -> dict[str, Any]:
    """A policy as it was named; of a trained one also the file, its environment and its options."""
    if kind in POLICIES:
        return {"policy": kind}
    file = file_of(kind)
    policy = policy_file.load(file)
    return {"policy": kind, "file": file.name, "id": policy.id, "options": policy.game_options}


def _batch_policy(kind: str, rules: Rules, seed: int, number: int) -> BatchPolicy:
    """A policy for many environments at once, with its own random stream."""
    draw = np.random.default_rng([rng.seed(seed) % 2**64, number])
    if kind == "random":
        return lambda state, seats: draw.integers(rules.n_actions, size=seats.shape)
    if kind in POLICIES:
        return _Each(kind, rules, seed)
    actor = Actor(kind, rules)

    def act(state: EnvState, seats: Array) -> Array:
        actions = np.zeros(seats.shape, np.int64)
        actions[seats] = actor.actions(state, seats, draw)
        return actions

    return act


class _Each:
    """A policy for single states, one instance for each environment in which it has seats."""

    def __init__(self, kind: str, rules: Rules, seed: int) -> None:
        self._policy = functools.cache(lambda game, agents: policy_of(kind, rules, agents, seed=seed + game))

    def __call__(self, state: EnvState, seats: Array) -> Array:
        actions = np.zeros(seats.shape, np.int64)
        for game in np.flatnonzero(seats.any(axis=-1)).tolist():
            agents = tuple(np.flatnonzero(seats[game]).tolist())
            for agent, action in self._policy(game, agents)(environment(state, game)).items():
                actions[game, agent] = action
        return actions


def _write_heat_map(path: Path, result: CrossPlay) -> None:
    try:
        from matplotlib.figure import Figure  # optional: needs the extra `train`
    except ModuleNotFoundError:
        return
    table, count = result.table, len(result.names)
    longest = 0.1 * max(map(len, result.names))  # inches; without this room labels are cut off
    figure = Figure(figsize=(2.2 + 0.8 * count + longest, 1.4 + 0.7 * count + longest), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(table, cmap="viridis")
    middle = (table.min() + table.max()) / 2
    for a in range(count):
        for b in range(count):
            colour = "white" if table[a, b] < middle else "black"
            axes.text(b, a, f"{round(float(table[a, b]))}", ha="center", va="center", color=colour)
    axes.set_xticks(range(count), result.names, rotation=30, ha="right", parse_math=False)
    axes.set_yticks(range(count), result.names, parse_math=False)
    axes.set(xlabel="the other agents", ylabel="agent 0")
    axes.set_title(result.id, parse_math=False)
    figure.colorbar(image, label="mean return")
    with files.replacing(path) as file:
        figure.savefig(file, dpi=80, bbox_inches="tight")
