"""The file of a trained policy: its actor's layers and what it was trained on; needs no JAX."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cogrid import files
from cogrid.reading import strict_json

VERSION = 1
MAX_BYTES = 2**28  # of the arrays that are read
MAX_LAYERS = 100


class PolicyFile(NamedTuple):
    """Dense layers with tanh between them, from a flat observation to the logits of the actions."""

    id: str  # the environment
    observation: str  # its kind
    layers: list[tuple[Any, Any]]  # weight (inputs, outputs) and bias (outputs,) of each, float32
    about: dict[str, Any] = {}  # noqa: RUF012 (never changed): seed, score, options; whatever its maker adds

    def logits(self, obs: Any) -> Any:
        """(n, …) observations -> (n, actions)."""
        hidden = obs.reshape(len(obs), -1).astype(np.float32)  # (n, inputs)
        with np.errstate(all="ignore"):  # whoever draws from them checks
            for weight, bias in self.layers[:-1]:
                hidden = np.tanh(hidden @ weight + bias)
            return hidden @ self.layers[-1][0] + self.layers[-1][1]


def save(path: Path, policy: PolicyFile) -> None:
    """Write the file, whole or not at all."""
    meta = {"version": VERSION, "id": policy.id, "observation": policy.observation, "about": policy.about}
    arrays = {
        f"{name}_{number}": np.asarray(array, np.float32)
        for number, layer in enumerate(policy.layers)
        for name, array in zip(("weight", "bias"), layer, strict=True)
    }
    with files.replacing(path) as file:
        np.savez_compressed(file, meta=np.array(json.dumps(meta)), **arrays)  # type: ignore[arg-type]


def load(path: Path) -> PolicyFile:
    """Read what `save` wrote; anything else is a ValueError of one sentence."""
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            numbers = range(sum(name.startswith("weight_") for name in file.files[: 2 * MAX_LAYERS + 1]))
            pairs = [(f"weight_{number}", f"bias_{number}") for number in numbers]
            _check_size(file, ["meta", *(name for pair in pairs for name in pair)])
            meta = strict_json(str(file["meta"]))
            layers = [(file[weight], file[bias]) for weight, bias in pairs]
        id, observation, about = meta["id"], meta["observation"], meta["about"]
        texts = isinstance(id, str) and isinstance(observation, str) and isinstance(about, dict)
        if meta["version"] != VERSION or not texts or not _fit(layers):
            raise KeyError("policy")
    except Exception:  # NumPy raises almost anything for a damaged archive, tokenize.TokenError too
        raise ValueError(
            f"{path} is not a policy file of version {VERSION}, or it is damaged: `python -m cogrid train` "
            "writes them as policy-SEED.npz."
        ) from None
    if not all(np.isfinite(array).all() for layer in layers for array in layer):
        raise ValueError(f"{path} holds weights that are NaN or infinite: train the policy again.")
    return PolicyFile(id, observation, layers, about)


def _check_size(file: Any, names: list[str]) -> None:
    """A small archive can claim to hold more than there is memory."""
    sizes = {info.filename: info.file_size for info in file.zip.infolist()}
    if sum(sizes[f"{name}.npy"] for name in names) > MAX_BYTES:
        raise ValueError("too large")


def _fit(layers: list[tuple[Any, Any]]) -> bool:
    """Whether there are layers of numbers, and each takes what the one before it gives."""
    numbers = all(array.dtype == np.float32 for layer in layers for array in layer)
    shapes = all(weight.ndim == 2 and bias.shape == weight.shape[1:] for weight, bias in layers)
    sizes = all(math.prod(weight.shape) for weight, _ in layers if weight.ndim == 2)
    fitting = all(len(after[0]) == len(before[1]) for before, after in pairwise(layers))
    return bool(layers) and numbers and shapes and sizes and fitting
