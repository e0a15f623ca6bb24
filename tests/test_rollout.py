"""Rollouts: chunks do not matter, and every environment is the one that its key makes."""

from __future__ import annotations

import numpy as np
import pytest

import cogrid
from cogrid.backend import rng
from tests.support import HAS_JAX, INTERACT, NOOP, fields

ROOM, ARENA = "Overcooked-CrampedRoom-V0", "Arena-V0"


def test_numpy_environments_are_refused() -> None:
    with pytest.raises(ValueError, match=r"rollout .* numpy: make\(..., backend='jax'\)\.$"):
        cogrid.rollout(cogrid.make(ROOM), key=0, num_envs=2, num_steps=2)


if HAS_JAX:
    import jax
    import jax.numpy as jnp

    OPTIONS = {
        ROOM: {"max_steps": 12, "shaping": 1.0, "random_start": True},
        ARENA: {"max_steps": 9, "map_size": 6, "num_agents": 3},
    }

    @pytest.fixture(scope="module", params=[ROOM, ARENA])
    def env(request):
        return cogrid.make(request.param, backend="jax", **OPTIONS[request.param])

    def by_hand(env, key, i, num_envs, num_steps):
        """Environment i of a rollout, on NumPy, one step at a time: trajectory and sums."""
        plain = cogrid.CoGridEnv(env.spec, "numpy")
        own, policy = rng.split(rng.split(rng.key(key), num_envs)[i], 2)
        state, obs = plain.reset_fn(own)
        tape = {"obs": [], "actions": [], "rewards": [], "done": []}
        for _ in range(num_steps):
            policy, now = rng.split(policy, 2)
            actions = (rng.bits(now, env.config["num_agents"]) % np.uint32(len(env.action_names))).astype(
                np.int32
            )
            tape["obs"].append(obs)
            state, obs, rewards, done, _ = plain.step_fn(state, actions)
            for name, value in (("actions", actions), ("rewards", rewards), ("done", done)):
                tape[name].append(value)
            if done:
                state, obs = plain.reset_fn(state.rng_key)
        return state, obs, {name: np.stack(values) for name, values in tape.items()}

    def test_environment_i_is_the_one_of_its_child_key_with_automatic_reset(env) -> None:
        done = cogrid.rollout(env, key=5, num_envs=3, num_steps=40, chunk=16, keep="trajectory")
        for i in range(3):
            state, obs, tape = by_hand(env, 5, i, 3, 40)
            for name, values in tape.items():
                np.testing.assert_array_equal(done.trajectory[name][:, i], values, err_msg=name)
            np.testing.assert_array_equal(np.asarray(done.obs)[i], obs)
            theirs = fields(done.state)
            for name, value in fields(state).items():
                np.testing.assert_array_equal(theirs[name][i], value, err_msg=name)
            assert int(done.sums.episodes[i]) == 40 // env.config["max_steps"]

    def test_chunks_do_not_change_the_result(env) -> None:
        runs = [
            cogrid.rollout(env, key=1, num_envs=4, num_steps=23, chunk=chunk, keep="trajectory")
            for chunk in (1, 7, 23, 1000)
        ]
        for run in runs[1:]:
            ours, theirs = fields(runs[0].state), fields(run.state)
            for name, value in ours.items():
                np.testing.assert_array_equal(theirs[name], value, err_msg=name)
            np.testing.assert_array_equal(run.obs, runs[0].obs)
            np.testing.assert_array_equal(run.sums.rewards, runs[0].sums.rewards)
            np.testing.assert_array_equal(run.sums.episodes, runs[0].sums.episodes)
            for name, value in runs[0].trajectory.items():
                np.testing.assert_array_equal(run.trajectory[name], value, err_msg=name)

    def test_trajectory_shapes_and_sums(env) -> None:
        run = cogrid.rollout(env, key=2, num_envs=4, num_steps=25, chunk=10, keep="trajectory")
        n, seen = env.config["num_agents"], env.observation_space(0)
        expected = {
            "obs": ((25, 4, n, *seen.shape), seen.dtype),
            "actions": ((25, 4, n), np.int32),
            "rewards": ((25, 4, n), np.float32),
            "done": ((25, 4), bool),
        }
        assert {k: (v.shape, v.dtype) for k, v in run.trajectory.items()} == expected
        assert all(type(value) is np.ndarray for value in run.trajectory.values())
        np.testing.assert_allclose(run.sums.rewards, run.trajectory["rewards"].sum(axis=0), atol=1e-4)
        np.testing.assert_array_equal(run.sums.episodes, run.trajectory["done"].sum(axis=0))
        assert run.obs.shape == (4, n, *seen.shape)
        actions = run.trajectory["actions"]
        assert set(np.unique(actions)) == set(range(len(env.action_names)))

    def test_sums_are_the_default_and_the_same(env) -> None:
        plain = cogrid.rollout(env, key=2, num_envs=4, num_steps=25, chunk=10)
        full = cogrid.rollout(env, key=2, num_envs=4, num_steps=25, chunk=10, keep="trajectory")
        assert plain.trajectory is None
        np.testing.assert_array_equal(plain.sums.rewards, full.sums.rewards)
        np.testing.assert_array_equal(plain.sums.episodes, full.sums.episodes)

    def test_environments_of_a_larger_rollout_are_those_of_a_smaller_one(env) -> None:
        small, large = (
            cogrid.rollout(env, key=3, num_envs=n, num_steps=15, keep="trajectory").trajectory for n in (2, 5)
        )
        for name, value in small.items():
            np.testing.assert_array_equal(large[name][:, :2], value)
        assert not np.array_equal(small["actions"][:, 0], small["actions"][:, 1])

    def test_keys_of_every_form(env) -> None:
        forms = (9, rng.key(9), jax.random.key(9), jax.random.PRNGKey(9), np.int64(9))
        runs = [cogrid.rollout(env, key=key, num_envs=2, num_steps=6, keep="trajectory") for key in forms]
        for run in runs[1:]:
            np.testing.assert_array_equal(run.trajectory["actions"], runs[0].trajectory["actions"])
        other = cogrid.rollout(env, key=10, num_envs=2, num_steps=6, keep="trajectory")
        assert not np.array_equal(other.trajectory["actions"], runs[0].trajectory["actions"])

    def test_policy_with_params_sees_one_environment(env) -> None:
        n, shape = env.config["num_agents"], env.observation_space(0).shape
        told = []

        def policy(params, obs, key):
            told.append((obs.shape, key.shape, params["always"].shape))
            return params["always"] + (obs.astype(jnp.float32).sum() * 0).astype(np.int32)

        for always in (INTERACT, NOOP):
            params = {"always": np.full(n, always, np.int32)}
            options = {"num_envs": 3, "num_steps": 5, "params": params, "keep": "trajectory"}
            run = cogrid.rollout(env, policy, 0, **options)
            assert (run.trajectory["actions"] == always).all()
        assert set(told) == {((n, *shape), (), (n,))}
        assert len(told) == 1  # traced once: new parameters are no new program

    def test_policy_that_draws_has_keys_of_its_own(env) -> None:
        n = env.config["num_agents"]

        def policy(params, obs, key):
            return jax.random.randint(key, (n,), 0, 4)

        run = cogrid.rollout(env, policy, 0, num_envs=6, num_steps=20, keep="trajectory")
        actions = run.trajectory["actions"]
        assert len(np.unique(actions.reshape(20 * 6, n), axis=0)) > 4**n / 2 - 1
        assert len(np.unique(actions.transpose(1, 0, 2).reshape(6, -1), axis=0)) == 6

    def test_the_environment_is_left_alone(env) -> None:
        own = cogrid.make(ROOM, backend="jax", **OPTIONS[ROOM])
        own.reset(seed=0)
        before = own.get_state()
        cogrid.rollout(own, key=0, num_envs=2, num_steps=3)
        assert own.get_state() == before
        own.step({0: NOOP, 1: NOOP})

    def test_an_annealed_weight_is_the_specs_at_first(env) -> None:
        run = cogrid.rollout(env, key=0, num_envs=2, num_steps=30)
        expected = env.spec.shaping
        np.testing.assert_array_equal(run.state.shaping_weight, np.full(2, expected, np.float32))

    @pytest.mark.parametrize(
        ("options", "parts"),
        [
            ({"num_envs": 0}, ("num_envs=0", "at least 1")),
            ({"num_steps": 0}, ("num_steps=0", "at least 1")),
            ({"chunk": 0}, ("chunk=0", "at least 1")),
            ({"num_steps": 2.5}, ("num_steps=2.5", "at least 1")),
            ({"num_envs": True}, ("num_envs=True", "at least 1")),
            ({"keep": "all"}, ("keep='all'", "'sums'", "'trajectory'")),
            ({"key": np.zeros(2, np.float32)}, ("key", "float32")),
            ({"key": np.zeros((3, 2), np.uint32)}, ("key", "(3, 2)")),
            ({"policy": lambda params, obs, key: np.zeros(9, np.int32)}, ("actions", "(2, 9)")),
            ({"policy": lambda params, obs, key: np.zeros(2, np.float32)}, ("actions", "float32")),
            ({"policy": 5}, ("policy", "5")),
        ],
    )
    def test_mistakes(options, parts) -> None:
        env = cogrid.make(ROOM, backend="jax", **OPTIONS[ROOM])
        with pytest.raises((ValueError, TypeError)) as caught:
            cogrid.rollout(env, **{"key": 0, "num_envs": 2, "num_steps": 3, **options})
        text = str(caught.value)
        assert "\n" not in text
        for part in parts:
            assert part in text, text
