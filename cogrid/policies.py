"""Policies by name: scripted, random, from the zoo, or trained and loaded from a file; none needs JAX."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np

from cogrid import policy_file, zoo
from cogrid.backend import rng
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState
from cogrid.core.game import Game
from cogrid.core.observation import observer
from cogrid.core.rules import Rules, compile_rules
from cogrid.envs.commons.policies import ScriptedPlayers
from cogrid.envs.foraging.policies import ScriptedForagers
from cogrid.envs.goals.policies import ScriptedWalkers
from cogrid.envs.overcooked.game import Kitchen
from cogrid.envs.overcooked.policies import ScriptedCooks
from cogrid.envs.overcooked_v2.game import KitchenV2
from cogrid.envs.scripted import Scripted
from cogrid.envs.search_rescue.policies import ScriptedRescuers

#: A single state on NumPy -> actions by agent.
Policy = Callable[[EnvState], dict[int, int]]
POLICIES = ("scripted", "random")
GREEDY = "greedy:"  # before the name or file of a trained policy: always its most likely action
#: What a policy can be, for --help.
NAMED = (
    f"{', '.join(POLICIES)}, a name from `zoo`, or a policy-SEED.npz from `train`; "
    f"{GREEDY} before the last two takes the most likely action"
)
AnyScript = ScriptedCooks | Scripted
_SCRIPTS: Mapping[type[Game], type[AnyScript]] = MappingProxyType(
    {Kitchen: ScriptedCooks, KitchenV2: ScriptedCooks}
    | {s.game: s for s in (ScriptedPlayers, ScriptedForagers, ScriptedWalkers, ScriptedRescuers)}
)


def script_for(game: Game) -> type[AnyScript] | None:
    """The script that plays a game, called with `(rules, agents, seed=, noise=)`; None without one."""
    return next((script for played, script in _SCRIPTS.items() if isinstance(game, played)), None)


def policy_of(name: str, rules: Rules, agents: Iterable[int] | None = None, seed: int = 0) -> Policy:
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
    """The file of a trained policy, greedy or not."""
    return zoo.find(name.removeprefix(GREEDY))


class Actor:
    """A policy file that acts in the states of some rules, whatever their own observation is.

    It keeps the policy's memory, for each agent and each environment of a batch.
    """

    def __init__(self, name: str, rules: Rules) -> None:
        path = file_of(name)
        if not path.is_file():
            raise ValueError(
                f"{name!r} is neither a policy nor a policy file: choose {', '.join(POLICIES)}, a name from "
                "`python -m cogrid zoo`, or a policy-SEED.npz from `python -m cogrid train`; "
                f"{GREEDY} before one of the last two takes its most likely actions."
            )
        self._path, self._file, self._greedy = path, policy_file.load(path), name.startswith(GREEDY)
        self._memory = np.zeros((0, 0), np.float32)  # (*B, n, size) once the batch size is known
        spec = dataclasses.replace(rules.spec, observation=self._file.observation)
        self._rules = compile_rules(spec, "numpy")
        layers, sizes = self._file.layers, (math.prod(observer(self._rules).shape), rules.n_actions)
        if (len(layers[0][0]), len(layers[-1][1])) != sizes:
            raise ValueError(f"{path} was trained in {self._file.id}, which has different observations.")

    def actions(self, state: EnvState, seats: Array, draw: np.random.Generator) -> Array:
        """(seats,) actions of the agents that the mask `seats` (*B, n) selects, drawn unless greedy."""
        seen = observer(self._rules).see(state.evolve(rules=self._rules))[seats]
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


def _trained(actor: Actor, agents: tuple[int, ...], n: int, draw: np.random.Generator) -> Policy:
    seats = np.isin(np.arange(n), agents)
    order = sorted(agents)
    return lambda state: dict(zip(order, actor.actions(state, seats, draw).tolist(), strict=True))
