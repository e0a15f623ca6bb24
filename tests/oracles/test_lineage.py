"""Every layout file of overcooked_ai is one of our ids, with its settings, and steps as there."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("overcooked")

import overcooked
from overcooked.mdp.overcooked_mdp import Recipe

from cogrid.envs.overcooked.lineage import DIFFERENCES
from tests.oracles.canonical import HORIZON, Kitchen, KitchenState, Outcome, start_state
from tests.oracles.engine import Engine
from tests.oracles.events import deeds, target
from tests.oracles.lineage import LINEAGE, SOUPS
from tests.oracles.overcooked_oracle import OvercookedOracle
from tests.oracles.play import play
from tests.oracles.states import dish_cases, random_cases, random_state, station_cases, together_cases
from tests.oracles.transitions import (
    Transition,
    assert_often,
    assert_same,
    columns,
    count,
    stepped,
    transitions,
)
from tests.support import BACKENDS

FILES = Path(overcooked.__file__).parent / "data/layouts"
RULE = "interact"  # the rule of every file
NOISES = (0.1, 0.3)
#: How often each thing must at least happen among the injected states, and all encounters of agents together.
OFTEN = {"potting": 3, "plating": 3, "delivery": 3, "start": 2, "put down": 5, "pick up": 1, "take onion": 1}
MEETINGS = ("contest", "swap", "follow", "bump")
TAKEN = ("take onion", "take tomato", "take dish", "pick up")

kitchens = pytest.mark.parametrize(
    "kitchen",
    [
        pytest.param(kitchen, marks=pytest.mark.xdist_group(f"lineage:{name}"), id=name)
        for name, kitchen in LINEAGE.items()
    ],
)


def oracle_of(kitchen: Kitchen) -> OvercookedOracle:
    return OvercookedOracle.of_file(kitchen, **({"order_bonus": 2} if kitchen.name == "tutorial_3" else {}))


def test_every_file_is_there() -> None:
    assert {path.stem for path in FILES.glob("*.layout")} == set(LINEAGE)
    # What is known to differ, with its reason; each is met below.
    assert list(DIFFERENCES)[:2] == ["tutorial_1", "tutorial_3"]
    assert list(DIFFERENCES)[2:] == ["one agent, or more than two", "more than two agents"]


@kitchens
def test_settings_are_those_of_the_file(kitchen: Kitchen) -> None:
    mdp = oracle_of(kitchen).mdp
    board = [list(row) for row in mdp.terrain_mtx]
    for number, (x, y) in enumerate(mdp.start_player_positions):
        board[y][x] = str(number + 1)
    assert kitchen.rows == tuple(map("".join, board))
    ordered = {tuple(sorted(order["ingredients"])) for order in mdp.start_all_orders}
    doubled = {tuple(sorted(order["ingredients"])) for order in mdp.start_bonus_orders}
    Recipe.configure(mdp.recipe_config)
    assert [recipe.ingredients for recipe in kitchen.recipes] == SOUPS
    for recipe in kitchen.recipes:
        theirs = Recipe(recipe.ingredients)
        value = (mdp.order_bonus if recipe.ingredients in doubled else 1) * theirs.value
        assert (recipe.value, recipe.time) == (value if recipe.ingredients in ordered else 0, theirs.time)
    assert mdp.old_dynamics is False
    infinite = OvercookedOracle.of_file(kitchen).mdp.order_bonus == float("inf")
    assert infinite == (kitchen.name == "tutorial_3")


@kitchens
@pytest.mark.parametrize("backend", BACKENDS)
def test_starts(kitchen: Kitchen, backend: str) -> None:
    oracle = oracle_of(kitchen)
    (state,), obs = Engine(kitchen, RULE, backend).reset(1)
    assert state == start_state(kitchen)
    if kitchen.name == "tutorial_1":
        assert oracle.start() == replace(state, facings=(2, 3))
    else:
        assert oracle.start() == state
    assert np.array_equal(obs[0], oracle.planes(state))


@kitchens
def test_injected_states(kitchen: Kitchen, full: bool, record_property: Any) -> None:
    rng = random.Random(kitchen.name)
    cases = random_cases(kitchen, RULE, 1000 if full else 200, rng)
    cases += station_cases(kitchen, RULE, len(cases) // 4, rng)
    if len(kitchen.starts) == 2:
        dishes, together = list(dish_cases(kitchen, RULE, rng, 6)), list(together_cases(kitchen, RULE, rng))
        cases += rng.sample(dishes, min(60, len(dishes))) + rng.sample(together, min(60, len(together)))
    oracle = oracle_of(kitchen)
    expected = stepped(oracle, cases)
    for backend in BACKENDS:
        got = Engine(kitchen, RULE, backend).step(*columns(cases))
        assert_same(backend, expected, as_overcooked_has_it(oracle, expected, got))
    counts = count(kitchen, expected)
    assert_often(counts, OFTEN)
    assert len(kitchen.starts) == 1 or sum(counts[name] for name in MEETINGS) >= 5, counts
    record_property("met kitchens of overcooked_ai", {"states injected": len(cases), **_told(counts)})


@kitchens
def test_played_episodes(kitchen: Kitchen, full: bool, record_property: Any) -> None:
    rng, oracle = random.Random(f"{kitchen.name} episodes"), oracle_of(kitchen)
    starts = [start_state(kitchen), replace(random_state(kitchen, RULE, rng), time=0)]
    starts += [replace(random_state(kitchen, RULE, rng), time=0) for _ in range(3 * full)]
    noises = [NOISES[i % 2] for i in range(len(starts))]
    actions, outcomes = play(oracle, kitchen, starts, HORIZON, noises, rng)
    expected = list(transitions(starts, actions, outcomes))
    for backend in BACKENDS:
        engine = Engine(kitchen, RULE, backend)
        if len(kitchen.starts) > 2:  # a collision ends what is equal, so step by step
            got = engine.step([before for before, _, _ in expected], [joint for _, joint, _ in expected])
        else:
            got = [outcome for row in engine.run(starts, actions) for outcome in row]
        assert_same(backend, expected, as_overcooked_has_it(oracle, expected, got))
    counts = count(kitchen, expected)
    assert sum(counts[name] for name in TAKEN) >= 15, counts
    record_property("met kitchens of overcooked_ai", {"episodes played": len(starts), **_told(counts)})


def _told(counts: Counter[str]) -> dict[str, int]:
    return {f"did: {name}": number for name, number in counts.items()}


def as_overcooked_has_it(
    oracle: OvercookedOracle, expected: Sequence[Transition], ours: Sequence[Outcome]
) -> list[Outcome]:
    """Our outcomes with what is known to differ in games of other than two; see `DIFFERENCES`."""
    kitchen = oracle.kitchen
    if len(kitchen.starts) == 2:
        return list(ours)
    translated, counts = [], Counter[str]()
    for (before, joint, _), outcome in zip(expected, ours, strict=True):
        planes = oracle.planes(outcome.state)
        assert np.array_equal(planes, outcome.planes)
        pairs = zip(deeds(kitchen, before, joint, outcome.state), outcome.shaped, strict=True)
        shaped = tuple(0.0 if deed == "take dish" else paid for deed, paid in pairs)
        state = outcome.state
        if collide(kitchen, before, joint):
            state = replace(state, positions=before.positions)
        counts["no dish is paid"] += shaped != outcome.shaped
        counts["a collision stops all"] += state != outcome.state
        translated.append(replace(outcome, state=state, shaped=shaped, planes=oracle.planes(state)))
    assert counts["no dish is paid"] > 0
    assert counts["a collision stops all"] > 0 or len(kitchen.starts) == 1
    return translated


def collide(kitchen: Kitchen, before: KitchenState, joint: Sequence[int]) -> bool:
    """Two agents would end in one cell, or change places."""
    old = before.positions
    new = [target(kitchen, cell, action) for cell, action in zip(old, joint, strict=True)]
    pairs: Any = [(i, j) for j in range(len(old)) for i in range(j)]
    return any(new[i] == new[j] or (new[i] == old[j] and new[j] == old[i]) for i, j in pairs)
