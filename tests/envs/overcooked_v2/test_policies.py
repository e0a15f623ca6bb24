"""Scripted cooks in OvercookedV2: they deliver in every kitchen, and read the recipe."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid.envs.overcooked.policies import ScriptedCooks
from cogrid.envs.overcooked_v2.layouts import PLANS
from tests.support import marks


def soups(id: str, seed: int, sight: int | None = None, **options: Any) -> int:
    """How many soups of the recipe are delivered in an episode."""
    env = cogrid.make(id, observation="none", **options)
    env.reset(seed=seed)
    cooks, found = ScriptedCooks(env.rules, sight=sight), 0
    while env.agents:
        _, rewards, *_ = env.step(cooks.act(env.env_state))
        found += rewards[0] > 0
    return found


@pytest.mark.parametrize(
    "id", [pytest.param(id, marks=marks(id)) for id in (f"OvercookedV2-{name}-V0" for name in PLANS)]
)
def test_cooks_deliver_in_every_kitchen(id: str) -> None:
    assert soups(id, 3) >= 3
    assert soups(id, 4, cook_start="interact", sample_recipe_on_delivery=True) >= 3


def test_cooks_who_see_the_indicator_need_no_more() -> None:
    """The indicator of CrampedRoomV2 is within two cells of almost everywhere."""
    assert soups("OvercookedV2-CrampedRoomV2-V0", 3, sight=2) >= 3


def test_without_a_sight_the_recipe_is_known() -> None:
    env = cogrid.make("OvercookedV2-TwoRoomsBoth-V0", observation="none")
    tapes = set()
    for number in range(4):
        state, _ = env.reset_fn(np.zeros(2, np.uint32))
        state = env.replace(state, slots=np.array([number]))
        cooks, tape = ScriptedCooks(env.rules), []
        for _ in range(40):
            tape.append(tuple(cooks.act(state).values()))
            state, *_ = env.step_fn(state, np.array(tape[-1], np.int32))
        tapes.add(tuple(tape))
    assert len(tapes) > 1
