"""Tapes: the actions of many episodes, which score the same wherever they are replayed; needs no JAX."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cogrid._io import files
from cogrid._io.reading import strict_json
from cogrid.backend import rng
from cogrid.backend.array import Array
from cogrid.cogrid_env import CoGridEnv
from cogrid.envs.registry import spec_of

MAX_BYTES = 2**28  # of the arrays that are read


class Tapes(NamedTuple):
    """Self-play episodes of several players; episode i of each starts with seed i."""

    id: str
    actions: Array  # (players, episodes, T, n) uint8
    points: Array  # (players, episodes) mean over the agents, float32
    options: dict[str, Any] = {}  # noqa: RUF012 (never changed): those of the environment that are not its own

    def replay(self, backend: str = "numpy") -> Array:
        """(players, episodes) the points when everything is replayed, in one batch."""
        changes = {**self.options, "observation": "none", "shaping": 0.0}
        spec = spec_of(self.id, changes)  # a file can never cause an import
        env = CoGridEnv(spec, backend, shadow=False)
        players, episodes, steps, n = self.actions.shape
        starts = np.tile(np.stack([rng.key(seed) for seed in range(episodes)]), (players, 1))
        state, _ = env.reset_fn(starts)
        points = np.zeros(players * episodes, np.float32)
        for joint in np.moveaxis(self.actions.reshape(-1, steps, n), 1, 0):
            state, _, rewards, _, _ = env.step_fn(state, joint.astype(np.int32))
            points += np.asarray(rewards).mean(axis=-1)
        return points.reshape(players, episodes)


def save(path: Path, tapes: Tapes) -> None:
    """Write the file atomically."""
    arrays: dict[str, Any] = {
        "actions": tapes.actions.astype(np.uint8),
        "points": tapes.points.astype(np.float32),
    }
    meta = {"id": tapes.id} | ({"options": tapes.options} if tapes.options else {})
    with files.replacing(path) as file:
        np.savez_compressed(file, meta=np.array(json.dumps(meta)), **arrays)


def load(path: Path) -> Tapes:
    """Read what `save` wrote; raises a ValueError of one sentence for anything else."""
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            if sum(info.file_size for info in file.zip.infolist()) > MAX_BYTES:
                raise ValueError("too large")
            meta, actions, points = strict_json(str(file["meta"])), file["actions"], file["points"]
        id, options = meta["id"], meta.get("options", {})
        texts = isinstance(id, str) and isinstance(options, dict)
        fits = actions.ndim == 4 and points.shape == actions.shape[:2]
        if not texts or not fits or actions.dtype != np.uint8 or points.dtype != np.float32:
            raise ValueError("other arrays")
    except Exception:  # NumPy raises almost anything for a damaged archive
        raise ValueError(
            f"{path} does not hold tapes, or it is damaged: `python -m cogrid train` writes tapes.npz."
        ) from None
    return Tapes(id, actions, points, options)
