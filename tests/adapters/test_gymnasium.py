"""The Gymnasium adapter: equal to the vector environment, under Gymnasium's own vector wrappers."""

from __future__ import annotations

import functools

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import vector as wrappers

import cogrid
from cogrid.adapters.gymnasium import AgentVectorEnv
from tests.support import BACKENDS, INTERACT

ROOM = "Overcooked-CrampedRoom-V0"
B, N, STEPS, LENGTH = 3, 2, 40, 16
NARROW = """
    XPSX
    O  O
    XDPX
"""
OPTIONS = {"max_steps": LENGTH, "shaping": 1.0, "random_start": True, "layout": NARROW}
MODES = ("same-step", "next-step")
each_mode = pytest.mark.parametrize("mode", MODES)
each_backend = pytest.mark.parametrize(  # tests of one backend share a worker, and so its compiled functions
    "backend", [pytest.param(b, marks=pytest.mark.xdist_group(f"gymnasium:{b}")) for b in BACKENDS]
)


def vector(backend: str, mode: str, **options) -> cogrid.VectorEnv:
    return cogrid.make_vec(ROOM, B, backend=backend, autoreset=mode, **OPTIONS, **options)


def agents(backend: str, mode: str, **options) -> AgentVectorEnv:
    return AgentVectorEnv(vector(backend, mode, **options))


@functools.cache
def tape() -> np.ndarray:
    """(steps, B·N)"""
    return np.random.default_rng(0).choice([0, 1, 2, 3, INTERACT, INTERACT], (STEPS, B * N))


@each_backend
@each_mode
def test_equal_to_the_vector_environment(backend, mode) -> None:
    vec, env = vector(backend, mode, infos=True), agents(backend, mode, infos=True)
    seen, told = vec.reset(seed=4)
    obs, infos = env.reset(seed=4)
    assert isinstance(env, gymnasium.vector.VectorEnv)
    assert env.num_envs == B * N
    assert env.observation_space.contains(obs)
    np.testing.assert_array_equal(obs.reshape(B, N, -1), seen)
    np.testing.assert_array_equal(infos["action_mask"].reshape(B, N, -1), told["action_mask"])
    ends, paid = 0, 0.0
    for actions in tape():
        seen, points, _, cut, told = vec.step(actions.reshape(B, N))
        obs, rewards, terminations, truncations, infos = env.step(actions)
        np.testing.assert_array_equal(obs.reshape(B, N, -1), seen)
        np.testing.assert_array_equal(rewards.reshape(B, N), points)
        np.testing.assert_array_equal(truncations.reshape(B, N), np.asarray(cut)[:, None].repeat(N, 1))
        assert not terminations.any()
        assert (rewards.dtype, terminations.dtype, truncations.dtype) == (np.float32, bool, bool)
        np.testing.assert_array_equal(infos["verb"].reshape(B, N), told["verb"])
        for name, paid_by_term in told["rewards"].items():
            np.testing.assert_array_equal(infos["rewards"][name].reshape(B, N), paid_by_term)
        assert isinstance(obs, np.ndarray)
        obs[:] = 0  # the caller's own
        assert ("totals" in infos) == truncations.any()
        assert ("final_obs" in infos) == (truncations.any() and mode == "same-step")
        if "totals" in infos:
            np.testing.assert_array_equal(infos["totals"]["r"].reshape(B, N), told["episode"]["r"])
            np.testing.assert_array_equal(infos["totals"]["l"][::N], told["episode"]["l"])
            np.testing.assert_array_equal(infos["_totals"], truncations)
        if "final_obs" in infos:
            np.testing.assert_array_equal(np.stack(infos["final_obs"]).reshape(B, N, -1), told["final_obs"])
            np.testing.assert_array_equal(infos["final_info"]["verb"], infos["verb"])
            assert "action_mask" not in infos["final_info"]
        ends, paid = ends + truncations.sum(), paid + rewards.sum()
    assert ends == B * N * 2
    assert paid > 0


@each_mode
def test_spaces_and_modes(mode) -> None:
    env = agents("numpy", mode)
    expected = AutoresetMode.SAME_STEP if mode == "same-step" else AutoresetMode.NEXT_STEP
    assert env.metadata["autoreset_mode"] == expected
    single = cogrid.make(ROOM, **OPTIONS)
    assert env.single_observation_space == single.observation_space(0)
    assert env.single_action_space == single.action_space(0) == gymnasium.spaces.Discrete(7)
    assert env.action_space.shape == (B * N,)
    obs, infos = env.reset(seed=[3, 4, 5])
    assert infos == {}
    np.testing.assert_array_equal(obs, env.reset(seed=3)[0])
    assert repr(env) == f"AgentVectorEnv(num_envs={B * N})"
    env.close()


