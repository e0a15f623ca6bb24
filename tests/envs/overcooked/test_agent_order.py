"""Agents act in order, and each sees what the earlier ones left."""

from __future__ import annotations

import pytest

from tests.envs.overcooked.boards import SHARED, check, each_backend, kitchen
from tests.support import DOWN, INTERACT, LEFT, NOOP


@each_backend
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_race_for_the_last_slot_and_one_is_paid(backend, order) -> None:
    env = kitchen(SHARED, backend, shaping=1.0)
    before = """
        X X X P X
        O   X   S
        X >oP2<oX
        X D X D X
    """
    left_wins, right_wins = (
        """
        X X X P X
        O   X   S
        X > P~<oX
        X D X D X
        """,
        """
        X X X P X
        O   X   S
        X >oP~< X
        X D X D X
        """,
    )
    check(env, before, [INTERACT] * 2, left_wins if order == (0, 1) else right_wins, [3.0, 0.0], order=order)


@each_backend
def test_two_pot_into_one_pot_with_room_for_both(backend) -> None:
    env = kitchen(SHARED, backend, shaping=1.0)
    before = """
        X X X P X
        O   X   S
        X >oP1<oX
        X D X D X
    """
    after = """
        X X X P X
        O   X   S
        X > P~< X
        X D X D X
    """
    check(env, before, [INTERACT] * 2, after, [3.0, 3.0])


@each_backend
def test_two_plates_for_one_soup(backend) -> None:
    env = kitchen(SHARED, backend, shaping=1.0)
    before = """
        X X X P X
        O   X   S
        X >dP*<dX
        X D X D X
    """
    after = """
        X X X P X
        O   X   S
        X >sP <dX
        X D X D X
    """
    check(env, before, [INTERACT] * 2, after, [5.0, 0.0])


@each_backend
def test_agent_0_puts_down_what_agent_1_takes_in_the_same_step(backend) -> None:
    env = kitchen(SHARED, backend)
    before = """
        X X X P X
        O >oX < S
        X   P   X
        X D X D X
    """
    after = """
        X X X P X
        O > X <oS
        X   P   X
        X D X D X
    """
    check(env, before, [INTERACT] * 2, after, [0.0, 0.0])


@each_backend
def test_agent_1_does_not_put_down_in_time_for_agent_0(backend) -> None:
    env = kitchen(SHARED, backend)
    before = """
        X X X P X
        O > X <oS
        X   P   X
        X D X D X
    """
    after = """
        X X X P X
        O > Xo< S
        X   P   X
        X D X D X
    """
    check(env, before, [INTERACT] * 2, after, [0.0, 0.0])


@each_backend
def test_two_put_down_on_one_counter_and_the_first_has_it(backend) -> None:
    env = kitchen(SHARED, backend)
    before = """
        X X X P X
        O >oX <dS
        X   P   X
        X D X D X
    """
    after = """
        X X X P X
        O > Xo<dS
        X   P   X
        X D X D X
    """
    check(env, before, [INTERACT] * 2, after, [0.0, 0.0])


@each_backend
def test_agent_0_plates_and_agent_1_fills_the_empty_pot_at_once(backend) -> None:
    env = kitchen(SHARED, backend, shaping=1.0)
    before = """
        X X X P X
        O   X   S
        X >dP*<oX
        X D X D X
    """
    after = """
        X X X P X
        O   X   S
        X >sP1< X
        X D X D X
    """
    check(env, before, [INTERACT] * 2, after, [5.0, 3.0])


@each_backend
def test_interaction_comes_before_movement(backend) -> None:
    env = kitchen(SHARED, backend)
    before = """
        X X X P X
        O > X < S
        X   P   X
        X D X D X
    """
    after = """
        X X X P X
        O   X < S
        X v P   X
        X D X D X
    """
    check(env, before, [DOWN, INTERACT], after, [0.0, 0.0])
    # facing and position are those before the step: turning to the pile does not take from it
    turned = """
        X X X P X
        O < X < S
        X   P   X
        X D X D X
    """
    check(env, before, [LEFT, NOOP], turned, [0.0, 0.0])
