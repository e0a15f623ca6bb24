"""Social figures of an episode: efficiency, equality, sustainability and peace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from cogrid.envs.commons.game import EAT

Values = np.ndarray[Any, Any]


class Figures(NamedTuple):
    """The figures of Perolat et al. (2017), for each episode of a batch; an apple counts for its eater."""

    efficiency: Values  # apples that all players eat together in a step
    equality: Values  # 1 minus the Gini coefficient of the players' apples; 1 where nobody eats any
    sustainability: Values  # the mean step at which a player eats, over the players who do
    peace: Values  # how many players are on the board in a step


def figures(infos: Mapping[Any, Any]) -> Figures:
    """The figures of the episodes that ended with this step, from its infos.

    The environment must be made with `infos=True`, by `make` or `make_vec`; with `make_vec` every figure is
    (B,), and valid where `infos["_episode"]` is true.
    """
    counts, length = _of_batch(infos) if "episode" in infos else _of_agents(infos)
    eaten, players = counts[EAT], counts[EAT].shape[-1]  # (*B, n)
    total, steps = eaten.sum(axis=-1), np.maximum(length, 1)
    gaps = np.abs(eaten[..., :, None] - eaten[..., None, :]).sum(axis=(-1, -2))
    equality = 1 - gaps / np.where(total, 2 * players * total, 1)
    mean = counts[f"step of {EAT}"] / np.maximum(eaten, 1)
    late = mean.sum(axis=-1) / np.maximum((eaten > 0).sum(axis=-1), 1)
    return Figures(total / steps, equality, late, players - counts["steps away"].sum(axis=-1) / steps)


def _of_batch(infos: Mapping[Any, Any]) -> tuple[dict[str, Values], Values]:
    """Counts (B, n) by name, and lengths (B,)."""
    episode = infos["episode"]
    counts = {name: np.asarray(value, np.float64) for name, value in _counts(episode).items()}
    return counts, np.asarray(episode["l"], np.float64)


def _of_agents(infos: Mapping[Any, Any]) -> tuple[dict[str, Values], Values]:
    """Counts (n,) by name, and the length ()."""
    ended = [info["episode"] for info in infos.values() if isinstance(info, Mapping) and "episode" in info]
    if not ended:
        raise ValueError(
            "these infos are not from the end of an episode: take those of the last step of an environment "
            "of `make` or `make_vec` with infos=True; the infos of a pure step cover that step alone."
        )
    every = [_counts(episode) for episode in ended]
    counts = {name: np.array([one[name] for one in every], np.float64) for name in every[0]}
    return counts, np.asarray(ended[0]["l"], np.float64)


def _counts(episode: Mapping[str, Any]) -> Mapping[str, Any]:
    if "counts" not in episode:
        raise ValueError("these infos have no counts: make the environment with infos=True.")
    counts: Mapping[str, Any] = episode["counts"]
    if EAT not in counts:
        raise ValueError(
            f"these counts are not from a commons game: they have no {EAT!r}, but {', '.join(counts)}."
        )
    return counts
