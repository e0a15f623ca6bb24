"""Clocks of the pots: when they start, when a soup is ready, and what can be read of them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.envs.overcooked.boards import SHARED, draw, each_backend, kitchen, read, state_of, step
from tests.support import INTERACT, NOOP, RIGHT

CLOCK = """
    X X P X
    O   ^oS
    X D X X
"""


def waits(env, state, steps, action=NOOP):
    for _ in range(steps):
        state, _ = step(env, state, [action])
    return state


@each_backend
def test_third_onion_starts_the_clock_and_its_own_tick_counts(backend) -> None:
    env = kitchen(CLOCK, backend)
    before = "X X P2X\nO   ^oS\nX D X X"
    state, _ = step(env, state_of(env, before), [INTERACT])
    assert draw(env, state) == "X X P~X\nO   ^ S\nX D X X"
    assert read(env, state).pot_timer.tolist() == [19]
    assert int(state.time) == 1
    for left in range(18, -1, -1):
        state, _ = step(env, state, [NOOP])
        assert read(env, state).pot_timer.tolist() == [left]
        assert draw(env, state).startswith("X X P~X" if left else "X X P*X")
    state = waits(env, state, 3)
    assert read(env, state).pot_timer.tolist() == [0]  # it stays ready


@each_backend
@pytest.mark.parametrize("cook_time", [1, 2, 20, 300])
def test_soup_can_first_be_taken_cook_time_steps_after_the_third_onion(backend, cook_time) -> None:
    env = kitchen(CLOCK, backend, cook_time=cook_time)
    state, _ = step(env, state_of(env, "X X P2X\nO   ^oS\nX D X X"), [INTERACT])
    assert read(env, state).pot_timer.tolist() == [cook_time - 1]
    state = env.replace(state, agent_inv=[[env.type_ids["dish"]]])
    for waited in range(1, cook_time + 1):
        state, _ = step(env, state, [INTERACT])
        taken = draw(env, state).startswith("X X P X\nO   ^sS")
        assert taken == (waited == cook_time), waited


@each_backend
def test_clock_of_the_interact_rule_starts_with_the_empty_hand(backend) -> None:
    env = kitchen(CLOCK, backend, cook_start="interact")
    state, _ = step(env, state_of(env, "X X P2X\nO   ^oS\nX D X X"), [INTERACT])
    state = waits(env, state, 5)
    assert read(env, state).pot_timer.tolist() == [-1]
    state, _ = step(env, state, [INTERACT])
    assert read(env, state).pot_timer.tolist() == [19]
    state, _ = step(env, state, [INTERACT])  # once started it cannot be started again
    assert read(env, state).pot_timer.tolist() == [18]


@each_backend
@pytest.mark.parametrize("onions", [1, 2, 3])
@pytest.mark.parametrize("orders", [(("onion",) * 3,), ()])
def test_interact_rule_cooks_small_soups(backend, onions, orders) -> None:
    env = kitchen(CLOCK, backend, cook_start="interact", orders=orders)
    state, _ = step(env, state_of(env, f"X X P{onions}X\nO   ^ S\nX D X X"), [INTERACT])
    state = waits(env, state, 19)
    assert read(env, state).pot_timer.tolist() == [0]
    state, _ = step(env, env.replace(state, agent_inv=[[env.type_ids["dish"]]]), [INTERACT])
    soup = "soup:" + ",".join(["onion"] * onions)
    assert read(env, state).agent_inv.tolist() == [[env.type_ids[soup]]]
    assert read(env, state).pot_contents.tolist() == [[-1, -1, -1]]
    state, rewards = step(env, waits(env, state, 1, RIGHT), [INTERACT])
    assert rewards == [20.0 if onions == 3 or not orders else 0.0]


@each_backend
def test_plating_on_the_exact_ready_tick_pays(backend) -> None:
    env = kitchen(CLOCK, backend, shaping=1.0)
    early = state_of(env, "X X P~X\nO   ^dS\nX D X X", timers=[1])
    state, rewards = step(env, early, [INTERACT])  # the soup gets ready in this very step, after the hand
    assert (draw(env, state), rewards) == ("X X P*X\nO   ^dS\nX D X X", [0.0])
    state, rewards = step(env, state, [INTERACT])
    assert (draw(env, state), rewards) == ("X X P X\nO   ^sS\nX D X X", [5.0])


@each_backend
def test_pot_views(backend) -> None:
    env = kitchen(SHARED, backend)
    before = """
        X X X P2X
        O > X < S
        X   P~  X
        X D X D X
    """
    state = state_of(env, before, timers=[-1, 11])
    onion = env.type_ids["onion"]
    positions, contents, timer = (
        np.asarray(x) for x in (state.pot_positions, state.pot_contents, state.pot_timer)
    )
    assert positions.tolist() == [[0, 3], [2, 2]]
    assert contents.tolist() == [[onion, onion, -1], [onion] * 3]
    assert timer.tolist() == [-1, 11]
    types = read(env, state).object_type_map
    assert types[0, 3] == types[2, 2] == env.type_ids["pot"]
    assert not read(env, state).object_state_map.any()  # pots have their own fields
