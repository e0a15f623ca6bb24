"""Social figures of an episode: efficiency, equality, sustainability and peace."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Values = np.ndarray[Any, Any]


class Figures(NamedTuple):
    """Those of Perolat et al. (2017), for each episode of a batch."""

    efficiency: Values  # what all players earn together in a step
    equality: Values  # 1 minus the Gini coefficient of their returns; 1 where nobody earns anything
    sustainability: Values  # the mean step at which something is earned, over the players who earn
    peace: Values  # how many players are on the board in a step


def figures(rewards: Values, away: Values) -> Figures:
    """The figures of episodes by their rewards (*B, T, n) before any sharing, and who was away (*B, T, n)."""
    rewards, away = np.asarray(rewards, np.float64), np.asarray(away, bool)
    if rewards.shape != away.shape or rewards.ndim < 2:
        raise ValueError(
            f"rewards have shape {rewards.shape} and away {away.shape}: both are (*B, steps, players)."
        )
    steps, players = rewards.shape[-2:]
    returns = rewards.sum(axis=-2)  # (*B, n)
    total = returns.sum(axis=-1)
    gaps = np.abs(returns[..., :, None] - returns[..., None, :]).sum(axis=(-1, -2))
    equality = 1 - gaps / np.where(total, 2 * players * total, 1)
    earned = rewards > 0
    times, often = (np.arange(steps)[:, None] * earned).sum(axis=-2), earned.sum(axis=-2)  # (*B, n)
    earners = (often > 0).sum(axis=-1)
    late = (times / np.maximum(often, 1)).sum(axis=-1) / np.maximum(earners, 1)
    return Figures(total / steps, equality, late, (~away).sum(axis=(-1, -2)) / steps)
