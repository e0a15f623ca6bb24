"""Record games of JaxMARL's OvercookedV2: `python -m tests.golden.record_v2` where JaxMARL is installed."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from cogrid.envs.overcooked.policies import ScriptedCooks
from tests.golden.v2 import BATCH, FOLDER, LAYOUTS, STEPS, file_of, lane
from tests.oracles.canonical import ACTION_LETTERS
from tests.oracles.jaxmarl_v2_oracle import Pair
from tests.oracles.v2_encoding import digest
from tests.oracles.v2_options import varied


def recorded(layout: str) -> dict[str, object]:
    """Some games that noisy cooks play, as JaxMARL answers them."""
    pair = Pair(layout, varied(layout))
    state, theirs = begun(pair)
    cooks = [ScriptedCooks(pair.env.rules, seed=seed, noise=0.1) for seed in range(BATCH)]
    lines = []
    for _ in range(STEPS):
        moves = [cook.act(lane(state, k)) for k, cook in enumerate(cooks)]
        actions = np.array([[move[a] for a in range(pair.n)] for move in moves], np.int32)
        letters = " ".join("".join(ACTION_LETTERS[a] for a in joint) for joint in actions)
        state, theirs, answer = answered(pair, state, theirs, actions)
        lines.append([letters, *answer])
    return {"layout": layout, "options": pair.rules.ours, "seed": len(layout), "steps": lines}


def begun(pair: Pair) -> tuple[Any, Any]:
    """The first states of the recorded games, ours and theirs."""
    state, _ = pair.reset(BATCH, len(pair.layout))
    return state, pair.to_theirs(state)


def answered(pair: Pair, state: Any, theirs: Any, actions: Any) -> tuple[Any, Any, list[Any]]:
    """One step of both, and what JaxMARL says: its state and what is seen, as digests, score and shaping."""
    state, theirs, found, _ = pair.step(state, theirs, actions)
    assert not found, found
    seen, score, shaped = (np.asarray(value) for value in pair.given)
    pos, facing, held = theirs.agents.pos, theirs.agents.dir, theirs.agents.inventory
    told = digest(pos.x, pos.y, facing, held, theirs.grid, theirs.recipe, theirs.step)
    return state, theirs, [told, digest(seen), score[:, 0].tolist(), shaped.tolist()]


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for layout in LAYOUTS:
        content = recorded(layout)
        steps = ",\n".join(json.dumps(line) for line in content.pop("steps"))  # type: ignore[attr-defined]
        text = json.dumps(content)[:-1] + f', "steps": [\n{steps}\n]}}\n'
        json.loads(text)
        file_of(layout).write_text(text, encoding="utf-8")
        print(file_of(layout))


if __name__ == "__main__":
    main()
