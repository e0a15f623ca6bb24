"""Recurrent policies: replayed as they were played, forgetful when an episode ends, played without JAX."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tests.support import HAS_JAX

if not HAS_JAX:
    pytest.skip("JAX is not installed", allow_module_level=True)

import equinox as eqx
import jax
import jax.numpy as jnp

import cogrid
from cogrid.__main__ import main as cogrid_main
from cogrid._apps.train import command
from cogrid._apps.train.learner import Learner, Run, Steps
from cogrid._apps.train.network import Network, Past, RecurrentUnit, log_prob
from cogrid._apps.train.options import Options
from cogrid.envs import registry
from cogrid.policies import policy_file
from cogrid.replay import tapes
from tests._apps.train.test_command import SMALL, arrays, stop_after

SHORT = "Short-V0"  # five steps an episode, so that several end between two updates
RECURRENT = (SHORT, *SMALL, "--memory", "6")


@pytest.fixture(autouse=True)
def _as_users_have_it(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(command, "show_progress", lambda: None)
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


@pytest.fixture(scope="module", autouse=True)
def _short() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(registry, "_SPECS", dict(registry._SPECS))
        cogrid.register(SHORT, cogrid.make("Overcooked-CrampedRoom-V0", max_steps=5).spec)
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, _short: None) -> Path:
    out = tmp_path_factory.mktemp("whole")
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        assert main([*RECURRENT, "--out", str(out)]) == 0
    return out


def main(arguments: list[str]) -> int:
    return cogrid_main(["train", *arguments])


class Begun(NamedTuple):
    learner: Learner
    run: Run  # after one update, when there is something to remember
    steps: Steps  # of the next one


@pytest.fixture(scope="module")
def begun(_short: None) -> Begun:
    """A learner in four kitchens whose clocks differ."""
    small = {"num_envs": 4, "num_steps": 8, "minibatches": 2, "hidden": 8, "memory": 6, "seeds": 1}
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        learner = Learner(Options(id=SHORT, **small))
        run = jax.jit(learner.begin)(jnp.int32(0))
        assert not run.memory.any()
        run = run._replace(state=learner.env.replace(run.state, time=[0, 1, 2, 3]))
        run, _ = jax.jit(learner.update)(run, None)
        inputs = (run.network, run.state, run.obs, jax.random.key(1), run.memory)
        return Begun(learner, run, jax.jit(learner.play)(*inputs)[2])


def test_the_unit_is_a_gru() -> None:
    """Equinox has the same one, with one bias for each gate."""
    memory, cell = (
        RecurrentUnit(jax.random.key(0), 5, 4, 3),
        eqx.nn.GRUCell(4, 3, key=jax.random.key(1)),
    )
    bias = jnp.arange(9.0) / 10
    memory = eqx.tree_at(lambda m: (m.inwards.bias, m.onwards.bias), memory, (bias, -2 * bias))
    weights = (memory.inwards.weight.T, memory.onwards.weight.T, bias - 2 * jnp.where(bias < 0.6, bias, 0))
    cell = eqx.tree_at(
        lambda c: (c.weight_ih, c.weight_hh, c.bias, c.bias_n), cell, (*weights, -2 * bias[6:])
    )
    seen, before = jax.random.normal(jax.random.key(2), (2, 7, 5))
    before = before[:, :3]
    expected = jax.vmap(cell)(jnp.tanh(memory.seen(seen)), before)
    np.testing.assert_allclose(memory(seen, before), expected, rtol=1e-5, atol=1e-6)


def test_a_network_without_a_memory_remembers_nothing() -> None:
    network = Network(jax.random.key(0), 5, 8, 7)
    assert network.memory is None
    assert len(network.actor) == len(network.critic) == 3
    logits, values, memory = network(jnp.ones((2, 5)))
    assert memory is None
    for ours, theirs in zip(network.replay(jnp.ones((2, 5)), None), (logits, values), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_what_was_played_is_replayed(begun: Begun) -> None:
    """The loss sees the same probabilities and values as the agents had, whole sequences at once."""
    (learner, run, steps), replay = begun, jax.jit(Network.replay)
    batch = learner.batch(steps, steps.rewards)
    rows = batch.obs.reshape(-1, batch.obs.shape[-1])
    past, played = Past(run.memory, steps.done.T), np.moveaxis(steps.values, 1, 0)  # (b, T, n)
    logits, values = replay(run.network, rows, past)
    np.testing.assert_allclose(values.reshape(played.shape), played, rtol=1e-4, atol=1e-6)
    taken = log_prob(logits, batch.actions.ravel())
    np.testing.assert_allclose(taken, batch.log_probs.ravel(), rtol=1e-4, atol=1e-6)
    for wrong in (past._replace(first=0 * run.memory), past._replace(done=past.done & False)):
        values = replay(run.network, rows, wrong)[1].reshape(played.shape)
        assert np.abs(values - played).max() > 1e-4


def test_an_episode_that_begins_remembers_nothing(begun: Begun) -> None:
    fresh = np.asarray(begun.run.state.time) == 0
    assert fresh.tolist() == [False, False, True, False]
    assert (np.asarray(begun.run.memory).any(axis=-1) == ~fresh[:, None]).all()


def test_the_rest_of_an_episode_is_worth_what_its_memory_says(begun: Begun) -> None:
    (learner, run, _), done = begun, jnp.ones(4, bool)
    rest = jax.jit(learner.rest)
    found, without = (
        rest(run.network, run.state, run.obs, done, memory) for memory in (run.memory, 0 * run.memory)
    )
    expected = run.network(learner.sight(run.obs), run.memory)[1]
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    assert np.abs(found - without).max() > 1e-4


def test_every_weight_of_the_memory_learns(whole: Path) -> None:
    began = jax.jit(jax.vmap(Learner(Options(id=SHORT, hidden=8, memory=6)).begin))(jnp.arange(2))
    learned = arrays(whole)
    for name, layer in zip(
        ("seen", "inwards", "onwards"), jax.tree.leaves(began.network.memory)[::2], strict=True
    ):
        changed = learned[f".network.memory.{name}.weight"] != layer
        assert changed.mean() > 0.5, name


@pytest.mark.slow  # test_command.py has it without a memory
def test_a_resumed_run_ends_like_one_that_was_never_stopped(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        stop_after(patched, 1)
        assert main([*RECURRENT, "--out", str(tmp_path)]) == 130
    expected = arrays(whole)
    assert expected[".memory"].shape == (2, 4, 2, 6)
    assert (arrays(tmp_path)[".memory"] != expected[".memory"]).any()
    assert main(["--out", str(tmp_path), "--resume"]) == 0
    resumed = arrays(tmp_path)
    assert resumed.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(resumed[name], value, err_msg=name, strict=True)


@pytest.mark.slow  # test_command.py has it without a memory
def test_seeds_on_devices_of_their_own_learn_what_they_learn_on_one(whole: Path, tmp_path: Path) -> None:
    assert main([*RECURRENT, "--devices", "2", "--out", str(tmp_path)]) == 0
    expected = arrays(whole)
    for name, value in arrays(tmp_path).items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name, strict=True)


@pytest.mark.slow  # test_command.py has it without a memory
def test_devices_that_share_a_seed_play_what_numpy_plays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--seeds", "1", "--devices", "2", "--out", str(tmp_path), "--shadow"]
    assert main([*RECURRENT, *words]) == 0
    assert "96 comparisons, 0 mismatches" in capsys.readouterr().out
    assert arrays(tmp_path)[".memory"].shape == (1, 4, 2, 6)


def test_the_tapes_score_what_the_run_says(whole: Path) -> None:
    recorded = tapes.load(whole / "tapes.npz")
    means = json.loads((whole / "results.json").read_text(encoding="utf-8"))["score"]["by_seed"]
    np.testing.assert_array_equal(recorded.replay("numpy"), recorded.points, strict=True)
    np.testing.assert_allclose(recorded.points.mean(axis=1), means, rtol=1e-6)


def test_its_policy_plays_without_jax_what_it_plays_with_it(whole: Path) -> None:
    """Floats may differ in their last bits, so the logits are compared and not the draws."""
    policy = policy_file.load(whole / "policy-1.npz")
    assert policy.size == 6
    network = Network(jax.random.key(0), len(policy.layers[0][0]), 8, 7, memory=6)
    saved = arrays(whole)
    named = jax.tree_util.tree_leaves_with_path(network)
    leaves = [saved[f".network{jax.tree_util.keystr(path)}"][1] for path, _ in named]
    network = jax.tree.unflatten(jax.tree.structure(network), leaves)
    env, draw = cogrid.make(SHORT), np.random.default_rng(0)
    state, obs = env.reset_fn(np.zeros((1, 2), np.uint32))
    ours, theirs = np.zeros((2, 6), np.float32), jnp.zeros((1, 2, 6))
    for _ in range(5):
        logits, ours = policy.logits(obs[0], ours)
        expected, _, theirs = network(jnp.asarray(obs), theirs)
        np.testing.assert_allclose(logits, expected[0], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(ours, theirs[0], rtol=1e-4, atol=1e-6)
        state, obs, *_ = env.step_fn(state, draw.integers(7, size=(1, 2)))
    assert np.abs(ours).max() > 0.01
