"""Shaping: what is paid to the actor on the way to a soup, and its weight."""

from __future__ import annotations

import numpy as np
import pytest

from tests.envs.overcooked.boards import (
    POTTING,
    ROOM,
    SHARED,
    check,
    each_backend,
    kitchen,
    read,
    start,
    state_of,
    step,
)
from tests.episodes import jitted, shared
from tests.support import HAS_JAX, INTERACT, NOOP, keys


@each_backend
def test_shaping_is_off_by_default(backend) -> None:
    env = kitchen(SHARED, backend)
    before = """
        X X X P X
        O   X   S
        X >oP1<oX
        X D X D X
    """
    _, rewards = step(env, state_of(env, before), [INTERACT] * 2)
    assert rewards == [0.0, 0.0]


#: What agent 0, at the left, does while agent 1 takes a dish from the pile, and who is paid.
DISH_CASES = {
    "one pot in use": (
        """
        X X X P X
        O   X   S
        X > P1v X
        X D X D X
        """,
        NOOP,
        [0.0, 3.0],
    ),
    "a cooking pot counts": (
        """
        X X X P X
        O   X   S
        X > P~v X
        X D X D X
        """,
        NOOP,
        [0.0, 3.0],
    ),
    "a ready pot counts": (
        """
        X X X P*X
        O   X   S
        X > P v X
        X D X D X
        """,
        NOOP,
        [0.0, 3.0],
    ),
    "no pot in use": (
        """
        X X X P X
        O   X   S
        X > P v X
        X D X D X
        """,
        NOOP,
        [0.0, 0.0],
    ),
    "a dish in hand for the only pot": (
        """
        X X X P X
        O   X   S
        X >dP1v X
        X D X D X
        """,
        NOOP,
        [0.0, 0.0],
    ),
    "a dish in hand and two pots": (
        """
        X X X P1X
        O   X   S
        X >dP1v X
        X D X D X
        """,
        NOOP,
        [0.0, 3.0],
    ),
    "a dish lies on a counter": (
        """
        X XdX P1X
        O   X   S
        X > P1v X
        X D X D X
        """,
        NOOP,
        [0.0, 0.0],
    ),
    "an onion lies on a counter": (
        """
        X XoX P1X
        O   X   S
        X > P1v X
        X D X D X
        """,
        NOOP,
        [0.0, 3.0],
    ),
    "agent 0 drops a dish": (  # in hand it was one of two; now one lies about
        """
        X X X P1X
        O   X   S
        X <dP1v X
        X D X D X
        """,
        INTERACT,
        [0.0, 0.0],
    ),
    "agent 0 plates": (  # the dish in its hand is gone, but the pot still counts as before the step
        """
        X X X P X
        O   X   S
        X >dP*v X
        X D X D X
        """,
        INTERACT,
        [5.0, 3.0],
    ),
    "agent 0 takes a dish too": (  # the only pot is served by agent 0's dish
        """
        X X X P X
        O   X   S
        X v P1v X
        X D X D X
        """,
        INTERACT,
        [3.0, 0.0],
    ),
    "agent 0 takes a dish too, two pots": (
        """
        X X X P1X
        O   X   S
        X v P1v X
        X D X D X
        """,
        INTERACT,
        [3.0, 3.0],
    ),
    "agent 0 picks the dish up": (  # none lies about any more, and one of two pots is left
        """
        X X X P1X
        O   X   S
        Xd< P1v X
        X D X D X
        """,
        INTERACT,
        [0.0, 3.0],
    ),
    "agent 0 picks the dish up, one pot": (
        """
        X X X P X
        O   X   S
        Xd< P1v X
        X D X D X
        """,
        INTERACT,
        [0.0, 0.0],
    ),
    "agent 0 pots the first onion": (  # pots count as the step began: JaxMARL pays 3 here, overcooked_ai 0
        """
        X X X P X
        O   X   S
        X >oP v X
        X D X D X
        """,
        INTERACT,
        [3.0, 0.0],
    ),
    "agent 0 delivers nothing but its dish": (
        """
        X X X P1X
        O   X >dS
        X   P v X
        X D X D X
        """,
        INTERACT,
        [0.0, 0.0],
    ),
}


@each_backend
@pytest.mark.parametrize("case", DISH_CASES)
def test_dish_shaping(backend, case) -> None:
    before, first, paid = DISH_CASES[case]
    env = kitchen(SHARED, backend, shaping=1.0)
    state, rewards = step(env, state_of(env, before), [first, INTERACT])
    assert read(env, state).agent_inv[1, 0] == env.type_ids["dish"]
    assert rewards == paid


