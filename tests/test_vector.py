"""The vector environment: equal to single environments, with automatic reset in Gymnasium's two modes."""

from __future__ import annotations

import copy
import functools
import pickle
from collections import Counter

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import cogrid
from cogrid._core.phases.movement import Movement
from cogrid._core.rules import compile_rules
from cogrid._core.state.autoreset import renew
from cogrid.adapters.gymnasium import AgentVectorEnv
from cogrid.render.picture import picture
from tests.doors import hall
from tests.support import BACKENDS, HAS_JAX, INTERACT, NOOP, assert_same, keys, plant

ROOM, ARENA = "Overcooked-CrampedRoom-V0", "Arena-V0"
each_backend = pytest.mark.parametrize(  # tests of one backend share a worker, and so its compiled functions
    "backend", [pytest.param(b, marks=pytest.mark.xdist_group(f"vector:{b}")) for b in BACKENDS]
)

N, STEPS = 5, 60
NARROW = """
    XPSX
    O  O
    XDPX
"""
CASES = {
    "kitchen": (ROOM, {"max_steps": 16, "shaping": 1.0, "random_start": True, "layout": NARROW}),
    "arena": (ARENA, {"max_steps": 7, "map_size": 6, "num_agents": 3}),
}
CHOICES = (0, 1, 2, 3, INTERACT, INTERACT, INTERACT, NOOP)


def joint_actions(n_agents: int, seed: int = 0) -> np.ndarray:
    """(steps, N, n) busy actions."""
    return np.random.default_rng(seed).choice(CHOICES, (STEPS, N, n_agents)).astype(np.int32)


def stacked(by_agent) -> np.ndarray:
    return np.stack(list(by_agent.values()))


@functools.cache
def singles(case: str, autoreset: str, seed: int) -> list[list[dict]]:
    """[env][step]: what N single environments with seeds seed + i give, reset by hand."""
    id, options = CASES[case]
    tapes = []
    for i in range(N):
        env = cogrid.make(id, infos=True, **options)
        obs, infos = env.reset(seed=seed + i)
        tape = [{"obs": stacked(obs), "mask": stacked({a: infos[a]["action_mask"] for a in infos})}]
        returns, length = np.zeros(len(obs), np.float32), 0
        for joint in joint_actions(len(obs))[:, i]:
            if not env.agents:  # next-step: this step only resets
                obs, infos = env.reset()
                now = {"rewards": np.zeros(len(obs), np.float32), "over": False, "terms": None}
                returns, length = np.zeros(len(obs), np.float32), 0
            else:
                obs, rewards, _, truncations, infos = env.step(dict(enumerate(joint.tolist())))
                now = {"rewards": stacked(rewards).astype(np.float32), "over": truncations[0]}
                now["terms"] = [infos[a]["rewards"] for a in infos]
                returns, length = returns + now["rewards"], length + 1
                if now["over"]:
                    now |= {"r": returns, "l": length}
                    if autoreset == "same-step":
                        now["final"] = stacked(obs)
                        obs, infos = env.reset()
                        returns, length = np.zeros(len(obs), np.float32), 0
            now |= {"obs": stacked(obs), "mask": stacked({a: infos[a]["action_mask"] for a in infos})}
            tape.append(now)
        tapes.append(tape)
    return tapes


