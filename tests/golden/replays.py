"""Record golden replays of scripted play: `python -m tests.golden.replays`.

They tell when a rule, a draw or an observation of a family changes without a new version of its ids.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import cogrid
from cogrid.policies.named import policy_of
from cogrid.replay.recording import Recorder, Replay

FOLDER = Path(__file__).parent / "recorded"
STEPS, SEED = 60, 11
LONGER = {"CleanUp-V0": 200}  # until the river is clean enough for apples
#: Kitchens have golden files of the systems that they reproduce, and the arena has no script.
OTHERS = ("Overcooked", "Arena")
IDS = tuple(id for id in cogrid.registered() if not id.startswith(OTHERS))


def file_of(id: str) -> Path:
    """Where the replay of an id is."""
    return FOLDER / f"{id}.json"


def recorded(id: str) -> Replay:
    """An episode of scripted play with some random actions."""
    env: Any = Recorder(cogrid.make(id))
    env.reset(seed=SEED)
    script, draw = policy_of("scripted", env.env.rules, seed=SEED), np.random.default_rng(SEED)
    for _ in range(LONGER.get(id, STEPS)):
        if not env.agents:
            break
        joint = script(env.env.env_state)
        noisy = {a: int(draw.integers(env.env.rules.n_actions)) for a in joint if draw.random() < 0.15}
        env.step({agent: (joint | noisy)[agent] for agent in env.agents})
    replay: Replay = env.replay()
    return replay


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for id in IDS:
        recorded(id).save(file_of(id))


if __name__ == "__main__":
    main()
