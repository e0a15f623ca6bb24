"""Policies by name: scripted, random, or a trained one from its checkpoint; none of them needs JAX."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from cogrid.backend import rng
from cogrid.backend.env_state import EnvState
from cogrid.core.game import Game
from cogrid.core.observation import observer
from cogrid.core.rules import Rules, compile_rules
from cogrid.envs.commons.game import Commons
from cogrid.envs.commons.policies import ScriptedPlayers
from cogrid.envs.foraging.policies import ScriptedForagers
from cogrid.envs.goals.policies import ScriptedWalkers
from cogrid.envs.overcooked.game import Kitchen
from cogrid.envs.overcooked.policies import ScriptedCooks
from cogrid.envs.scripted import Scripted
from cogrid.envs.search_rescue.policies import ScriptedRescuers
from cogrid.reading import strict_json

#: A single state on NumPy -> actions by agent.
Policy = Callable[[EnvState], dict[int, int]]
POLICIES = ("scripted", "random")
MAX_WEIGHTS = 2**28  # bytes of the arrays that are read
AnyScript = ScriptedCooks | ScriptedPlayers | Scripted
_SCRIPTS: Mapping[type[Game], type[AnyScript]] = MappingProxyType(
    {Kitchen: ScriptedCooks, Commons: ScriptedPlayers}
    | {script.game: script for script in (ScriptedForagers, ScriptedWalkers, ScriptedRescuers)}
)


def script_for(game: Game) -> type[AnyScript] | None:
    """The script that plays a game, of `(rules, agents, seed=, noise=)`; None without one."""
    return next((script for played, script in _SCRIPTS.items() if isinstance(game, played)), None)


def policy_of(name: str, rules: Rules, agents: Iterable[int] | None = None, seed: int = 0) -> Policy:
    """A policy for some agents, all by default; a name that is no policy's is the path of a checkpoint."""
    chosen = tuple(range(rules.n_agents) if agents is None else agents)
    if name == "scripted":
        if (script := script_for(rules.spec.game)) is None:
            raise TypeError(f"{type(rules.spec.game).__name__} has no script: play it at random.")
        return script(rules, chosen, seed=seed).act
    draw = np.random.default_rng(rng.seed(seed) % 2**64)
    if name == "random":
        return lambda state: {agent: int(draw.integers(rules.n_actions)) for agent in chosen}
    return Trained(Path(name), rules, chosen, draw).act


def usual_policy(rules: Rules) -> str:
    """The policy that shows most of a game."""
    return "random" if script_for(rules.spec.game) is None else "scripted"


class Trained:
    """An actor of tanh layers, as examples/ippo.py saves it; of several seeds the first one plays."""

    def __init__(self, path: Path, rules: Rules, agents: tuple[int, ...], draw: np.random.Generator) -> None:
        told, layers = _read(path)
        self._path = path
        self._rules = compile_rules(dataclasses.replace(rules.spec, observation=told["observation"]), "numpy")
        self._agents, self._draw, self._layers = agents, draw, layers
        sizes = math.prod(observer(self._rules).shape), rules.n_actions
        if (len(layers[0][0]), len(layers[-1][1])) != sizes:
            raise ValueError(f"{path} was trained in {told.get('id')}, where agents see something else.")

    def act(self, state: EnvState) -> dict[int, int]:
        """Actions drawn with the probabilities that the actor gives them."""
        seen = observer(self._rules).see(state.evolve(rules=self._rules))
        hidden = seen.reshape(len(seen), -1).astype(np.float32)  # (n, inputs)
        with np.errstate(all="ignore"):  # told below
            for weight, bias in self._layers[:-1]:
                hidden = np.tanh(hidden @ weight + bias)
            logits = hidden @ self._layers[-1][0] + self._layers[-1][1]
        if not np.isfinite(logits).all():
            raise ValueError(f"{self._path} gives logits that are not finite: its weights are too large.")
        noisy = logits + self._draw.gumbel(size=logits.shape)  # its largest is a draw from the softmax
        return {agent: int(noisy[agent].argmax()) for agent in self._agents}


def _read(path: Path) -> tuple[dict[str, Any], list[tuple[Any, Any]]]:
    """The options, and weights and biases of every layer."""
    if not path.is_file():
        raise ValueError(
            f"{str(path)!r} is neither a policy nor the file of one: choose {', '.join(POLICIES)}, or a "
            "checkpoint.npz of examples/ippo.py."
        )
    try:
        with path.open("rb") as raw, np.load(raw) as file:  # which NumPy leaves open if it is no archive
            names = [name for name in file if re.fullmatch(r"\.network\.actor\[\d{1,3}\]\.weight", name)]
            names.sort(key=lambda name: int(re.findall(r"\d+", name)[0]))
            pairs = [(name, name.replace("weight", "bias")) for name in names]
            _check_size(file, ["told", *(name for pair in pairs for name in pair)])
            told = strict_json(str(file["told"]))["options"]
            layers = [(file[weight][0], file[bias][0]) for weight, bias in pairs]
        if not isinstance(told["observation"], str) or not _fit(layers):
            raise KeyError("actor")
    except Exception:  # NumPy raises almost anything for a damaged archive, tokenize.TokenError too
        raise ValueError(f"{path} is no checkpoint of examples/ippo.py, or a damaged one.") from None
    if not all(np.isfinite(array).all() for layer in layers for array in layer):
        raise ValueError(f"{path} holds weights that are NaN or infinite, so no policy: train it again.")
    return told, layers


def _check_size(file: Any, names: list[str]) -> None:
    """A small archive can claim to hold more than there is memory."""
    sizes = {info.filename: info.file_size for info in file.zip.infolist()}
    if sum(sizes[f"{name}.npy"] for name in names) > MAX_WEIGHTS:
        raise ValueError("too large")


def _fit(layers: list[tuple[Any, Any]]) -> bool:
    """Whether there are layers of numbers, of which each takes what the one before it gives."""
    numbers = all(array.dtype.kind == "f" for layer in layers for array in layer)
    shapes = all(weight.ndim == 2 and bias.shape == weight.shape[1:] for weight, bias in layers)
    return bool(layers) and numbers and shapes and all(len(b[0]) == len(a[1]) for a, b in pairwise(layers))
