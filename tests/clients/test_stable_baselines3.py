"""Stable-Baselines3: the VecEnv against the vector environment, under SB3's wrappers and learner."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecCheckNan, VecFrameStack, VecMonitor, VecNormalize

import cogrid
from cogrid.adapters.stable_baselines3 import AgentVecEnv, AnnealShaping
from tests.clients.support import run_section
from tests.support import BACKENDS

ROOM = "Overcooked-CrampedRoom-V0"
B, N, LENGTH = 3, 2, 16
#: A return that random play never comes near: see `test_it_learns`.
LEARNT = 20.0


def vec(backend: str = "numpy", **options) -> cogrid.VectorEnv:
    return cogrid.make_vec(ROOM, B, backend, max_steps=LENGTH, shaping=1.0, random_start=True, **options)


@pytest.mark.parametrize("backend", BACKENDS)
def test_equal_to_the_vector_environment(backend) -> None:
    """Also what SB3 wants to know of an end: the last observation, whether it was cut off, the episode."""
    env, same = AgentVecEnv(vec(backend)), vec(backend)
    env.seed(5)
    obs, (seen, _) = env.reset(), same.reset(seed=5)
    np.testing.assert_array_equal(obs.reshape(B, N, -1), seen)
    generator, ends = np.random.default_rng(0), 0
    for _ in range(2 * LENGTH + 3):
        actions = generator.choice([0, 1, 2, 3, 4, 4], B * N)
        obs, rewards, dones, infos = env.step(actions)
        seen, points, _, cut, told = same.step(actions.reshape(B, N))
        np.testing.assert_array_equal(obs.reshape(B, N, -1), seen)
        np.testing.assert_array_equal(rewards.reshape(B, N), points)
        np.testing.assert_array_equal(dones.reshape(B, N)[:, 0], cut)
        assert len(infos) == B * N
        for i in np.flatnonzero(dones):
            ends += 1
            last = np.asarray(told["final_obs"])[i // N, i % N]
            np.testing.assert_array_equal(infos[i]["terminal_observation"], last)
            assert infos[i]["TimeLimit.truncated"] is True
            assert infos[i]["episode"]["l"] == LENGTH
            assert infos[i]["episode"]["r"] == np.asarray(told["episode"]["r"])[i // N, i % N]
        assert not any("episode" in infos[i] for i in np.flatnonzero(~dones))
    assert ends == 2 * B * N


def test_seeds_and_attributes() -> None:
    env = AgentVecEnv(vec(infos=True))
    assert env.seed(7) == [7, 7, 8, 8, 9, 9]
    first = env.reset()
    env.seed(7)
    np.testing.assert_array_equal(env.reset(), first)
    assert not np.array_equal(env.reset(), first), "without a seed the episodes go on differently"
    assert {"action_mask"} == set(env.reset_infos[0])
    told = env.step(np.full(B * N, 4))[3][B * N - 1]
    assert told["rewards"] == {"delivery": 0, "ingredient": 0, "soup": 0, "dish": 0}
    assert told["verb"].shape == ()
    assert env.get_attr("n_agents", [0, 3]) == [N, N]
    assert env.env_is_wrapped(Monitor) == [True] * (B * N)
    assert not env.has_attr("no_such_thing")
    with pytest.raises(AttributeError, match="'gravity' cannot be set"):
        env.set_attr("gravity", 2)
    with pytest.raises(ValueError, match="autoreset='next-step'"):
        AgentVecEnv(vec(autoreset="next-step"))


def test_options_are_for_the_whole_batch() -> None:
    board = "XXPXX\nO2 1O\nX   X\nXDXSX"
    env = AgentVecEnv(cogrid.make_vec(ROOM, 3, any_board=True))
    env.reset()
    usual = env.agents.vec.env_state.pos.copy()
    env.set_options({"board": board})
    env.reset()
    assert (env.agents.vec.env_state.pos != usual).any(axis=-1).all()
    env.reset()  # options are for one reset
    np.testing.assert_array_equal(env.agents.vec.env_state.pos, usual)
    env.set_options([{"board": board}] + [{}] * 5)
    with pytest.raises(ValueError, match="set_options takes one dict for all sub-environments"):
        env.reset()


def test_copies_go_on_alike() -> None:
    env = AgentVecEnv(vec())
    env.reset()
    env.step(np.full(B * N, 4))
    twin = pickle.loads(pickle.dumps(env))
    for _ in range(LENGTH):
        for mine, theirs in zip(env.step(np.full(B * N, 3))[:3], twin.step(np.full(B * N, 3)), strict=False):
            np.testing.assert_array_equal(mine, theirs)


def test_under_its_wrappers() -> None:
    env = VecNormalize(VecFrameStack(VecMonitor(VecCheckNan(AgentVecEnv(vec()), raise_exception=True)), 2))
    size = cogrid.make(ROOM).observation_space(0).shape[0]
    assert env.reset().shape == (B * N, 2 * size)
    episodes = 0
    for _ in range(LENGTH + 1):
        obs, rewards, _, infos = env.step(np.full(B * N, 4))
        assert np.isfinite(obs).all()
        assert np.isfinite(rewards).all()
        episodes += sum("episode" in info for info in infos)
    assert episodes == B * N


def test_pictures() -> None:
    env = AgentVecEnv(vec(render_mode="rgb_array"))
    env.reset()
    assert env.render_mode == "rgb_array"
    assert len(env.get_images()) == B * N
    assert env.render().dtype == np.uint8


def test_it_learns() -> None:
    """Shaping is annealed, and the return of deliveries alone is far above random play's."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    env = AgentVecEnv(cogrid.make_vec(ROOM, 32, shaping=1.0))
    test = AgentVecEnv(cogrid.make_vec(ROOM, 16))
    learner = {"n_steps": 100, "batch_size": 1600, "n_epochs": 4, "ent_coef": 0.01, "learning_rate": 1e-3}
    model = PPO("MlpPolicy", env, seed=0, device="cpu", **learner)
    test.seed(1)
    before, _ = evaluate_policy(model, test, 32, deterministic=False)
    model.learn(250_000, callback=AnnealShaping(10_000_000))
    after, _ = evaluate_policy(model, test, 32, deterministic=False)
    weights = {round(float(weight), 4) for weight in env.agents.vec.env_state.shaping_weight}
    assert weights == {round(1 - 249_600 / 10_000_000, 4)}
    assert before < 1
    assert after > LEARNT


def test_the_page(tmp_path: Path) -> None:
    assert "total_timesteps" in run_section("Stable-Baselines3", tmp_path)
