"""Scripted cooks with a sight: whatever is out of sight, they do the same."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from cogrid.backend import rng
from cogrid.envs.overcooked.floor_plan import floor_plan
from cogrid.envs.overcooked.objects import Serving
from cogrid.envs.overcooked.policies import ScriptedCooks
from cogrid.envs.overcooked_v2.features import is_shown
from cogrid.envs.overcooked_v2.game import KitchenV2
from tests.episodes import shared

STEPS = 60


def in_sight(rules: Any, cell: int, sight: int) -> np.ndarray[Any, Any]:
    """(cells,) whether each is no further away than that, by rows and by columns."""
    row, column = np.divmod(np.arange(rules.height * rules.width), rules.width)
    return np.maximum(abs(row - row[cell]), abs(column - column[cell])) <= sight


def is_read(game: Any, thing: Any) -> bool:
    """Whether the recipe, or the orders, can be read there."""
    return is_shown(thing) if isinstance(game, KitchenV2) else isinstance(thing, Serving)


def changed(env: Any, state: Any, agent: int, sight: int, generator: Any, met: Counter[str]) -> Any:
    """The state with all that the agent cannot see drawn anew."""
    rules, game = env.rules, env.spec.game
    cells, pos, facing, held = map(np.array, (state.cells, state.pos, state.agent_dir, state.held))
    seen = in_sight(rules, pos[agent], sight)
    for cell in np.flatnonzero(~seen):
        cells[cell] = generator.choice(np.flatnonzero(rules.types == rules.types[cells[cell]]))
    room = np.array(floor_plan(rules, state, game).room)
    for other in np.flatnonzero(~seen[pos]):
        free = np.setdiff1d(np.flatnonzero((room == room[pos[other]]) & ~seen), np.delete(pos, other))
        pos[other], held[other] = generator.choice(free), generator.integers(rules.n_items)
        facing[other] = generator.integers(4)
    met["things"] += int((cells != state.cells).any())
    met["agents"] += int((pos != state.pos).any())
    after = env.replace(state, cells=cells, pos=pos, agent_dir=facing, held=held)
    things, slots = rules.spec.symbols.things, rules.slots
    if slots is None or any(is_read(game, things[number]) for number in cells[seen]):
        return after
    numbers = range(len(slots.things))
    fits = ([k for k in numbers if (name, slots.things[k]) in slots.can_be] for name in slots.names)
    drawn = np.array([generator.choice(choices) for choices in fits])
    met["slots"] += int((drawn != state.slots).any())
    return env.replace(after, slots=drawn)


@pytest.mark.parametrize(
    ("id", "sight", "options"),
    [
        ("Overcooked-CounterCircuit-V0", 1, {}),
        ("Overcooked-CounterCircuit-V0", 2, {"num_agents": 4, "random_start": True}),
        ("Overcooked-Generated-V0", 2, {"min_width": 9, "max_width": 11, "num_agents": 3}),
        ("Overcooked-CrampedMixedKitchen-V0", 1, {"order_gap": 5}),
        ("OvercookedV2-TwoRooms-V0", 2, {"sample_recipe_on_delivery": True}),
        ("OvercookedV2-GroundedCoordSimple-V0", 1, {"random_reset": True}),
    ],
)
def test_what_is_out_of_sight_changes_nothing(id: str, sight: int, options: dict[str, Any]) -> None:
    """Two of the same cook: one is shown the states as they are, one with all that it cannot see changed."""
    env = shared(id, "numpy", observation="none", **options)
    generator, met = np.random.default_rng(sight), Counter[str]()
    agents = range(env.rules.n_agents)
    pairs = [[ScriptedCooks(env.rules, [a], seed=5, sight=sight) for _ in range(2)] for a in agents]
    state = env.reset_fn(rng.key(3))[0]
    for step in range(STEPS):
        actions = [cook.act(state)[a] for a, (cook, _) in enumerate(pairs)]
        for a, (_, twin) in enumerate(pairs):
            there = changed(env, state, a, sight, generator, met)
            assert twin.act(there)[a] == actions[a], f"agent {a}, step {step}"
        state = env.step_fn(state, np.array(actions, np.int32))[0]
    assert met["things"] > STEPS
    assert met["agents"] > STEPS // 4
    assert met["slots"] > STEPS // 4 or env.rules.slots is None