@each_backend
@pytest.mark.parametrize(
    ("pot", "paid"), [("P ", 0.0), ("P1", 3.0), ("P2", 3.0), ("P3", 0.0), ("P~", 3.0), ("P*", 3.0)]
)
def test_dish_shaping_of_the_interact_rule(backend, pot, paid) -> None:
    """As in overcooked_ai, a full pot that nobody has started asks for no dish."""
    before = """
        X X X P X
        O   X   S
        X > P v X
        X D X D X
    """.replace("> P ", "> " + pot)
    env = kitchen(SHARED, backend, shaping=1.0, cook_start="interact")
    _, rewards = step(env, state_of(env, before), [NOOP, INTERACT])
    assert rewards == [0.0, paid]


@each_backend
def test_dish_shaping_does_not_see_what_later_agents_do(backend) -> None:
    env = kitchen(SHARED, backend, shaping=1.0)
    drops = """
        X X X P1X
        O   X   S
        X v P1>dX
        X D X D X
    """
    _, rewards = step(env, state_of(env, drops), [INTERACT, INTERACT])
    assert rewards == [3.0, 0.0]
    plates = """
        X X X P X
        O   X   S
        X v P*<dX
        X D X D X
    """
    _, rewards = step(env, state_of(env, plates), [INTERACT, INTERACT])
    assert rewards == [0.0, 5.0]


@each_backend
def test_dish_shaping_for_more_than_two(backend) -> None:
    before = """
        X X X P1X
        O v X   S
        X v P1v X
        X D X D X
    """
    env = kitchen(before, backend, shaping=1.0)
    assert env.config["num_agents"] == 3
    state = state_of(env, before)
    _, rewards = step(env, state, [INTERACT, INTERACT, INTERACT])  # agent 0 faces agent 1
    assert rewards == [0.0, 3.0, 3.0]


@each_backend
def test_shaping_is_paid_to_the_actor_and_the_score_to_all(backend) -> None:
    env = kitchen(SHARED, backend, shaping=1.0)
    before = """
        X X X P X
        O   X >sS
        X >oP1  X
        X D X D X
    """
    after = """
        X X X P X
        O   X > S
        X > P2  X
        X D X D X
    """
    check(env, before, [INTERACT] * 2, after, [20.0, 23.0])


@each_backend
@pytest.mark.parametrize("weight", [0.0, 0.25, 0.5, 1.0, 2.0])
def test_shaping_weight_is_annealed_by_replace(backend, weight) -> None:
    env = kitchen(SHARED, backend, shaping=1.0)
    state = env.replace(state_of(env, POTTING), shaping_weight=weight)
    assert float(state.shaping_weight) == weight
    after, rewards = step(env, state, [INTERACT] * 2)
    assert rewards == [20.0, 20.0 + 3 * weight]  # the score is not shaping
    assert float(after.shaping_weight) == weight


@each_backend
def test_shaping_weight_of_the_spec(backend) -> None:
    env = kitchen(SHARED, backend, shaping=0.5)
    _, rewards = step(env, state_of(env, POTTING), [INTERACT] * 2)
    assert rewards == [20.0, 21.5]


@each_backend
def test_shaping_weight_that_is_no_short_fraction(backend) -> None:
    env = kitchen(SHARED, backend, shaping=1.0)
    state = env.replace(state_of(env, POTTING), shaping_weight=0.3)
    _, rewards = step(env, state, [INTERACT] * 2)
    assert rewards[1] == pytest.approx(20.9, abs=1e-4)


@each_backend
def test_shaping_weights_differ_within_a_batch(backend) -> None:
    env = shared(ROOM, backend, shaping=1.0)
    state = start(env, keys(0, 3))
    state = env.replace(
        state,
        agent_pos=np.array([[1, 2], [1, 3]]),
        agent_inv=np.array([[[env.type_ids["onion"]], [-1]]] * 3),
        shaping_weight=np.array([0.0, 0.5, 1.0], np.float32),
    )
    _, _, rewards, _, _ = jitted(env)(state, np.tile(np.int32([INTERACT, NOOP]), (3, 1)))
    assert np.asarray(rewards).tolist() == [[0.0, 0.0], [1.5, 0.0], [3.0, 0.0]]


if HAS_JAX:
    import jax

    def test_shaping_weight_is_annealed_inside_jit() -> None:
        env = kitchen(SHARED, "jax", shaping=1.0)
        start_state = state_of(env, POTTING)

        @jax.jit
        def anneal(state, weights):
            def body(state, weight):
                state = env.replace(state, shaping_weight=weight)
                _, _, rewards, _, _ = env.jax_step(state, np.array([NOOP, INTERACT], np.int32))
                return state, rewards

            return jax.lax.scan(body, state, weights)

        last, rewards = anneal(start_state, np.array([1.0, 0.5, 0.0], np.float32))
        assert np.asarray(rewards).tolist() == [[0.0, 3.0], [0.0, 1.5], [0.0, 0.0]]
        assert float(last.shaping_weight) == 0.0
