"""Settings and arrays of other libraries: 64 bits in JAX with strict promotion, tensors as actions."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid.adapters.gymnasium import AgentVectorEnv
from tests.support import BACKENDS, HAS_JAX, assert_same

ROOM = "Overcooked-CrampedRoom-V0"
each_backend = pytest.mark.parametrize("backend", BACKENDS)


class Tensor:
    """As PyTorch's: a type of its own for types, and a refusal where the values are not at hand."""

    def __init__(self, values: Any, trouble: str = "") -> None:
        self._values, self._trouble = np.asarray(values), trouble
        self.dtype = f"tensor.{self._values.dtype}"
        self.shape = self._values.shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if self._trouble:
            raise RuntimeError(self._trouble)
        return self._values if dtype is None else self._values.astype(dtype)

    def __repr__(self) -> str:
        return f"tensor({self._values})"


@pytest.fixture(params=["stand-in", "torch"])
def tensor(request: pytest.FixtureRequest) -> Any:
    """Makes a tensor of values: PyTorch's own where it is installed, which no session asks for."""
    return Tensor if request.param == "stand-in" else pytest.importorskip("torch").tensor


@each_backend
def test_tensors_are_actions(backend: str, tensor: Any) -> None:
    env, twin = (cogrid.make(ROOM, backend) for _ in range(2))
    env.reset(seed=0)
    twin.reset(seed=0)
    joint = np.array([3, 4])
    env.step({0: tensor(3), 1: tensor(np.int8(4))})
    twin.step({0: 3, 1: 4})
    assert_same(env.env_state, twin.env_state)
    assert_same(env.step_fn(env.env_state, tensor(joint))[0], env.step_fn(env.env_state, joint)[0])
    batch, other = (cogrid.make_vec(ROOM, 3, backend=backend) for _ in range(2))
    batch.reset(seed=0)
    other.reset(seed=0)
    batch.step(tensor(np.tile(joint, (3, 1))))
    other.step(np.tile(joint, (3, 1)))
    assert_same(batch.env_state, other.env_state)
    flat = AgentVectorEnv(batch)
    assert flat.step(tensor(np.tile(joint, 3)))[1].shape == (6,)


@each_backend
def test_tensors_that_cannot_be_read_say_how(backend: str) -> None:
    env, batch = cogrid.make(ROOM, backend), cogrid.make_vec(ROOM, 3, backend=backend)
    env.reset(seed=0)
    batch.reset(seed=0)
    far = Tensor(np.zeros((3, 2), int), "it is on cuda:0")
    for call in (
        lambda: env.step({0: Tensor(3, "it is on cuda:0"), 1: 4}),
        lambda: env.step_fn(env.env_state, Tensor(np.zeros(2, int), "it is on cuda:0")),
        lambda: batch.step(far),
        lambda: AgentVectorEnv(batch).step(Tensor(np.zeros(6, int), "it is on cuda:0")),
    ):
        with pytest.raises(
            TypeError, match=r"Tensor .*\(it is on cuda:0\).*\.detach\(\)\.cpu\(\)\.numpy\(\)"
        ):
            call()


@each_backend
def test_tensors_of_other_types_are_refused(backend: str, tensor: Any) -> None:
    env, batch = cogrid.make(ROOM, backend), cogrid.make_vec(ROOM, 3, backend=backend)
    env.reset(seed=0)
    batch.reset(seed=0)
    for actions in (tensor(np.zeros((3, 2))), tensor(np.zeros((3, 2), bool))):
        with pytest.raises(TypeError, match="must be integers"):
            batch.step(actions)
    with pytest.raises(TypeError, match=r"action tensor\(1\.5.*\) of agent 0 is not an integer"):
        env.step({0: tensor(1.5), 1: 4})


@each_backend
def test_a_torch_tensor_without_values_says_how(backend: str) -> None:
    torch = pytest.importorskip("torch")
    env = cogrid.make(ROOM, backend)
    env.reset(seed=0)
    nowhere = torch.zeros(2, dtype=torch.int8, device="meta")  # as one on a GPU, NumPy cannot read it
    with pytest.raises(TypeError, match=r"Tensor .*\.detach\(\)\.cpu\(\)\.numpy\(\)"):
        env.step_fn(env.env_state, nowhere)


if HAS_JAX:
    X64 = """
import jax, numpy as np
import cogrid
from cogrid.backend import rng
from tests.support import assert_same, busy_actions, keys

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
assert jax.numpy.zeros(1).dtype == np.float64
ROOM, paid = "Overcooked-CrampedRoom-V0", 0
LAYOUTS = ["CrampedRoom", "CounterCircuit"]
for options in ({"shaping": 0.3}, {"shaping": 1.0, "random_start": True, "layout": LAYOUTS}):
    ours, theirs = (cogrid.make(ROOM, backend, infos=True, **options) for backend in ("jax", "numpy"))
    (one, _), (other, _) = ours.reset_fn(keys(0, 64)), theirs.reset_fn(keys(0, 64))
    step = jax.jit(jax.vmap(ours.jax_step))
    for joint in busy_actions(theirs, np.random.default_rng(0), 60, 64).astype(np.int64):
        one, seen, rewards, _, infos = step(one, jax.numpy.asarray(joint))
        other, theirs_seen, theirs_rewards, _, theirs_infos = theirs.step_fn(other, joint)
        assert_same(one, other)
        assert rewards.dtype == seen.dtype == np.float32
        np.testing.assert_array_equal(seen, theirs_seen)
        np.testing.assert_array_equal(rewards, theirs_rewards)
        jax.tree.map(np.testing.assert_array_equal, infos, theirs_infos)
        paid += int((np.asarray(rewards) != 0).sum())
    assert max(leaf.dtype.itemsize for leaf in jax.tree.leaves(one)) == 4
    one = jax.jit(lambda state, weight: ours.replace(state, shaping_weight=weight))(one, 0.25)
    assert one.shaping_weight.dtype == np.float32
    env = cogrid.make(ROOM, "jax", **options)
    env.reset(seed=0)
    env.step({0: 4, 1: 3})
    env.set_state(env.replace(env.env_state, shaping_weight=np.float64(0.3), time=3))
    vec = cogrid.make_vec(ROOM, 3, backend="jax", **options)
    vec.reset(seed=0)
    vec.step(np.full((3, 2), 4))
    cogrid.rollout(env, num_envs=4, num_steps=5)
print("paid", paid)
"""

    def test_64_bits_with_strict_promotion_and_shaping() -> None:
        environment = {**os.environ, "JAX_ENABLE_X64": "1", "PYTHONPATH": "."}
        run = subprocess.run(
            [sys.executable, "-c", X64], env=environment, capture_output=True, text=True, encoding="utf-8"
        )
        assert run.returncode == 0, run.stderr
        assert int(run.stdout.split()[-1]) > 10
