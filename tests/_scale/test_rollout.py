"""Rollouts: chunks do not matter, and every environment is the one that its key makes."""

from __future__ import annotations

import functools
import re

import numpy as np
import pytest

import cogrid
from cogrid._core.phases.movement import Movement
from cogrid._core.rules import compile_rules
from cogrid._scale.placement import place
from cogrid._scale.rollout import compiled
from cogrid.backend import rng
from tests.doors import hall
from tests.support import HAS_JAX, INTERACT, NOOP, plant

ROOM, ARENA = "Overcooked-CrampedRoom-V0", "Arena-V0"


def test_numpy_environments_are_refused() -> None:
    with pytest.raises(ValueError, match=r"rollout .* numpy: make\(..., backend='jax'\)\.$"):
        cogrid.rollout(cogrid.make(ROOM), key=0, num_envs=2, num_steps=2)


def test_what_is_not_an_environment() -> None:
    with pytest.raises(TypeError, match=f"rollout takes an environment from make.*, not '{ROOM}'"):
        cogrid.rollout(ROOM)


if HAS_JAX:
    import jax
    import jax.numpy as jnp

    OPTIONS = {
        ROOM: {"max_steps": 10, "shaping": 1.0, "random_start": True, "layout": "XPSX\nO  O\nXDPX"},
        ARENA: {"max_steps": 9, "map_size": 6, "num_agents": 3},
    }

    N, STEPS, CHUNK = 3, 23, 9
    KEY = 2  # somebody pots something within these few steps

    @functools.cache
    def environment(id):
        return cogrid.make(id, backend="jax", **OPTIONS[id])

    @pytest.fixture
    def env():
        return environment(ROOM)

    @functools.cache
    def played(id=ROOM, key=KEY, num_envs=N, chunk=CHUNK, keep="trajectory", devices=None):
        """Rollouts of few shapes, for each of them costs seconds to compile; on four devices if not told."""
        options = {"chunk": chunk, "keep": keep, "devices": devices}
        return cogrid.rollout(environment(id), None, key, num_envs, STEPS, **options)

    def assert_equal(one, other):
        ours, theirs = one.state.plain(), other.state.plain()
        for name, value in ours.items():
            np.testing.assert_array_equal(theirs[name], value, err_msg=name)
        np.testing.assert_array_equal(other.obs, one.obs)
        np.testing.assert_array_equal(other.sums.rewards, one.sums.rewards)
        np.testing.assert_array_equal(other.sums.episodes, one.sums.episodes)
        for name, value in one.trajectory.items():
            np.testing.assert_array_equal(other.trajectory[name], value, err_msg=name)

    pytestmark = pytest.mark.xdist_group("rollout")

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

    @pytest.mark.parametrize(("id", "chunk"), [(ROOM, CHUNK), (ARENA, STEPS)])
    def test_environment_i_is_the_one_of_its_child_key_with_automatic_reset(id, chunk) -> None:
        env, run = environment(id), played(id, chunk=chunk)
        theirs = run.state.plain()
        for i in range(N):
            state, obs, tape = by_hand(env, KEY, i, N, STEPS)
            for name, values in tape.items():
                np.testing.assert_array_equal(run.trajectory[name][:, i], values, err_msg=name)
            np.testing.assert_array_equal(np.asarray(run.obs)[i], obs)
            for name, value in state.plain().items():
                np.testing.assert_array_equal(theirs[name][i], value, err_msg=name)
            assert int(run.sums.episodes[i]) == STEPS // env.config["max_steps"] > 0
        assert run.trajectory["rewards"].any() == (id == ROOM)

    def test_chunks_do_not_change_the_result() -> None:
        assert_equal(played(chunk=STEPS), played(chunk=CHUNK))

    @pytest.mark.parametrize(("id", "devices"), [(ROOM, 1), (ARENA, 1)])
    def test_devices_do_not_change_the_result(id, devices) -> None:
        assert len(jax.devices()) > N  # so one has only padding
        assert_equal(played(id, chunk=STEPS, devices=devices), played(id, chunk=STEPS))

    def test_what_the_devices_divide_stays_spread(env) -> None:
        run = cogrid.rollout(env, None, KEY, 4, STEPS, chunk=STEPS)
        assert [shard.data.shape[0] for shard in run.obs.addressable_shards] == [1, 1, 1, 1]
        np.testing.assert_array_equal(np.asarray(run.sums.rewards)[:N], played().sums.rewards)

    def test_where_devices_do_not_divide_the_environments_each_has_the_result() -> None:
        run = played()
        assert run.obs.sharding.is_fully_replicated
        assert run.envs.tolist() == list(range(N))

    def test_devices_do_not_talk_to_each_other(env) -> None:
        program = compiled(env.rules, None, place(4, N), "trajectory")
        words = rng.key(KEY)
        carry = jax.eval_shape(program.begin, words)
        texts = [
            program.begin.lower(words).compile().as_text(),
            program.run.lower(carry, None, STEPS).compile().as_text(),
        ]
        for text in texts:
            assert "num_partitions=4" in text
            assert not re.findall(r"\b(?:all|reduce|collective)-[a-z-]+\(", text)

    def test_a_chunk_longer_than_the_rollout(env) -> None:
        run = cogrid.rollout(env, None, KEY, N, STEPS, chunk=1000, keep="trajectory")
        np.testing.assert_array_equal(run.trajectory["actions"], played(chunk=STEPS).trajectory["actions"])

    def test_trajectory_shapes_and_sums(env) -> None:
        run = played()
        n, seen = env.config["num_agents"], env.observation_space(0)
        expected = {
            "obs": ((STEPS, N, n, *seen.shape), seen.dtype),
            "actions": ((STEPS, N, n), np.int32),
            "rewards": ((STEPS, N, n), np.float32),
            "done": ((STEPS, N), bool),
        }
        assert {k: (v.shape, v.dtype) for k, v in run.trajectory.items()} == expected
        assert all(type(value) is np.ndarray for value in run.trajectory.values())
        np.testing.assert_allclose(run.sums.rewards, run.trajectory["rewards"].sum(axis=0), atol=1e-4)
        np.testing.assert_array_equal(run.sums.episodes, run.trajectory["done"].sum(axis=0))
        assert run.obs.shape == (N, n, *seen.shape)
        assert set(np.unique(run.trajectory["actions"])) == set(range(len(env.action_names)))

    def test_sums_are_the_default_and_the_same(env) -> None:
        run = cogrid.rollout(env, None, KEY, N, STEPS, chunk=STEPS)
        assert run.trajectory is None
        np.testing.assert_array_equal(run.sums.rewards, played().sums.rewards)
        np.testing.assert_array_equal(run.sums.episodes, played().sums.episodes)

    def test_environments_of_a_larger_rollout_are_those_of_a_smaller_one() -> None:
        small, large = played(num_envs=2, chunk=STEPS).trajectory, played().trajectory
        for name, value in small.items():
            np.testing.assert_array_equal(large[name][:, :2], value)
        assert not np.array_equal(small["actions"][:, 0], small["actions"][:, 1])

    def test_keys_of_every_form(env) -> None:
        forms = (9, rng.key(9), jax.random.key(9), jax.random.PRNGKey(9), np.int64(9))
        runs = [cogrid.rollout(env, None, key, N, CHUNK, chunk=CHUNK, keep="trajectory") for key in forms]
        for run in runs[1:]:
            np.testing.assert_array_equal(run.trajectory["actions"], runs[0].trajectory["actions"])
        other = cogrid.rollout(env, None, 10, N, CHUNK, chunk=CHUNK, keep="trajectory")
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
        assert len(np.unique(actions.reshape(20 * 6, n), axis=0)) == 4**n  # every joint action occurs
        assert len(np.unique(actions.transpose(1, 0, 2).reshape(6, -1), axis=0)) == 6  # nobody plays alike

    def test_the_environment_is_left_alone(env) -> None:
        env.reset(seed=0)
        before = env.get_state()
        cogrid.rollout(env, None, KEY, N, STEPS, chunk=STEPS, keep="trajectory")
        assert env.get_state() == before
        env.step({0: NOOP, 1: NOOP})  # no buffer of its own was given away

    def test_the_weight_outlives_the_episodes(env) -> None:
        assert np.asarray(played().state.shaping_weight).tolist() == [env.spec.shaping] * N

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
            ({"policy": lambda params, obs, key: np.zeros(9, np.int32)}, ("actions", ", 9)")),
            ({"policy": lambda params, obs, key: np.zeros(2, np.float32)}, ("actions", "float32")),
            ({"policy": 5}, ("policy", "5")),
            ({"devices": 0}, ("devices=0", "4")),
            ({"checkpoint_every": 0}, ("checkpoint_every=0", "at least 1")),
            ({"policy_id": ""}, ("policy_id=''", "not empty")),
            ({"policy_id": 5}, ("policy_id=5", "string")),
            ({"checkpoint": "here", "keep": "trajectory"}, ("checkpoint", "trajectory")),
        ],
    )
    def test_mistakes(env, options, parts) -> None:
        with pytest.raises((ValueError, TypeError)) as caught:
            cogrid.rollout(env, **{"key": 0, "num_envs": 2, "num_steps": 3, **options})
        text = str(caught.value)
        assert "\n" not in text
        for part in parts:
            assert part in text, text

    def test_chunks_of_a_rollout_with_a_shadow_are_replayed(monkeypatch, env) -> None:
        watched = cogrid.CoGridEnv(env.spec, "jax", shadow=True)
        found = cogrid.rollout(watched, None, KEY, N, STEPS, chunk=CHUNK)
        assert found.trajectory is None
        np.testing.assert_array_equal(found.sums.rewards, played().sums.rewards)
        assert (watched.shadow.comparisons, watched.shadow.mismatches) == (N * STEPS, 0)
        assert watched.shadow.ratio > 0
        rules = compile_rules(env.spec, "numpy")
        plant(monkeypatch, rules, Movement, turn=np.zeros_like)  # NumPy's agents do not turn
        with pytest.warns(RuntimeWarning, match="environment [0-2], "):
            cogrid.rollout(watched, None, KEY, N, STEPS, chunk=CHUNK)
        assert watched.shadow.mismatches == N * 3  # each of them once in each of three chunks

    def test_who_has_ended_is_paid_no_more() -> None:
        """Both walk through the door at different times: all APIs add up the same."""
        spec = hall("#EE#\n#12#\n####", max_steps=4)
        env = cogrid.CoGridEnv(spec, "jax")
        leaves = jnp.array([[INTERACT, NOOP], [NOOP, NOOP], [NOOP, INTERACT], [NOOP, NOOP]])
        state, _ = env.jax_reset(jax.random.key(0))
        total = np.zeros(2)
        for joint in leaves[:3]:
            state, _, rewards, _, _ = env.jax_step(state, joint)
            total += rewards
        assert total.tolist() == [1.0, 2.0]
        end = cogrid.rollout(env, lambda params, obs, key: jnp.array([INTERACT, NOOP]), 0, 1, 4)
        assert end.sums.rewards.tolist() == [[1.0, 1.0]]

    def test_sizes_may_be_numpys() -> None:
        one = cogrid.rollout(environment(ARENA), None, 1, np.int64(2), np.int32(3), chunk=np.int64(2))
        other = cogrid.rollout(environment(ARENA), None, 1, 2, 3, chunk=2)
        np.testing.assert_array_equal(one.obs, other.obs)
