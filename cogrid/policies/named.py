"""Policies by name: scripted, random, from the zoo, or trained and loaded from a file; none needs JAX."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cogrid._core.compile.spec import differences
from cogrid._core.rules import Rules, compile_rules
from cogrid._io.reading import as_arguments, as_settings
from cogrid.backend import rng
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState
from cogrid.envs.registry import script_for, spec_of, world_name
from cogrid.policies import policy_file, zoo
from cogrid.policies.policy_file import TRAINING_ONLY, PolicyFile

#: A single state on NumPy -> actions by agent.
StatePolicy = Callable[[EnvState], dict[int, int]]
POLICIES = ("scripted", "random")
GREEDY = "greedy:"  # before the name or file of a trained policy: always its most likely action
#: What a policy can be, for --help.
NAMED = (
    f"{', '.join(POLICIES)}, a name from `zoo`, a policy-SEED.npz from `train`, or its folder for the best "
    f"seed; {GREEDY} before the last three takes the most likely action"
)


def policy_of(name: str, rules: Rules, agents: Iterable[int] | None = None, seed: int = 0) -> StatePolicy:
    """A policy for some agents, all by default; an unknown name is the path of a policy file.

    A policy with a memory resets it at the start of an episode: give it every state of an episode, in order.
    """
    chosen = tuple(range(rules.n_agents) if agents is None else agents)
    if name == "scripted":
        if (script := script_for(rules.spec.game)) is None:
            raise TypeError(f"{type(rules.spec.game).__name__} has no script: use the policy 'random'.")
        return script(rules, chosen, seed=seed).act
    draw = np.random.default_rng(rng.seed(seed) % 2**64)
    if name == "random":
        return lambda state: {agent: int(draw.integers(rules.n_actions)) for agent in chosen}
    return _trained(Actor(name, rules), chosen, rules.n_agents, draw)


def usual_policy(rules: Rules) -> str:
    """The default policy: the one that shows most of a game."""
    return "random" if script_for(rules.spec.game) is None else "scripted"


def file_of(name: str) -> Path:
    """The file of a trained policy, greedy or not; in the folder of a run, that of the best seed."""
    policy = _plain(name)
    path = zoo.find(policy)
    return _best(path) if policy and path.is_dir() else path


def _best(folder: Path) -> Path:
    """The policy with the highest score."""
    scores = {path: policy_file.load(path).about.get("score") for path in sorted(folder.glob("policy-*.npz"))}
    known = {path: score for path, score in scores.items() if isinstance(score, (int, float))}
    if not known:
        raise ValueError(
            f"{folder} has no policy-SEED.npz with a score: `python -m cogrid train` writes them."
        )
    return max(known, key=known.__getitem__)


def options_of(path: Path, id: str) -> dict[str, Any]:
    """The options that a file's policy was trained with; none if it was trained in another environment."""
    policy = _trained_in(path, id)
    if policy is None:
        return {}
    try:
        spec_of(id, policy.game_options)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} was trained with options that {id} does not have: {error}") from None
    return policy.game_options


def _trained_in(path: Path, id: str) -> PolicyFile | None:
    """The policy of a file, if it was trained in this environment."""
    if not path.is_file():  # which `Actor` explains
        return None
    policy = policy_file.load(path)
    return policy if world_name(policy.id) == world_name(id) else None


def best_note(name: str) -> list[str]:
    """Which file a folder stands for, as a line to print."""
    file = file_of(name)
    return [f"The best policy in {file.parent} is {file.name}."] if file.parent == Path(_plain(name)) else []


def training_note(name: str, id: str, chosen: Mapping[str, Any]) -> list[str]:
    """The options that a policy was trained with, as a line to print, where the options given differ."""
    path = file_of(name)
    policy, trained = _trained_in(path, id), options_of(path, id)
    if policy is None:
        return []
    ignored = {*TRAINING_ONLY, "shaping", "observation"}  # a policy sees its own observation
    ignored |= set() if policy.observation == "window" else {"window"}
    differing = differences(spec_of(id, dict(chosen)), spec_of(id, trained))
    other = {option: value for option, value in differing.items() if option not in ignored}
    if "window" in other:  # which has to be given with it
        other["observation"] = policy.observation
    if not other:
        return []
    note = f"{_plain(name)} was trained with {as_settings(other)}"
    if missing := {option: value for option, value in other.items() if option not in chosen}:
        return [f"{note}; add {' '.join(as_arguments(missing))}"]
    return [f"{note}, not {as_settings({option: chosen[option] for option in other})}."]


def _plain(name: str) -> str:
    return name.removeprefix(GREEDY)


class Actor:
    """A policy file that acts in the states of some rules, whatever their own observation is.

    It keeps the policy's memory, for each agent and each environment of a batch.
    """

    def __init__(self, name: str, rules: Rules) -> None:
        path = file_of(name)
        if not path.is_file():
            raise ValueError(
                f"{name!r} is neither a policy nor a policy file: choose {', '.join(POLICIES)}, a name from "
                "`python -m cogrid zoo`, a policy-SEED.npz from `python -m cogrid train`, or its folder; "
                f"{GREEDY} before one of the last three takes its most likely actions."
            )
        self._path, self._file, self._greedy = path, policy_file.load(path), name.startswith(GREEDY)
        self._memory = np.zeros((0, 0), np.float32)  # (*B, n, size) once the batch size is known
        spec = dataclasses.replace(rules.spec, observation=self._file.observation)
        self._rules = compile_rules(spec, "numpy")
        layers, sizes = self._file.layers, (math.prod(self._rules.observer.shape), rules.n_actions)
        if (len(layers[0][0]), len(layers[-1][1])) != sizes:
            trained = as_settings(self._file.game_options) or "its usual options"
            raise ValueError(
                f"{path} was trained in {self._file.id} with {trained}, which has different observations."
            )

    def actions(self, state: EnvState, seats: Array, draw: np.random.Generator) -> Array:
        """(seats,) actions of the agents that the mask `seats` (*B, n) selects, drawn unless greedy."""
        seen = self._rules.observer.see(state.evolve(rules=self._rules))[seats]
        if self._memory.shape[:-1] != seats.shape:
            self._memory = np.zeros((*seats.shape, self._file.size), np.float32)
        self._memory[state.time == 0] = 0  # an episode starts
        logits, self._memory[seats] = self._file.logits(seen, self._memory[seats])
        if not np.isfinite(logits).all():
            raise ValueError(f"{self._path} gives logits that are not finite: its weights are too large.")
        noise = (
            0 if self._greedy else draw.gumbel(size=logits.shape)
        )  # which makes it a draw from the softmax
        return (logits + noise).argmax(axis=-1)


def _trained(actor: Actor, agents: tuple[int, ...], n: int, draw: np.random.Generator) -> StatePolicy:
    seats = np.isin(np.arange(n), agents)
    order = sorted(agents)
    return lambda state: dict(zip(order, actor.actions(state, seats, draw).tolist(), strict=True))
