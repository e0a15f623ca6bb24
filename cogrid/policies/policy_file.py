"""The file of a trained policy: its actor's layers and what it was trained on; needs no JAX."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cogrid._io import files
from cogrid._io.reading import strict_json

VERSIONS = (1, 2)  # without and with a memory, which older readers would ignore
MAX_BYTES = 2**28  # of the arrays that are read
MAX_LAYERS = 100
#: Options of an environment that only affect where training episodes start and end. They change no rule.
TRAINING_ONLY = ("max_steps", "random_start")
MEMORY = "memory_"  # before the names of the recurrent unit's arrays


class PolicyFile(NamedTuple):
    """Dense layers with tanh between them, from a flat observation to the logits of the actions.

    A policy with a memory has a gated recurrent unit (GRU) after its first layer.
    """

    id: str  # the environment
    observation: str  # its kind
    layers: list[tuple[Any, Any]]  # weight (inputs, outputs) and bias (outputs,) of each, float32
    about: dict[str, Any] = {}  # noqa: RUF012 (never changed): seed, score, options; whatever its maker adds
    # The unit's two layers, from hidden and from size numbers to 3 · size, for the reset gate, the update
    # gate and the candidate; empty without a memory.
    memory: list[tuple[Any, Any]] = []  # noqa: RUF012 (never changed)

    @property
    def game_options(self) -> dict[str, Any]:
        """The options of the environment that it was trained in, without those of training episodes only."""
        options = self.about.get("options")
        chosen = options.get("set") if isinstance(options, dict) else None
        if not isinstance(chosen, dict):
            return {}
        kept = {name: value for name, value in chosen.items() if name not in TRAINING_ONLY}
        return {"observation": self.observation, **kept} if "window" in kept else kept

    @property
    def size(self) -> int:
        """How many numbers it remembers; 0 without a memory."""
        return len(self.memory[1][0]) if self.memory else 0

    def logits(self, obs: Any, memory: Any) -> tuple[Any, Any]:
        """(n, …) observations, (n, size) memory -> (n, actions) logits, (n, size) new memory."""
        hidden = obs.reshape(len(obs), -1).astype(np.float32)  # (n, inputs)
        with np.errstate(all="ignore"):  # the caller checks for non-finite logits
            for number, (weight, bias) in enumerate(self.layers[:-1]):
                hidden = np.tanh(hidden @ weight + bias)
                if number == 0 and self.memory:
                    hidden = memory = self._remember(hidden, memory)
            return hidden @ self.layers[-1][0] + self.layers[-1][1], memory

    def _remember(self, hidden: Any, memory: Any) -> Any:
        """(n, hidden), (n, size) -> (n, size); `_apps.train.network.RecurrentUnit` is the same in JAX."""
        inputs, (weight, bias) = self.memory
        reset, update, candidate = np.split(hidden @ inputs[0] + inputs[1], 3, axis=-1)
        past_reset, past_update, past_candidate = np.split(memory @ weight + bias, 3, axis=-1)
        new = np.tanh(candidate + _sigmoid(reset + past_reset) * past_candidate)
        kept = _sigmoid(update + past_update)
        return kept * memory + (1 - kept) * new


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def save(path: Path, policy: PolicyFile) -> None:
    """Write the file atomically."""
    version = VERSIONS[bool(policy.memory)]
    meta = {"version": version, "id": policy.id, "observation": policy.observation, "about": policy.about}
    arrays = {
        f"{part}{name}_{number}": np.asarray(array, np.float32)
        for part, layers in (("", policy.layers), (MEMORY, policy.memory))
        for number, layer in enumerate(layers)
        for name, array in zip(("weight", "bias"), layer, strict=True)
    }
    with files.replacing(path) as file:
        np.savez_compressed(file, meta=np.array(json.dumps(meta)), **arrays)  # type: ignore[arg-type]


def load(path: Path) -> PolicyFile:
    """Read what `save` wrote; raises a ValueError of one sentence for anything else."""
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            numbers = range(sum(name.startswith("weight_") for name in file.files[: 2 * MAX_LAYERS + 1]))
            pairs = [(f"weight_{number}", f"bias_{number}") for number in numbers]
            unit = [(f"{MEMORY}weight_{number}", f"{MEMORY}bias_{number}") for number in range(2)]
            unit = unit if unit[0][0] in file.files else []
            _check_size(file, ["meta", *(name for pair in pairs + unit for name in pair)])
            meta = strict_json(str(file["meta"]))
            layers, memory = ([(file[weight], file[bias]) for weight, bias in part] for part in (pairs, unit))
        id, observation, about = meta["id"], meta["observation"], meta["about"]
        texts = isinstance(id, str) and isinstance(observation, str) and isinstance(about, dict)
        if meta["version"] != VERSIONS[bool(memory)] or not texts or not _fit(layers, memory):
            raise KeyError("policy")
    except Exception:  # NumPy raises almost anything for a damaged archive, tokenize.TokenError too
        raise ValueError(
            f"{path} is not a policy file of version {' or '.join(map(str, VERSIONS))}, or it is damaged: "
            "`python -m cogrid train` writes them as policy-SEED.npz."
        ) from None
    if not all(np.isfinite(array).all() for layer in layers + memory for array in layer):
        raise ValueError(f"{path} holds weights that are NaN or infinite: train the policy again.")
    return PolicyFile(id, observation, layers, about, memory)


def _check_size(file: Any, names: list[str]) -> None:
    """Raise an error for an archive that would unpack to more than the limit."""
    sizes = {info.filename: info.file_size for info in file.zip.infolist()}
    if sum(sizes[f"{name}.npy"] for name in names) > MAX_BYTES:
        raise ValueError("too large")


def _fit(layers: list[tuple[Any, Any]], memory: list[tuple[Any, Any]]) -> bool:
    """Whether there are layers of numbers, and each one's inputs match the outputs of the one before."""
    every = layers + memory
    numbers = all(array.dtype == np.float32 for layer in every for array in layer)
    shapes = all(weight.ndim == 2 and bias.shape == weight.shape[1:] for weight, bias in every)
    sizes = all(math.prod(weight.shape) for weight, _ in every if weight.ndim == 2)
    if not (layers and numbers and shapes and sizes):
        return False
    inputs, outputs = ([len(layer[which]) for layer in layers] for which in (0, 1))
    if memory:
        (into, _), (onwards, _) = memory
        size = len(onwards)
        if len(layers) < 2 or into.shape != (outputs[0], 3 * size) or onwards.shape != (size, 3 * size):
            return False
        outputs[0] = size
    return inputs[1:] == outputs[:-1]