def test_mistakes_raise_clear_errors() -> None:
    env = agents("numpy", "same-step")
    with pytest.raises(ValueError, match="step before reset"):
        env.step(np.zeros(B * N, int))
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"shape \(3, 2\), but 3 environments of 2 agents take \(6,\)"):
        env.step(np.zeros((B, N), int))
    with pytest.raises(ValueError, match="action 7 of agent 1 in environment 2 is out of range"):
        env.step([0, 0, 0, 0, 0, 7])
    with pytest.raises(ValueError, match="reset_mask"):
        env.reset(options={"reset_mask": np.ones(6, bool)})


# Gymnasium's own wrappers


def episodes(env: gymnasium.vector.VectorEnv) -> list[dict]:
    """The infos of every step."""
    env.reset(seed=4)
    return [env.step(actions)[4] for actions in tape()]


@each_backend
@each_mode
def test_record_episode_statistics(backend, mode) -> None:
    env = wrappers.RecordEpisodeStatistics(agents(backend, mode, infos=True))
    ends = []
    for infos in episodes(env):
        assert ("episode" in infos) == ("totals" in infos)
        if "episode" in infos:
            ends.append(infos)
    assert env.episode_count == B * N * len(ends) == B * N * 2
    # Before 1.4 Gymnasium's wrapper forgets the first step of later episodes in the same-step mode.
    for infos in ends[: 1 if mode == "same-step" else 2]:
        assert infos["_episode"].all()
        np.testing.assert_array_equal(infos["episode"]["l"], infos["totals"]["l"])
        np.testing.assert_array_equal(infos["episode"]["r"], infos["totals"]["r"])
        assert infos["totals"]["l"].tolist() == [LENGTH] * B * N
    assert max(infos["totals"]["r"].max() for infos in ends) > 0


@each_mode
def test_infos_as_a_list(mode) -> None:
    infos = episodes(wrappers.DictInfoToList(agents("numpy", mode, infos=True)))
    assert all(len(one) == B * N for one in infos)
    last = infos[LENGTH - 1][0]
    assert last["totals"]["l"] == LENGTH
    assert ("final_obs" in last) == ("final_info" in last) == (mode == "same-step")
    assert {"verb", "action_mask", "rewards"} <= set(infos[0][0])
    assert infos[0][0]["rewards"]["ingredient"] == 0
    assert "totals" not in infos[0][0]


def test_flat_observations() -> None:
    """Gymnasium's observation wrappers take the next-step mode only."""
    env = wrappers.FlattenObservation(agents("numpy", "next-step", observation="lossless"))
    size = np.prod(env.unwrapped.single_observation_space.shape)
    assert env.observation_space.shape == (B * N, size)
    assert env.reset(seed=1)[0].shape == (B * N, size)
    assert env.step(tape()[0])[0].shape == (B * N, size)


def test_normalised_observations_and_rewards() -> None:
    env = wrappers.NormalizeReward(wrappers.NormalizeObservation(agents("numpy", "next-step")))
    episodes(env)
    obs, rewards, *_ = env.step(tape()[0])
    assert np.isfinite(obs).all()
    assert np.isfinite(rewards).all()
    assert np.abs(obs).max() > 1


@each_mode
def test_transformed_rewards(mode) -> None:
    env = wrappers.TransformReward(agents("numpy", mode), lambda points: points * 10)
    env = wrappers.ClipReward(env, max_reward=7)
    env.reset(seed=4)
    assert {*np.concatenate([env.step(actions)[1] for actions in tape()]).tolist()} == {0, 7}


def test_options_of_reset_are_those_of_the_batch() -> None:
    env = AgentVectorEnv(cogrid.make_vec(ROOM, 2, any_board=True))
    board = "XXPXX\nO2 1O\nX   X\nXDXSX"
    env.reset(seed=0, options={"board": board})
    alone = cogrid.make(ROOM, any_board=True)
    alone.reset(seed=0, options={"board": board})
    np.testing.assert_array_equal(env.vec.env_state.pos[0], alone.env_state.pos)
    usual = cogrid.make(ROOM, any_board=True)
    usual.reset(seed=0)
    assert (usual.env_state.pos != alone.env_state.pos).any()
    with pytest.raises(ValueError, match="did you mean 'board'"):
        env.reset(options={"boards": board})


def test_it_wraps_a_batch_only() -> None:
    with pytest.raises(TypeError, match="takes what make_vec returns, not"):
        AgentVectorEnv(cogrid.make(ROOM))
