"""Training datasets: recorded games of one environment as arrays in one file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cogrid._io import files
from cogrid.replay.recording import Replay


def write_dataset(
    path: Path, id: str, options: Mapping[str, Any], replays: Sequence[Replay], observation: str
) -> int:
    """Write one file of games that were played by the same rules; returns the number of steps.

    It has id, options (JSON) and observation, and for N steps in total: obs (N, n, …), actions (N, n),
    rewards (N,) averaged over the agents, returns (N,) of the rest of the game, game (N,), people (N, n)
    which agents were people.
    """
    names = ("obs", "actions", "rewards", "returns", "game", "people")
    parts: dict[str, list[Any]] = {name: [] for name in names}
    for number, replay in enumerate(replays):
        played, length = replay.arrays(observation=observation), len(replay)
        rewards = played["rewards"].mean(axis=-1)
        people = _people(replay, played["actions"].shape[1])
        parts["obs"].append(played["obs"][:-1])
        parts["actions"].append(played["actions"])
        parts["rewards"].append(rewards)
        parts["returns"].append(np.cumsum(rewards[::-1], dtype=np.float32)[::-1])
        parts["game"].append(np.full(length, number, np.int32))
        parts["people"].append(np.tile(people, (length, 1)))
    content = {name: np.concatenate(arrays) for name, arrays in parts.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    with files.replacing(path) as file:
        about = {"id": id, "options": json.dumps(dict(options)), "observation": observation}
        np.savez_compressed(file, **about, **content)  # type: ignore[arg-type]
    return len(content["game"])


def _people(replay: Replay, agents: int) -> list[bool]:
    """Which agents were people; all of them if the replay does not say."""
    named = replay.metadata.get("people")
    return [not isinstance(named, list) or agent in named for agent in range(agents)]
