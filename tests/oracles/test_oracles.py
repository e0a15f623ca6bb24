"""Overcooked equals its reference implementations, transition by transition, and often enough to mean it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("overcooked")
pytest.importorskip("jaxmarl")

from tests.oracles import known_differences
from tests.oracles.canonical import (
    CLASSIC,
    COOK_STARTS,
    HORIZON,
    KITCHENS,
    Implementation,
    JointAction,
    Kitchen,
    KitchenState,
    Outcome,
    start_state,
)
from tests.oracles.engine import Engine
from tests.oracles.events import deeds
from tests.oracles.jaxmarl_oracle import JaxmarlOracle
from tests.oracles.overcooked_oracle import OvercookedOracle
from tests.oracles.play import play
from tests.oracles.states import (
    Case,
    dish_cases,
    possible_deeds,
    random_cases,
    random_state,
    shared_cells,
    stands_at,
    telling_cases,
    together_cases,
)
from tests.oracles.transitions import assert_often, assert_same, columns, count, stepped, transitions
from tests.support import BACKENDS

STATES = 6000
EPISODES = 24  # half of them from the start, half from the middle of a game
NOISES = (0.05, 0.1, 0.2, 0.4)

# How often each thing must at least happen in a kitchen's injected states, and in its episodes.
OFTEN = {"potting": 150, "plating": 120, "delivery": 60, "contest": 50, "swap": 40, "follow": 40, "bump": 100}
OFTEN |= {"take dish": 500, "pick up": 150, "put down": 400, "early plating": 40, "refused potting": 90}
OFTEN_PLAYED = {"potting": 80, "plating": 30, "delivery": 30, "early plating": 30, "take dish": 30}
SHARED_POT = {"both at one pot": 200, "race for the last slot": 5}
SHARED_COUNTER = {"both at one counter": 100}
DOUBLE_DELIVERY = {"double delivery": 2}

kitchens = pytest.mark.parametrize("kitchen", KITCHENS.values(), ids=KITCHENS)
classic_kitchens = pytest.mark.parametrize("kitchen", CLASSIC, ids=[kitchen.name for kitchen in CLASSIC])
cook_starts = pytest.mark.parametrize("cook_start", COOK_STARTS)


@kitchens
@cook_starts
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_start_is_overcookeds(kitchen: Kitchen, cook_start: str, backend: str) -> None:
    oracle = OvercookedOracle(kitchen, cook_start)
    (state,), obs = Engine(kitchen, cook_start, backend).reset(1)
    assert state == start_state(kitchen) == oracle.start()
    assert np.array_equal(obs[0], oracle.planes(state))


@kitchens
@cook_starts
def test_injected_states_step_as_overcookeds(kitchen: Kitchen, cook_start: str) -> None:
    cases = _cases(kitchen, cook_start)
    expected = stepped(OvercookedOracle(kitchen, cook_start), cases)
    for backend in BACKENDS:
        assert_same(backend, expected, Engine(kitchen, cook_start, backend).step(*columns(cases)))
    assert_often(count(kitchen, expected), _wanted_counts(kitchen, cook_start))


@kitchens
@cook_starts
def test_played_episodes_are_overcookeds(kitchen: Kitchen, cook_start: str) -> None:
    starts, actions, outcomes = _episodes(OvercookedOracle(kitchen, cook_start), kitchen, cook_start)
    expected = list(transitions(starts, actions, outcomes))
    for backend in BACKENDS:
        got = Engine(kitchen, cook_start, backend).run(starts, actions)  # injects nothing but the starts
        assert_same(backend, expected, [outcome for row in got for outcome in row])
    assert_often(count(kitchen, expected), OFTEN_PLAYED)


@kitchens
@cook_starts
def test_dish_shaping_is_aimed_at(kitchen: Kitchen, cook_start: str) -> None:
    """The aimed states pay and refuse the dish in both orders, and often by what agent 0 just did."""
    cases = list(dish_cases(kitchen, cook_start, random.Random(3)))
    oracle = OvercookedOracle(kitchen, cook_start)
    assert len(telling_cases(oracle, cases)) >= 30
    expected = stepped(oracle, cases)
    counts = Counter(
        (agent, deed, outcome.shaped[agent] == known_differences.DISH_POINTS)
        for before, joint, outcome in expected
        for agent, deed in enumerate(deeds(kitchen, before, joint, outcome.state))
        if deed == "take dish"
    )
    assert min(counts[agent, "take dish", paid] for agent in (0, 1) for paid in (True, False)) >= 30, counts
    assert {"wait", "put down", "plate", "pick up", "pot the first", "pot the second"} <= set(
        possible_deeds(kitchen, cook_start)
    )


@classic_kitchens
def test_injected_states_step_as_jaxmarls(kitchen: Kitchen) -> None:
    cases = _cases(kitchen, "auto")
    theirs = stepped(JaxmarlOracle(kitchen), cases)
    ours = Engine(kitchen, "auto", BACKENDS[0]).step(*columns(cases))
    translated, counts = _as_jaxmarl_has_it(kitchen, cases, ours)
    assert_same("as JaxMARL has it", theirs, translated)
    assert_often(counts, {difference.name: 5 for difference in known_differences.JAXMARL})


@classic_kitchens
def test_played_episodes_are_jaxmarls(kitchen: Kitchen) -> None:
    starts, actions, outcomes = _episodes(JaxmarlOracle(kitchen), kitchen, "auto")
    theirs = list(transitions(starts, actions, outcomes))
    ours = Engine(kitchen, "auto", BACKENDS[0]).run(starts, actions)
    cases = [(before, joint) for before, joint, _ in theirs]
    translated, _ = _as_jaxmarl_has_it(kitchen, cases, [outcome for row in ours for outcome in row])
    assert_same("as JaxMARL has it", theirs, translated)
    assert_often(count(kitchen, theirs), OFTEN_PLAYED)


def _cases(kitchen: Kitchen, cook_start: str) -> list[Case]:
    """Random states and those aimed at the corners."""
    rng = random.Random(f"{kitchen.name} {cook_start}")
    aimed = [*dish_cases(kitchen, cook_start, rng), *together_cases(kitchen, cook_start, rng)]
    return random_cases(kitchen, cook_start, STATES, rng) + aimed


def _episodes(
    game: Implementation, kitchen: Kitchen, cook_start: str
) -> tuple[list[KitchenState], list[list[JointAction]], list[list[Outcome]]]:
    """Whole games: starts by game; joint actions and outcomes by step, then by game."""
    rng = random.Random(f"{kitchen.name} {cook_start} episodes")
    middle = [replace(random_state(kitchen, cook_start, rng), time=0) for _ in range(EPISODES // 2)]
    starts = [start_state(kitchen)] * (EPISODES - len(middle)) + middle
    noises = [NOISES[i % len(NOISES)] for i in range(EPISODES)]
    return starts, *play(game, kitchen, starts, HORIZON, noises, rng)


def _as_jaxmarl_has_it(
    kitchen: Kitchen, cases: Sequence[Case], ours: Sequence[Outcome]
) -> tuple[list[Outcome], Counter[str]]:
    """Our outcomes with the known differences applied, and how often each of them showed."""
    translated, counts = [], Counter[str]()
    for (before, joint), outcome in zip(cases, ours, strict=True):
        done = deeds(kitchen, before, joint, outcome.state)
        for difference in known_differences.JAXMARL:
            step = known_differences.Step(kitchen, before, done, outcome)
            outcome = difference.theirs(step)
            counts[difference.name] += outcome is not step.after
        translated.append(outcome)
    return translated, counts


def _wanted_counts(kitchen: Kitchen, cook_start: str) -> dict[str, int]:
    """The counts to ask of a kitchen: not every kitchen has a cell that two agents can face."""
    wanted = OFTEN | (SHARED_POT if shared_cells(kitchen, "P") else {})
    wanted |= SHARED_COUNTER if shared_cells(kitchen, "X") else {}
    wanted |= DOUBLE_DELIVERY if len({cell for cell, _ in stands_at(kitchen, "S")}) > 1 else {}
    return wanted | ({"start": 100} if cook_start == "interact" else {})
