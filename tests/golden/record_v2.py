"""Record games of JaxMARL's OvercookedV2: `python -m tests.golden.record_v2` where JaxMARL is installed."""

from __future__ import annotations

import json

import numpy as np

from cogrid.envs.overcooked.policies import ScriptedCooks
from tests.golden.v2 import BATCH, FOLDER, LAYOUTS, STEPS, file_of, lane
from tests.oracles.canonical import ACTION_LETTERS
from tests.oracles.jaxmarl_v2_oracle import Pair
from tests.oracles.test_overcooked_v2 import rules_of
from tests.oracles.v2_encoding import digest


def recorded(layout: str) -> dict[str, object]:
    """Some games that noisy cooks play, as JaxMARL answers them."""
    pair = Pair(layout, rules_of(layout))
    state, _ = pair.reset(BATCH, len(layout))
    theirs = pair.to_theirs(state)
    cooks = [ScriptedCooks(pair.env.rules, seed=seed, noise=0.1) for seed in range(BATCH)]
    lines = []
    for _ in range(STEPS):
        moves = [cook.act(lane(state, k)) for k, cook in enumerate(cooks)]
        actions = np.array([[move[a] for a in range(pair.n)] for move in moves], np.int32)
        state, theirs, found, _ = pair.step(state, theirs, actions)
        assert not found, found
        seen, score, shaped = (np.asarray(value) for value in pair.given)
        agents = theirs.agents
        told = (
            agents.pos.x,
            agents.pos.y,
            agents.dir,
            agents.inventory,
            theirs.grid,
            theirs.recipe,
            theirs.step,
        )
        letters = " ".join("".join(ACTION_LETTERS[a] for a in joint) for joint in actions)
        points = [score[:, 0].tolist(), shaped.tolist()]
        lines.append([letters, digest(*told), digest(seen), *points])
    return {"layout": layout, "options": pair.rules.ours, "seed": len(layout), "steps": lines}


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
