"""JaxMARL's conventions, without JaxMARL; tests/oracles has its own wrappers on it."""

from __future__ import annotations

import numpy as np
import pytest

import cogrid
from cogrid.adapters.jaxmarl import JaxMARLEnv
from tests.doors import hall
from tests.episodes import shared
from tests.support import HAS_JAX, INTERACT, LEFT, NOOP, assert_same

ROOM = "Overcooked-CrampedRoom-V0"


def test_numpy_environments_are_refused() -> None:
    with pytest.raises(ValueError, match=r"runs on numpy: make\(..., backend='jax'\)"):
        JaxMARLEnv(shared(ROOM, "numpy"))


if HAS_JAX:
    import jax

    pytestmark = pytest.mark.xdist_group("jaxmarl")
    OPTIONS = {"max_steps": 3, "random_start": True, "shaping": 1.0}

    def adapted(**options) -> JaxMARLEnv:
        return JaxMARLEnv(shared(ROOM, "jax", **OPTIONS, **options))

    def moves(*joint: int) -> dict:
        return {f"agent_{i}": np.int32(action) for i, action in enumerate(joint)}

    def words(key) -> np.ndarray:
        return np.asarray(jax.random.key_data(key))

    def test_names_and_spaces() -> None:
        env = adapted()
        assert (env.agents, env.num_agents) == (["agent_0", "agent_1"], 2)
        space = env.observation_space("agent_0")
        assert space.shape == env.env.observation_space(0).shape
        assert env.action_space("agent_1").n == 7
        sample = jax.vmap(env.action_space("agent_0").sample)
        some = {*np.asarray(sample(jax.random.split(jax.random.key(0), 9))).tolist()}
        assert some <= set(range(7))
        assert len(some) > 2

    def test_steps_are_those_of_the_pure_functions() -> None:
        """Also the reset: from the second half of the step's key."""
        env, key, numpy = adapted(), jax.random.key(5), shared(ROOM, "numpy", **OPTIONS)
        obs, state = env.reset(key)
        mine, seen = numpy.reset_fn(words(key))
        for number in range(1, 5):
            key, now = jax.random.split(key)
            obs, state, rewards, dones, infos = env.step(now, state, moves(LEFT, INTERACT))
            mine, seen, points, done, _ = numpy.step_fn(mine, np.array([LEFT, INTERACT]))
            assert bool(done) == bool(dones["__all__"]) == (number == 3)
            assert {name: bool(value) for name, value in dones.items()} == dict.fromkeys(dones, number == 3)
            if done:
                mine, seen = numpy.reset_fn(words(jax.random.split(now)[1]))
            assert_same(state, mine)
            np.testing.assert_array_equal(np.stack([obs[a] for a in env.agents]), seen)
            np.testing.assert_array_equal(np.stack([rewards[a] for a in env.agents]), points)
            assert infos == {}
            assert {*dones} == {*env.agents, "__all__"}
        np.testing.assert_array_equal(env.get_obs(state)["agent_1"], obs["agent_1"])
        masks = env.get_avail_actions(state)
        assert masks["agent_0"].shape == (7,)
        assert masks["agent_0"][NOOP]

    def test_a_given_state_to_reset_to() -> None:
        env = adapted()
        _, first = env.reset(jax.random.key(1))
        _, state = env.reset(jax.random.key(2))
        for _ in range(3):
            obs, state, *_ = env.step(jax.random.key(3), state, moves(NOOP, NOOP), first)
        assert_same(state, first)
        np.testing.assert_array_equal(obs["agent_0"], env.get_obs(first)["agent_0"])

    def test_an_annealed_weight_outlives_the_episode() -> None:
        env = adapted()
        _, state = env.reset(jax.random.key(1))
        state = env.env.replace(state, shaping_weight=0.25)
        for _ in range(3):
            _, state, *_ = env.step(jax.random.key(3), state, moves(NOOP, NOOP))
        assert (int(state.time), float(state.shaping_weight)) == (0, 0.25)

    def test_inside_of_jit_vmap_and_scan() -> None:
        env, keys = adapted(), jax.random.split(jax.random.key(0), 4)

        def one(state, key):
            chosen = jax.random.randint(key, (2,), 0, 7)
            actions = {a: chosen[i] for i, a in enumerate(env.agents)}
            _, state, rewards, dones, _ = env.step(key, state, actions)
            return state, (rewards["agent_0"], dones["__all__"])

        @jax.jit
        @jax.vmap
        def play(key):
            return jax.lax.scan(one, env.reset(key)[1], jax.random.split(key, 7))

        state, (rewards, dones) = play(keys)
        assert rewards.shape == (4, 7)
        assert np.asarray(dones).sum(axis=1).tolist() == [2] * 4
        assert np.asarray(state.time).tolist() == [1] * 4

    @pytest.mark.parametrize("given", [False, True], ids=["drawn", "given"])
    def test_a_batch_resets_as_its_environments_do_alone(given: bool) -> None:
        """Mapped once and twice over, where some episodes end and others go on."""
        env, keys = adapted(), jax.random.split(jax.random.key(0), 6)
        _, first = env.reset(jax.random.key(9))
        first = env.env.replace(first, shaping_weight=0.5)
        begin = first if given else None
        apart = [env.reset(key)[1] for key in keys]
        apart = [env.env.replace(state, time=i % 3) for i, state in enumerate(apart)]
        actions = [moves(i % 5, (i + 2) % 5) for i in range(6)]

        def stacked(trees, *shape):
            return jax.tree.map(
                lambda *leaves: np.stack(leaves).reshape(*shape, *np.shape(leaves[0])), *trees
            )

        def step(key, state, joint):
            return env.step(key, state, joint, begin)

        expected = [step(*one) for one in zip(keys, apart, actions, strict=True)]
        dones = [bool(one[3]["__all__"]) for one in expected]
        assert dones == [False, False, True] * 2
        once = jax.jit(jax.vmap(step))(keys, stacked(apart, 6), stacked(actions, 6))
        twice = jax.jit(jax.vmap(jax.vmap(step)))(
            keys.reshape(2, 3), stacked(apart, 2, 3), stacked(actions, 2, 3)
        )
        for shape, found in (((6,), once), ((2, 3), twice)):
            wanted = stacked([one[:4] for one in expected], *shape)
            jax.tree.map(np.testing.assert_array_equal, found[:4], wanted)
        weights = np.asarray(once[1].shaping_weight)
        assert weights.tolist() == [1.0, 1.0, 0.5 if given else 1.0] * 2

    def primitives(jaxpr, inside: bool) -> list[str]:
        """Names of all primitives; those inside of a branch only if asked for."""
        found = []
        for equation in getattr(jaxpr, "jaxpr", jaxpr).eqns:
            found.append(equation.primitive.name)
            if inside or equation.primitive.name != "cond":
                values = jax.tree.leaves(list(equation.params.values()), is_leaf=lambda v: hasattr(v, "eqns"))
                parts = [value for value in values if hasattr(value, "eqns") or hasattr(value, "jaxpr")]
                found += [name for part in parts for name in primitives(part, inside)]
        return found

    def test_nothing_is_drawn_for_a_batch_unless_an_episode_ends() -> None:
        """The generator's rounds are in a branch, also under vmap: in a choice all of them would run."""
        env, keys = adapted(), jax.random.key_data(jax.random.split(jax.random.key(0), 4))
        states = jax.vmap(env.reset)(keys)[1]
        joint = {name: np.zeros(4, np.int32) for name in env.agents}
        traced = jax.make_jaxpr(jax.vmap(env.step))(keys, states, joint)
        assert "shift_left" in primitives(traced, inside=True)
        assert "shift_left" not in primitives(traced, inside=False)
        assert "shift_left" in primitives(jax.make_jaxpr(jax.vmap(env.reset))(keys), inside=False)

    def test_agents_that_end_before_the_others() -> None:
        env = JaxMARLEnv(cogrid.CoGridEnv(hall("#EE#\n#12#\n####", max_steps=3), "jax"))
        _, state = env.reset(jax.random.key(0))
        *_, dones, _ = env.step_env(jax.random.key(0), state, moves(INTERACT, NOOP))
        assert [bool(dones[name]) for name in (*env.agents, "__all__")] == [True, False, False]

    def test_shaping_apart_from_the_rewards() -> None:
        """Rewards and the weighted shaping add up to what the environment itself pays."""
        env, whole = JaxMARLEnv(shared(ROOM, "jax", **OPTIONS), shaped_reward=True), adapted()
        _, state = env.reset(jax.random.key(1))
        taken = {"agent_pos": [[1, 1], [1, 3]], "agent_dir": [2, 3]}  # agent 0 faces the onions
        state = env.env.replace(state, **taken, agent_inv=[[env.env.type_ids["onion"]], [-1]])
        state = env.env.replace(state, agent_pos=[[1, 2], [1, 3]], agent_dir=[3, 3], shaping_weight=0.5)
        _, after, rewards, _, infos = env.step(jax.random.key(0), state, moves(INTERACT, NOOP))
        _, _, paid, _, told = whole.step(jax.random.key(0), state, moves(INTERACT, NOOP))
        assert {name: float(value) for name, value in infos["shaped_reward"].items()} == {
            "agent_0": 3.0,
            "agent_1": 0.0,
        }
        assert [float(rewards[a]) for a in env.agents] == [0.0, 0.0]
        assert [float(paid[a]) for a in env.agents] == [1.5, 0.0]
        assert (told, [*infos]) == ({}, ["shaped_reward"])
        assert float(after.shaping_weight) == 0.5
        assert env.action_space().n == 7
        with pytest.raises(ValueError, match="needs an environment with shaping"):
            JaxMARLEnv(shared(ROOM, "jax"), shaped_reward=True)