@each_backend
@pytest.mark.parametrize("autoreset", ["same-step", "next-step"])
@pytest.mark.parametrize("case", CASES)
def test_equal_to_single_environments(backend, case, autoreset) -> None:
    id, options = CASES[case]
    vec = cogrid.make_vec(id, N, backend=backend, autoreset=autoreset, **options)
    tapes = singles(case, autoreset, 40)
    obs, infos = vec.reset(seed=40)
    assert infos == {}
    np.testing.assert_array_equal(obs, np.stack([tape[0]["obs"] for tape in tapes]))
    ends, paid = 0, 0.0
    for t, joint in enumerate(joint_actions(vec.spec.num_agents), 1):
        obs, rewards, terminations, truncations, infos = vec.step(joint)
        now = [tape[t] for tape in tapes]
        over = np.array([one["over"] for one in now])
        np.testing.assert_array_equal(obs, np.stack([one["obs"] for one in now]), err_msg=f"step {t}")
        np.testing.assert_array_equal(rewards, np.stack([one["rewards"] for one in now]))
        np.testing.assert_array_equal(truncations, over)
        assert not np.asarray(terminations).any()
        assert ("episode" in infos) == over.any()
        if over.any():
            np.testing.assert_array_equal(infos["_episode"], over)
            for i in np.flatnonzero(over):
                np.testing.assert_array_equal(np.asarray(infos["episode"]["r"])[i], now[i]["r"])
                assert int(np.asarray(infos["episode"]["l"])[i]) == now[i]["l"]
        assert ("final_obs" in infos) == (over.any() and autoreset == "same-step")
        if "final_obs" in infos:
            np.testing.assert_array_equal(infos["_final_obs"], over)
            for i in np.flatnonzero(over):
                np.testing.assert_array_equal(np.asarray(infos["final_obs"])[i], now[i]["final"])
        ends, paid = ends + over.sum(), paid + np.asarray(rewards).sum()
    length = options["max_steps"] + (autoreset == "next-step")
    assert ends == N * (STEPS // length)
    assert (paid > 0) == (case == "kitchen")


@each_backend
@pytest.mark.parametrize("autoreset", ["same-step", "next-step"])
def test_action_masks_belong_to_the_observations_they_come_with(backend, autoreset) -> None:
    case = "kitchen"
    id, options = CASES[case]
    vec = cogrid.make_vec(id, N, backend=backend, autoreset=autoreset, infos=True, **options)
    tapes = singles(case, autoreset, 40)
    _, infos = vec.reset(seed=40)
    np.testing.assert_array_equal(infos["action_mask"], np.stack([tape[0]["mask"] for tape in tapes]))
    for t, joint in enumerate(joint_actions(vec.spec.num_agents), 1):
        infos = vec.step(joint)[4]
        masks = np.stack([tape[t]["mask"] for tape in tapes])
        np.testing.assert_array_equal(infos["action_mask"], masks, err_msg=f"step {t}")


@each_backend
@pytest.mark.parametrize("autoreset", ["same-step", "next-step"])
def test_reward_terms_have_the_same_names_in_all_apis(backend, autoreset) -> None:
    """`infos["rewards"][term]` of `make_vec` and the pure step, `infos[agent]["rewards"][term]` of `make`."""
    id, options = CASES["kitchen"]
    vec = cogrid.make_vec(id, N, backend=backend, autoreset=autoreset, infos=True, **options)
    env = cogrid.make(id, backend=backend, infos=True, **options)
    step, paid = env.rules.backend.compiled(env.step_fn), Counter()
    vec.reset(seed=40)
    tapes = singles("kitchen", autoreset, 40)
    for t, joint in enumerate(joint_actions(vec.spec.num_agents), 1):
        pure = step(vec.env_state, joint)[4]["rewards"]
        told = {name: np.asarray(points) for name, points in vec.step(joint)[4]["rewards"].items()}
        assert told.keys() == pure.keys() == {"delivery", "ingredient", "soup", "dish"}
        for name, points in told.items():
            np.testing.assert_array_equal(points, pure[name])
            singly = [[one[name] for one in tape[t]["terms"] or ({name: 0.0},) * 2] for tape in tapes]
            np.testing.assert_array_equal(points, singly, err_msg=f"{name} in step {t}")
            paid[name] += int((points != 0).sum())
    assert paid["ingredient"] > 2


@each_backend
def test_next_step_mode_ignores_the_actions_of_the_reset(backend) -> None:
    vec = cogrid.make_vec(
        ARENA, 3, backend=backend, autoreset="next-step", max_steps=2, map_size=6, num_agents=2
    )
    vec.reset(seed=0)
    noop = np.full((3, 2), NOOP)
    for _ in range(2):
        obs, _, _, truncations, infos = vec.step(noop)
    assert np.asarray(truncations).all()
    assert np.asarray(vec.env_state.time).tolist() == [2, 2, 2]
    last = np.asarray(obs)
    obs, rewards, _, truncations, infos = vec.step(np.zeros((3, 2), int))
    assert not np.asarray(truncations).any()
    assert np.asarray(vec.env_state.time).tolist() == [0, 0, 0]
    assert not np.asarray(rewards).any()
    assert "episode" not in infos
    assert not np.array_equal(obs, last)


@each_backend
def test_seeds_per_environment(backend) -> None:
    vec = cogrid.make_vec(ARENA, 3, backend=backend)
    first, _ = vec.reset(seed=7)
    first = np.asarray(first)
    for seeds in ([7, 8, 9], (7, 8, 9), np.array([7, 8, 9])):
        np.testing.assert_array_equal(vec.reset(seed=seeds)[0], first)
    np.testing.assert_array_equal(vec.reset(seed=np.int64(7))[0], first)
    np.testing.assert_array_equal(vec.reset(seed=[9, 7, 7])[0], first[[2, 0, 0]])
    single = cogrid.make(ARENA, backend=backend)
    for i in range(3):
        np.testing.assert_array_equal(stacked(single.reset(seed=7 + i)[0]), first[i])


@each_backend
def test_reset_without_a_seed_continues_every_stream(backend) -> None:
    vec = cogrid.make_vec(ARENA, 3, backend=backend)
    vec.reset(seed=7)
    vec.step(np.zeros((3, 4), int))
    following = [np.asarray(vec.reset()[0]) for _ in range(2)]
    single = cogrid.make(ARENA, backend=backend)
    for i in range(3):
        single.reset(seed=7 + i)
        for obs in following:
            np.testing.assert_array_equal(stacked(single.reset()[0]), obs[i])
    assert not np.array_equal(*following)


@pytest.mark.parametrize("count", [np.int64(3), np.uint8(3)])
def test_the_number_of_environments_may_be_numpys(count) -> None:
    vec = cogrid.make_vec(ROOM, count)
    assert type(vec.num_envs) is int
    assert len(vec.reset(seed=0)[0]) == 3


def test_first_reset_without_a_seed_is_random() -> None:
    starts = {np.asarray(cogrid.make_vec(ARENA, 2).reset()[0]).tobytes() for _ in range(6)}
    assert len(starts) == 6


@each_backend
def test_spaces_and_types(backend) -> None:
    vec = cogrid.make_vec(ROOM, 3, backend=backend)
    n_features = vec.single_observation_space.shape[-1]
    assert vec.single_observation_space.shape == (2, n_features)
    assert vec.observation_space.shape == (3, 2, n_features)
    assert vec.single_action_space.nvec.tolist() == [7, 7]
    assert vec.action_space.shape == (3, 2)
    assert vec.num_envs == 3
    for name in ("observation_space", "action_space", "single_observation_space", "single_action_space"):
        assert getattr(vec, name) is getattr(vec, name)
    obs, _ = vec.reset(seed=0)
    assert vec.observation_space.contains(np.asarray(obs))
    vec.action_space.seed(0)
    obs, rewards, terminations, truncations, _ = vec.step(vec.action_space.sample())
    assert vec.observation_space.contains(np.asarray(obs))
    assert (rewards.shape, rewards.dtype) == ((3, 2), np.float32)
    assert (terminations.shape, terminations.dtype) == (truncations.shape, truncations.dtype) == ((3,), bool)
    assert isinstance(obs, np.ndarray) == (backend != "jax")
    vec.close()


def test_modes_are_gymnasiums() -> None:
    assert cogrid.make_vec(ROOM, 1).metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    next_step = cogrid.make_vec(ROOM, 1, autoreset="next-step")
    assert next_step.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP


@each_backend
@pytest.mark.parametrize("autoreset", ["same-step", "next-step"])
def test_termination_is_told_from_truncation(backend, autoreset) -> None:
    spec = hall("#EE#\n#12#\n####", max_steps=3)
    vec = cogrid.VectorEnv(spec, 3, backend, autoreset=autoreset)
    vec.reset(seed=0)
    both, one, none = [INTERACT, INTERACT], [INTERACT, NOOP], [NOOP, NOOP]
    _, rewards, terminations, truncations, infos = vec.step(np.array([both, one, none]))
    assert np.asarray(rewards).tolist() == [[2.0, 2.0], [1.0, 1.0], [0.0, 0.0]]
    assert np.asarray(terminations).tolist() == [True, False, False]
    assert np.asarray(truncations).tolist() == [False, False, False]
    assert np.asarray(infos["episode"]["r"])[0].tolist() == [2.0, 2.0]
    vec.step(np.array([none, none, none]))
    _, _, terminations, truncations, infos = vec.step(np.array([none, one, both]))
    # the second was left by one agent only, so the clock took it; the third by both at the last moment
    assert np.asarray(terminations).tolist() == [False, False, True]
    assert np.asarray(truncations).tolist() == [False, True, False]
    assert np.asarray(infos["episode"]["r"])[1:].tolist() == [[1.0, 1.0], [2.0, 2.0]]
    assert np.asarray(infos["episode"]["l"])[1:].tolist() == [3, 3]


@each_backend
@pytest.mark.parametrize("autoreset", ["same-step", "next-step"])
def test_who_has_ended_is_paid_no_more_by_any_adapter(backend, autoreset) -> None:
    spec = hall("#EE#\n#12#\n####", max_steps=4)
    env = cogrid.CoGridEnv(spec, backend, infos=True)
    vec = AgentVectorEnv(cogrid.VectorEnv(spec, 1, backend, autoreset=autoreset, infos=True))
    env.reset(seed=0)
    vec.reset(seed=0)
    told, paid = {}, np.zeros(2)
    for joint in ([INTERACT, NOOP], [NOOP, NOOP], [NOOP, INTERACT]):
        infos = env.step({agent: joint[agent] for agent in env.agents})[4]
        told |= {agent: info["episode"] for agent, info in infos.items() if "episode" in info}
        _, rewards, _, _, infos = vec.step(np.array(joint))
        paid += rewards
    assert [told[agent]["r"] for agent in (0, 1)] == [1.0, 2.0]
    assert infos["totals"]["r"].tolist() == paid.tolist() == [1.0, 2.0]
    counts = infos["totals"]["counts"]
    assert [{name: counts[name][agent] for name in env.counters} for agent in (0, 1)] == [
        told[agent]["counts"] for agent in (0, 1)
    ]


@pytest.mark.parametrize("autoreset", ["same-step", "next-step"])
def test_statistics_are_the_callers_own(autoreset) -> None:
    vec = cogrid.make_vec(ARENA, 2, autoreset=autoreset, max_steps=1, infos=True)
    vec.reset(seed=0)
    for _ in range(3):
        infos = vec.step(np.full((2, 4), NOOP))[4]
        if "episode" in infos:
            assert not infos["episode"]["r"].any()
            assert (infos["episode"]["counts"]["idle steps"] == 1).all()
            infos["episode"]["r"] += 7
            infos["episode"]["counts"]["idle steps"] += 7
            assert not vec._totals["r"].any()
            assert vec._totals["counts"].max() <= 1


@each_backend
def test_an_annealed_weight_outlives_the_episode(backend) -> None:
    env = cogrid.make(ROOM, backend=backend, shaping=1.0)
    rules, some = env.rules, env.rules.backend.key(keys(0, 3))
    state, obs = rules.backend.compiled(env.reset_fn)(some)
    state = env.replace(state, shaping_weight=np.array([0.25, 0.5, 0.75], np.float32), time=9)
    fresh, _ = renew(rules, state, obs, rules.xp.asarray([True, False, True]))
    assert np.asarray(fresh.shaping_weight).tolist() == [0.25, 0.5, 0.75]
    assert np.asarray(fresh.time).tolist() == [0, 9, 0]


@each_backend
def test_two_vectors_do_not_notice_each_other(backend) -> None:
    tapes = []
    for companions in (0, 1):
        vec, other = (cogrid.make_vec(ARENA, 3, backend=backend) for _ in range(2))
        tape = [np.asarray(vec.reset(seed=1)[0])]
        if companions:
            other.reset(seed=2)
        for t in range(9):
            tape.append(np.asarray(vec.step(np.full((3, 4), t % 4))[0]))
            if companions:
                other.step(np.full((3, 4), (t + 1) % 4))
        tapes.append(np.stack(tape))
    np.testing.assert_array_equal(*tapes)


def leaves(value):
    return [leaf for one in value.values() for leaf in leaves(one)] if isinstance(value, dict) else [value]


if HAS_JAX:

    @pytest.mark.parametrize("autoreset", ["same-step", "next-step"])
    def test_numpy_equals_jax(autoreset) -> None:
        """Every bit: states, observations, rewards, infos, over several episodes."""
        options = {
            "layout": ("CrampedRoom", "CoordinationRing"),
            "shaping": 0.7,
            "max_steps": 9,
            "infos": True,
        }
        options |= {"random_start": True, "autoreset": autoreset}
        ours, theirs = (cogrid.make_vec(ROOM, N, backend=backend, **options) for backend in BACKENDS)
        np.testing.assert_array_equal(ours.reset(seed=3)[0], theirs.reset(seed=3)[0])
        for joint in joint_actions(2, seed=9):
            left, right = ours.step(joint), theirs.step(joint)
            for mine, other in zip(left[:4], right[:4], strict=True):
                np.testing.assert_array_equal(mine, other)
            assert left[4].keys() == right[4].keys()
            for name, value in left[4].items():
                for mine, other in zip(leaves(value), leaves(right[4][name]), strict=True):
                    np.testing.assert_array_equal(mine, other, err_msg=name)
            assert_same(ours.env_state, theirs.env_state)

    @pytest.mark.xdist_group("vector:jax")
    @pytest.mark.parametrize("autoreset", ["same-step", "next-step"])
    def test_shadows(monkeypatch, autoreset) -> None:
        """A fault in one environment is found there, whichever backend has it."""
        id, options = CASES["kitchen"]
        for backend in BACKENDS:
            vec = cogrid.make_vec(id, N, backend, autoreset=autoreset, shadow=True, **options)
            vec.reset(seed=3)
            for joint in joint_actions(2)[:20]:  # over the end of an episode
                vec.step(joint)
            assert (vec.shadow.backend, vec.shadow.comparisons, vec.shadow.mismatches) == (backend, 21 * N, 0)
            assert vec.shadow.ratio > 0
            actions = np.full((N, 2), NOOP)
            turned = int(np.asarray(vec.env_state.agent_dir)[2, 1] == 1)  # neither down nor ahead
            actions[2, 1] = 0 if turned else 1
            with monkeypatch.context() as patch:
                rules = compile_rules(vec.spec, "numpy")
                plant(patch, rules, Movement, turn=np.zeros_like)  # NumPy's agents do not turn
                with pytest.warns(RuntimeWarning, match=r"environment 2, agent 1: agent_dir is \d on"):
                    vec.step(actions)
            vec.step(actions)
            assert (vec.shadow.mismatches, vec.shadow.first.environment) == (1, 2)


# Pictures, copies, and states that are set


@each_backend
def test_copies_and_pickles_go_on_alike(backend) -> None:
    """Also the returns that were being counted."""
    vec = cogrid.make_vec(ROOM, 3, backend, max_steps=6, shaping=1.0, infos=True)
    vec.reset(seed=1)
    tape = np.random.default_rng(0).integers(0, 7, (14, 3, 2))
    for actions in tape[:4]:
        vec.step(actions)
    twins, ends = (pickle.loads(pickle.dumps(vec)), copy.deepcopy(vec)), 0
    for actions in tape[4:]:
        *mine, told = vec.step(actions)
        for twin in twins:
            *theirs, other = twin.step(actions)
            for left, right in zip(mine, theirs, strict=True):
                np.testing.assert_array_equal(left, right)
            if "episode" in told:
                ends += 1
                np.testing.assert_array_equal(told["episode"]["r"], other["episode"]["r"])
    assert ends == 4
    fresh = pickle.loads(pickle.dumps(cogrid.make_vec(ROOM, 3, backend)))
    with pytest.raises(ValueError, match="no state before reset"):
        fresh.env_state  # noqa: B018


@each_backend
def test_a_state_that_is_set_is_played_on(backend) -> None:
    vec = cogrid.make_vec(ROOM, 3, backend, max_steps=4, shaping=1.0)
    vec.reset(seed=1)
    vec.set_state(vec.replace(vec.env_state, shaping_weight=0.5, time=3))
    _, _, _, truncations, _ = vec.step(np.full((3, 2), 6))
    assert np.asarray(truncations).all()
    assert np.asarray(vec.env_state.shaping_weight).tolist() == [0.5] * 3, "it outlives the episode"
    other = cogrid.make_vec(ROOM, 2, backend, max_steps=4, shaping=1.0)
    with pytest.raises(ValueError, match="set_state before reset"):
        other.set_state(vec.env_state)
    other.reset(seed=0)
    with pytest.raises(ValueError, match=r"set_state takes 2 states, not states of shape \(3,\)"):
        other.set_state(vec.env_state)


@each_backend
def test_pictures_of_all(backend) -> None:
    vec = cogrid.make_vec(ROOM, 3, backend, render_mode="rgb_array", tile_size=16, random_start=True)
    with pytest.raises(ValueError, match="no state before reset"):
        vec.render()
    vec.reset(seed=1)
    pictures = vec.render()
    assert len(pictures) == 3
    assert len({one.tobytes() for one in pictures}) > 1
    board = picture(vec.rules, vec.env_state, 16, np.zeros((3, 2)))
    np.testing.assert_array_equal(np.stack(pictures), board)
    assert cogrid.make_vec(ROOM, 3).render() is None
    with pytest.raises(ValueError, match="render_mode='human' is unknown: choose 'rgb_array', or None"):
        cogrid.make_vec(ROOM, 3, render_mode="human")


def test_an_observation_that_the_game_lacks_is_refused_when_the_batch_is_made() -> None:
    with pytest.raises(ValueError, match="features"):
        cogrid.make_vec(ARENA, 2, observation="features")
