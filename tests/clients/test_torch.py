"""PyTorch: tensors that share memory with arrays, the PPO example, and CleanRL's calls."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import numpy as np
import pytest

import cogrid
from cogrid.adapters.gymnasium import AgentVectorEnv
from tests.clients.support import ROOT, run, run_section
from tests.support import BACKENDS

torch = pytest.importorskip("torch")

ROOM = "Overcooked-CrampedRoom-V0"


@pytest.mark.parametrize("backend", BACKENDS)
def test_tensors_without_a_copy(backend) -> None:
    vec = cogrid.make_vec(ROOM, 4, backend, observation="lossless", max_steps=3)
    arrays = [vec.reset(seed=0)[0], *vec.step(np.zeros((4, 2), np.int32))[:4]]
    for array in arrays:
        tensor = torch.from_dlpack(array)
        assert tuple(tensor.shape) == array.shape
        np.testing.assert_array_equal(tensor.numpy(), np.asarray(array))
        where = array.ctypes.data if backend == "numpy" else array.unsafe_buffer_pointer()
        assert tensor.data_ptr() == where


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_example_learns_alike_on_both_backends(backend, tmp_path: Path) -> None:
    told = run(tmp_path, str(ROOT / "examples/torch_ppo.py"), "--steps", "6.4e4", "--backend", backend)
    assert told.splitlines()[-1].startswith("update 10 of 10: return ")
    assert float(told.split()[-1]) > 3


def test_what_cleanrl_calls() -> None:
    """The environment's part of ppo.py: storage by shapes, integer actions, float tensors, episodes."""
    envs = AgentVectorEnv(cogrid.make_vec(ROOM, 4, max_steps=10, shaping=1.0))
    envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs)
    assert isinstance(envs.single_action_space, gymnasium.spaces.Discrete)
    steps, n = 25, envs.num_envs
    obs = torch.zeros((steps, n) + envs.single_observation_space.shape)
    actions = torch.zeros((steps, n) + envs.single_action_space.shape)
    rewards = torch.zeros((steps, n))
    next_obs, _ = envs.reset(seed=1)
    next_obs, ends = torch.Tensor(next_obs), []
    for step in range(steps):
        obs[step] = next_obs
        action = torch.randint(int(envs.single_action_space.n), (n,))
        actions[step] = action
        next_obs, reward, terminations, truncations, infos = envs.step(action.cpu().numpy())
        rewards[step] = torch.tensor(reward).view(-1)
        next_obs, next_done = torch.Tensor(next_obs), torch.Tensor(np.logical_or(terminations, truncations))
        assert next_done.shape == (n,)
        if "episode" in infos:
            ends.append(infos["episode"]["l"][infos["_episode"]])
    assert [len(one) for one in ends] == [n, n]
    assert obs.isfinite().all()
    assert obs[1:].ne(obs[:-1]).any()


@pytest.mark.parametrize("section", ["PyTorch", "CleanRL"])
def test_the_page(section, tmp_path: Path) -> None:
    run_section(section, tmp_path)
