"""Mistakes of an older implementation that must not come back; one test each, named after it."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

import cogrid
from cogrid.backend import rng
from tests.doors import hall
from tests.envs.overcooked.boards import draw, kitchen, picture, state_of, step
from tests.episodes import digest, jitted, play
from tests.support import BACKENDS, DOWN, HAS_JAX, IDS, INTERACT, LEFT, NOOP, RIGHT, UP

ROOM = "Overcooked-CrampedRoom-V0"
each_backend = pytest.mark.parametrize("backend", BACKENDS)


@each_backend
def test_making_one_environment_changed_another(backend) -> None:
    """Type ids were shifted, and reward objects shared."""
    env = cogrid.make(ROOM, backend=backend, shaping=1.0)
    ids, verbs, names = dict(env.type_ids), env.verbs, env.feature_names
    before = digest(play(env, 1))
    others = [
        cogrid.make("Arena-V0", backend=backend, map_size=5, num_agents=2),
        cogrid.make(ROOM, backend=backend, shaping=0.0, soup_value=99.0, cook_time=3),
        cogrid.make(ROOM, backend="numpy", layout="XXTXX\nO   P\nXDXSX", shaping=0.5),
    ]
    for other in others:
        list(play(other, 1, 3))
    assert (env.type_ids, env.verbs, env.feature_names) == (ids, verbs, names)
    assert digest(play(env, 1)) == before
    again = cogrid.make(ROOM, backend=backend, shaping=1.0)
    assert again.type_ids == ids
    assert digest(play(again, 1)) == before


@each_backend
def test_the_seed_was_ignored(backend) -> None:
    """On NumPy; a kitchen with random starts shows it."""
    env = cogrid.make(ROOM, backend=backend, random_start=True)

    def starts(seed: int) -> tuple[list[int], list[int]]:
        env.reset(seed=seed)
        return np.asarray(env.env_state.pos).tolist(), np.asarray(env.env_state.agent_dir).tolist()

    first = [starts(seed) for seed in range(30)]
    assert [starts(seed) for seed in range(30)] == first
    assert len({str(start) for start in first}) > 20


@each_backend
def test_four_agents_in_a_row_could_end_two_in_one_cell(backend) -> None:
    before = """
        X X X X X X X
        P > > > > < X
        X O D S X X X
    """
    env = kitchen(before, backend)
    state, _ = step(env, state_of(env, before), [RIGHT, RIGHT, RIGHT, RIGHT, LEFT])
    assert draw(env, state) == picture(before)  # the swap at the head holds the whole row
    state, _ = step(env, state_of(env, before), [RIGHT, RIGHT, RIGHT, RIGHT, UP])
    assert draw(env, state) == picture(before.replace("< ", "^ "))
    freed, walked = (
        """
        X X X X X X X
        P > > > >   X
        X O D S X X X
        """,
        """
        X X X X X X X
        P   > > > > X
        X O D S X X X
        """,
    )
    env = kitchen(freed, backend)
    state, _ = step(env, state_of(env, freed), [RIGHT] * 4)
    assert draw(env, state) == picture(walked)
    contest = """
        X X X X X X X
        P > >   < < X
        X O D S X X X
    """
    env = kitchen(contest, backend)
    state, _ = step(env, state_of(env, contest), [RIGHT, RIGHT, LEFT, LEFT])
    assert draw(env, state) == picture(contest)
    assert len(set(np.asarray(state.pos).tolist())) == 4


@each_backend
def test_rotate_did_nothing(backend) -> None:
    env = cogrid.make(ROOM, backend=backend, action_set="rotation")
    assert env.action_names == ("forward", "interact", "toggle", "rotate left", "rotate right", "noop")
    env.reset(seed=0)
    facings = [np.asarray(env.env_state.agent_dir).tolist()]
    for _ in range(4):
        env.step({0: 3, 1: 4})
        facings.append(np.asarray(env.env_state.agent_dir).tolist())
    # 3 up, 2 left, 1 down, 0 right: agent 0 turns to its left, agent 1 to its right
    assert facings == [[3, 3], [2, 0], [1, 1], [0, 2], [3, 3]]
    env.step({0: 4, 1: 5})
    env.step({0: 0, 1: 5})  # forward, to the right
    assert np.asarray(env.env_state.pos).tolist() == [2 * 5 + 2, 1 * 5 + 3]


@each_backend
def test_the_functional_step_was_missing_before_the_first_reset(backend) -> None:
    env = cogrid.make(ROOM, backend=backend)
    reset, step_fn = env.reset_fn, env.step_fn
    if backend == "jax":
        assert (env.jax_reset, env.jax_step) == (reset, step_fn)
    state, obs = env.rules.backend.compiled(reset)(env.rules.backend.key(rng.key(0)))
    state, obs, rewards, done, infos = env.rules.backend.compiled(step_fn)(
        state, np.array([UP, DOWN], np.int32)
    )
    assert (np.asarray(obs).shape[0], np.asarray(rewards).shape, bool(done), infos) == (2, (2,), False, {})
    assert env.agents == []  # and the adapter is still unborn
    env.reset(seed=0)
    assert (env.reset_fn, env.step_fn) == (reset, step_fn)


@each_backend
@pytest.mark.parametrize("id", IDS)
def test_there_was_no_observation_space(backend, id) -> None:
    env = cogrid.make(id, backend=backend)  # before any reset
    for agent in env.possible_agents:
        space = env.observation_space(agent)
        assert isinstance(space, gymnasium.spaces.Box)
        assert space.contains(space.sample())
        assert isinstance(env.action_space(agent), gymnasium.spaces.Discrete)
    obs, _ = env.reset(seed=0)
    assert all(env.observation_space(agent).contains(obs[agent]) for agent in env.agents)


@each_backend
def test_one_agents_end_emptied_all(backend) -> None:
    env = cogrid.CoGridEnv(hall("#EE#\n#12#\n####"), backend)
    env.reset(seed=0)
    _, _, terminations, truncations, _ = env.step({0: NOOP, 1: INTERACT})
    assert (terminations, truncations) == ({0: False, 1: True}, {0: False, 1: False})
    assert env.agents == [0]
    obs, *_ = env.step({0: NOOP})
    assert list(obs) == [0]


@each_backend
def test_two_agents_racing_for_a_pots_last_slot_were_both_paid(backend) -> None:
    before = """
        X X X X X
        X >oP2<oX
        X O D S X
    """
    env = kitchen(before, backend, shaping=1.0)
    state, rewards = step(env, state_of(env, before), [INTERACT, INTERACT])
    assert draw(env, state) == picture(before.replace(">oP2", "> P~"))
    assert rewards == [3.0, 0.0]


@each_backend
def test_plating_on_the_exact_ready_tick_paid_nothing(backend) -> None:
    before = """
        X X P2X
        O   ^oX
        X S D X
    """
    env = kitchen(before, backend, shaping=1.0)
    state, rewards = step(env, state_of(env, before), [INTERACT])
    assert rewards == [3.0]
    for _ in range(19):
        state, rewards = step(env, state, [NOOP])
    dish = list(env.spec.symbols.items).index("dish")
    state = env.replace(state, held=[dish])
    assert draw(env, state).startswith("X X P*X")  # it became ready in the step just before
    state, rewards = step(env, state, [INTERACT])
    assert draw(env, state) == picture(before.replace("P2", "P ").replace("^o", "^s"))
    assert rewards == [5.0]


@each_backend
@pytest.mark.parametrize(("glyph", "ready"), [("P~", 0), ("P*", 1)])
def test_a_cooking_pot_showed_as_a_soup_in_the_observation(backend, glyph, ready) -> None:
    before = """
        X X P X
        O   ^ X
        X S D X
    """.replace("P ", glyph)
    env = kitchen(before, backend)
    _, obs, _, _, _ = jitted(env)(state_of(env, before), np.array([NOOP], np.int32))
    seen = dict(zip(env.feature_names, np.asarray(obs)[0].tolist(), strict=True))
    assert (seen["pot 0 ready"], seen["pot 0 cooking"]) == (ready, 1 - ready)
    assert seen["pot 0 time left"] == pytest.approx(0.3 * (1 - ready))
    assert (seen["lying soup exists"], seen["holds soup"], seen["faces laden counter"]) == (0, 0, 0)
    assert seen["faces pot"] == 1
    planes = kitchen(before, backend, observation="lossless")
    _, obs, _, _, _ = jitted(planes)(state_of(planes, before), np.array([NOOP], np.int32))
    pot = dict(zip(planes.feature_names, np.asarray(obs)[0, 0, 2].tolist(), strict=True))
    assert (pot["soup ready"], pot["cook time left"], pot["onions in pot"]) == (ready, 6 * (1 - ready), 0)
    assert np.asarray(obs)[0, ..., planes.feature_names.index("soup ready")].sum() == ready


@pytest.mark.parametrize("make", [cogrid.make, lambda id, **options: cogrid.make_vec(id, 2, **options)])
def test_unknown_keywords_were_swallowed(make) -> None:
    with pytest.raises(TypeError, match="'horizon'"):
        make(ROOM, horizon=100)
    with pytest.raises(TypeError, match="'cook_times'"):
        make(ROOM, cook_times=5)


if HAS_JAX:

    def test_every_reset_recompiled() -> None:
        """Counted in tests/test_cogrid_env.py too, by JAX's own events."""
        env = cogrid.make(ROOM, backend="jax", max_steps=397)
        twin = cogrid.make(ROOM, backend="jax", max_steps=397)
        assert (twin._reset, twin._step) == (env._reset, env._step)  # one compiled object for both
        for one in (env, twin):
            for seed in range(5):
                one.reset(seed=seed)
                one.reset()
                one.step({0: UP, 1: UP})
        assert (env._reset._cache_size(), env._step._cache_size()) == (1, 1)
