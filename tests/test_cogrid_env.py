"""The stateful environment: PettingZoo, seeds, infos, early ends, snapshots, neighbours, compilation."""

from __future__ import annotations

import copy
import functools
import itertools
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from pettingzoo import ParallelEnv
from pettingzoo.test import parallel_api_test, parallel_seed_test

import cogrid
from cogrid.backend import rng
from cogrid.render.picture import picture
from cogrid.replay.recording import Recorder
from tests.doors import hall
from tests.episodes import digest, jitted, play, random_actions, record, run_python
from tests.support import (
    BACKENDS,
    DOWN,
    FAMILIES,
    HAS_JAX,
    IDS,
    INTERACT,
    LEFT,
    NOOP,
    RIGHT,
    UP,
    assert_same,
    marks,
)

ROOM, ARENA = "Overcooked-CrampedRoom-V0", "Arena-V0"
each_backend = pytest.mark.parametrize("backend", BACKENDS)
each_id = pytest.mark.parametrize("id", IDS)


def grouped(*values: Any) -> list[Any]:
    """Every id with every backend; tests of one pair share a worker, and so its compiled functions."""
    return [
        pytest.param(value, backend, marks=marks(value, pytest.mark.xdist_group(f"{backend}:{value}")))
        for value in values
        for backend in BACKENDS
    ]


#: The ids of all families, and the kitchens that stand for others.
ALL_IDS = tuple(dict.fromkeys((*IDS, *FAMILIES)))


# PettingZoo


@pytest.mark.parametrize(("id", "backend"), grouped(*ALL_IDS))
def test_parallel_api(id, backend) -> None:
    parallel_api_test(cogrid.make(id, backend=backend, max_steps=50), num_cycles=120)


@pytest.mark.parametrize(("id", "backend"), grouped(*ALL_IDS))
def test_parallel_seed(id, backend) -> None:
    parallel_seed_test(lambda: cogrid.make(id, backend=backend, max_steps=50), num_cycles=60)


@pytest.mark.parametrize(("id", "backend"), grouped(*IDS))
def test_names_and_spaces(id, backend) -> None:
    env = cogrid.make(id, backend=backend, max_steps=50)
    assert isinstance(env, ParallelEnv)
    n = env.config["num_agents"]
    assert env.possible_agents == list(range(n))
    assert all(type(agent) is int for agent in env.possible_agents)
    for agent in env.possible_agents:
        assert env.observation_space(agent) is env.observation_space(agent)
        assert env.action_space(agent) is env.action_space(agent)
        assert env.observation_space(agent) is env.observation_spaces[agent]
        assert env.action_space(agent).n == len(env.action_names) == len(env.spec.actions)
    assert env.observation_space(0).shape[-1] == len(env.feature_names) == len(set(env.feature_names))
    assert env.metadata["name"]
    assert env.metadata["render_modes"] == ["ansi", "human", "rgb_array"]
    assert env.metadata["render_fps"] > 0


@pytest.mark.parametrize(("id", "backend"), grouped(*IDS))
def test_values_are_numpy_within_their_spaces(id, backend) -> None:
    env = cogrid.make(id, backend=backend, max_steps=50)
    obs, infos = env.reset(seed=4)
    actions = random_actions(env, 4)
    assert infos == {agent: {} for agent in env.possible_agents}
    for t in range(50):
        assert list(obs) == env.possible_agents
        for agent, seen in obs.items():
            assert type(seen) is np.ndarray
            assert env.observation_space(agent).contains(seen)
            assert np.isfinite(seen.astype(np.float32)).all()
        assert env.state_space.contains(env.state())
        obs, rewards, terminations, truncations, infos = env.step(next(actions))
        assert list(rewards) == list(terminations) == list(truncations) == list(infos) == env.possible_agents
        assert all(type(reward) is float for reward in rewards.values())
        assert set(map(type, (*terminations.values(), *truncations.values()))) == {bool}
        assert not any(terminations.values())
        assert set(truncations.values()) == {t == 49}
        assert infos == {agent: {} for agent in env.possible_agents}
    assert env.agents == []


@each_backend
@pytest.mark.parametrize("observation", ["features", "lossless", "window", "none"])
def test_state_is_all_that_is_seen(backend, observation) -> None:
    env = cogrid.make(ROOM, backend=backend, observation=observation)
    obs, _ = env.reset(seed=0)
    both = np.stack([obs[0], obs[1]])
    assert env.state().shape == env.state_space.shape
    np.testing.assert_array_equal(env.state().reshape(both.shape), both)
    env.state()[...] = 1  # a copy: the environment keeps its own
    np.testing.assert_array_equal(env.state().reshape(both.shape), both)
    assert env.observation_space(0).contains(obs[0])


def test_config_is_a_constant_mapping() -> None:
    env = cogrid.make(ROOM, max_steps=7, num_agents=3)
    assert isinstance(env.config, Mapping)
    assert (env.config["num_agents"], env.config["max_steps"], env.config["layout"]) == (3, 7, "CrampedRoom")
    with pytest.raises(TypeError):
        env.config["max_steps"] = 8


@each_backend
def test_numpy_integers_are_actions_too(backend) -> None:
    env, twin = cogrid.make(ROOM, backend=backend), cogrid.make(ROOM, backend=backend)
    env.reset(seed=0)
    twin.reset(seed=0)
    env.step({0: np.int64(UP), 1: np.uint8(LEFT)})
    twin.step({np.int64(1): np.array(LEFT), np.int64(0): UP})
    assert_same(env.env_state, twin.env_state)


@each_backend
def test_render(backend) -> None:
    env = cogrid.make(ROOM, backend=backend, render_mode="ansi")
    env.reset(seed=0)
    assert env.render() == "X X P X X\nO     ^ O\nX ^     X\nX D X S X"
    assert cogrid.make(ROOM, backend=backend).render() is None
    env.close()


@each_backend
def test_pictures(backend) -> None:
    env = cogrid.make(ROOM, backend=backend, render_mode="rgb_array", tile_size=8)
    env.reset(seed=0)
    first = env.render()
    assert (first.shape, first.dtype) == ((11 + 4 * 8, 5 * 8, 3), np.uint8)
    onion = env.type_ids["onion"]
    soup = env.type_ids["soup:onion,onion,onion"]
    near = env.replace(
        env.env_state, agent_pos=[[2, 3], [1, 1]], agent_dir=[1, 0], agent_inv=[[soup], [onion]]
    )
    env.set_state(near)
    before = env.render()
    env.step({0: INTERACT, 1: NOOP})
    after = env.render()
    assert not np.array_equal(first, before)
    assert not np.array_equal(before[:11], after[:11])  # the score
    score = picture(env.rules, env.env_state, 8, 20.0)
    np.testing.assert_array_equal(after, score)
    env.reset(seed=0)
    np.testing.assert_array_equal(env.render(), first)  # and it begins anew
    assert copy.deepcopy(env).render().shape == first.shape


# Seeds

PROCESS = """
import json, sys
import cogrid
from tests.doors import hall
from tests.episodes import digest, play
ids, backends = json.loads(sys.argv[1])
made = [(id, backend, cogrid.make(id, backend=backend, max_steps=40)) for id in ids for backend in backends]
print(json.dumps({f"{id} {backend}": digest(play(env, 11)) for id, backend, env in made}))
"""


@functools.cache
def hashes(order: int, hash_seed: str) -> dict[str, str]:
    """Episodes of every id on every backend, in a process of its own that makes them in this order."""
    done = run_python(PROCESS, json.dumps([IDS[::order], BACKENDS[::order]]), hash_seed=hash_seed)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.xdist_group("processes")
def test_same_bytes_in_every_process_and_in_any_order_of_making() -> None:
    here = {f"{id} numpy": digest(play(cogrid.make(id, max_steps=40), 11)) for id in IDS}
    there = hashes(1, "1")
    assert len(there) == len(IDS) * len(BACKENDS)
    assert there == hashes(-1, "271828")
    assert here.items() <= there.items()


@pytest.mark.xdist_group("processes")
def test_same_bytes_on_every_backend() -> None:
    found = hashes(1, "1")
    for id in IDS:
        assert len({found[f"{id} {backend}"] for backend in BACKENDS}) == 1, id
    assert len({found[f"{id} numpy"] for id in IDS}) == len(IDS)


def variants(backend: str):
    """Environments whose reset draws something, small enough to be made for each test."""
    yield cogrid.make(ROOM, backend=backend, random_start=True)
    yield cogrid.make(ARENA, backend=backend, map_size=6, num_agents=2)


@each_backend
def test_reset_of_a_seed_is_reset_fn_of_its_key(backend) -> None:
    for env in variants(backend):
        reset = env.rules.backend.compiled(env.reset_fn)
        for seed in (0, 1, 77, 2**31, -3, 2**32 - 1):
            obs, _ = env.reset(seed=seed)
            state, seen = reset(env.rules.backend.key(rng.key(seed)))
            np.testing.assert_array_equal(np.stack(list(obs.values())), seen)
            assert_same(env.env_state, state)


@each_backend
def test_reset_without_a_seed_continues_the_stream(backend) -> None:
    for env in variants(backend):
        runs = []
        for _ in range(2):
            env.reset(seed=5)
            run = [env.env_state.plain()]
            for _ in range(6):
                env.reset()
                run.append(env.env_state.plain())
            runs.append([{name: value.tolist() for name, value in state.items()} for state in run])
        assert runs[0] == runs[1]
        assert len({json.dumps(state["pos"] + state["agent_dir"] + state["cells"]) for state in runs[0]}) >= 6
        assert len({json.dumps(state["rng_key"]) for state in runs[0]}) == 7


@each_backend
def test_the_stream_does_not_depend_on_what_was_played(backend) -> None:
    for env in variants(backend):
        env.reset(seed=5)
        env.reset()
        expected = env.get_state()
        env.reset(seed=5)
        for actions in itertools.islice(random_actions(env, 0), 10):
            env.step(actions)
        env.reset()
        assert env.get_state() == expected


def test_first_reset_without_a_seed_is_random() -> None:
    starts = set()
    for _ in range(12):
        env = cogrid.make(ARENA)
        env.reset()
        starts.add(json.dumps(env.get_state()["state"]["cells"]))
    assert len(starts) == 12


@each_backend
def test_pure_functions_do_not_touch_the_episode(backend) -> None:
    env = cogrid.make(ROOM, backend=backend)
    env.reset(seed=0)
    before = env.get_state()
    state, _ = env.rules.backend.compiled(env.reset_fn)(env.rules.backend.key(rng.key(3)))
    jitted(env)(state, np.array([UP, UP], np.int32))
    env.replace(env.env_state, agent_dir=[0, 1])
    assert env.get_state() == before
    assert env.agents == [0, 1]


@each_backend
def test_observations_once_given_do_not_change(backend) -> None:
    env = cogrid.make(ROOM, backend=backend)
    given = [env.reset(seed=0)[0]]
    kept = [{agent: seen.copy() for agent, seen in given[0].items()}]
    for actions in itertools.islice(random_actions(env, 1), 20):
        given.append(env.step(actions)[0])
        kept.append({agent: seen.copy() for agent, seen in given[-1].items()})
    for ours, theirs in zip(given, kept, strict=True):
        assert record(ours) == record(theirs)


# Infos


@functools.cache
def talkative(id: str, backend: str, action_set: str) -> cogrid.CoGridEnv:
    options = {"shaping": 1.0} if id == ROOM else {"density": 0.3}
    return cogrid.make(id, backend=backend, infos=True, action_set=action_set, random_start=True, **options)


@each_backend
def test_infos_tell_events_in_words(backend) -> None:
    env = cogrid.make(ROOM, backend=backend, infos=True, shaping=1.0)
    _, infos = env.reset(seed=0)
    assert set(infos[0]) == {"action_mask"}
    nothing = {"verb": "", "item": None, "target": None, "moved": False, "bumped": False}
    silent = {"delivery": 0.0, "ingredient": 0.0, "soup": 0.0, "dish": 0.0}

    def told(*actions: int) -> dict[int, dict[str, Any]]:
        _, rewards, _, _, infos = env.step(dict(enumerate(actions)))
        for agent, info in infos.items():
            assert set(info) == {"action_mask", "event", "rewards", "counts"}
            assert rewards[agent] == sum(info["rewards"].values())
        return infos

    infos = told(NOOP, RIGHT)  # agent 1 turns to the onion pile beside it
    assert infos[0]["event"] == nothing
    assert infos[1]["event"] == {**nothing, "bumped": True}
    infos = told(UP, INTERACT)
    assert infos[0]["event"] == {**nothing, "moved": True}
    assert infos[1]["event"] == {**nothing, "verb": "take onion", "target": "onion_pile"}
    infos = told(RIGHT, INTERACT)  # an onion in the hand, so the pile does nothing
    assert infos[1]["event"] == nothing
    assert infos[0]["event"]["moved"]
    infos = told(LEFT, LEFT)  # (1, 1) is free, and agent 1 follows
    assert (infos[0]["event"]["moved"], infos[1]["event"]["moved"]) == (True, True)
    told(NOOP, UP)
    infos = told(NOOP, INTERACT)
    assert infos[1]["event"] == {**nothing, "verb": "pot onion", "item": "onion", "target": "pot"}
    assert infos[1]["rewards"] == {**silent, "ingredient": 3.0}
    assert infos[0]["rewards"] == silent


@each_backend
def test_infos_of_a_delivery_and_without_shaping(backend) -> None:
    env = cogrid.make(ROOM, backend=backend, infos=True)
    env.reset(seed=0)
    soup = env.type_ids["soup:onion,onion,onion"]
    snapshot = env.get_state()
    snapshot["state"] |= {"pos": [2 * 5 + 3, 1 * 5 + 3], "agent_dir": [1, 3]}
    snapshot["state"]["held"] = [np.asarray(env.rules.item_types).tolist().index(soup), 0]
    env.set_state(snapshot)
    _, rewards, _, _, infos = env.step({0: INTERACT, 1: NOOP})
    event = infos[0]["event"]
    assert (event["verb"], event["item"], event["target"]) == ("deliver", "soup:onion,onion,onion", "serving")
    assert infos[0]["rewards"] == infos[1]["rewards"] == {"delivery": 20.0}
    assert rewards == {0: 20.0, 1: 20.0}


@each_backend
def test_components_are_told_before_the_weight(backend) -> None:
    env = cogrid.make(ROOM, backend=backend, infos=True, shaping=0.5)
    env.reset(seed=0)
    snapshot = env.get_state()
    snapshot["state"] |= {"pos": [1 * 5 + 2, 1 * 5 + 3], "held": [2, 0]}
    assert env.rules.spec.symbols.items[2] == "onion"
    env.set_state(snapshot)
    _, rewards, _, _, infos = env.step({0: INTERACT, 1: NOOP})
    assert infos[0]["rewards"]["ingredient"] == 3.0
    assert rewards == {0: 1.5, 1: 0.0}


@pytest.mark.parametrize("action_set", ["cardinal", "rotation"])
@pytest.mark.parametrize("id", [ROOM, ARENA])
@each_backend
def test_action_mask_by_brute_force(backend, id, action_set) -> None:
    """Masked off: acting alone changes nothing. Masked on: it does, unless another agent is in the way."""
    env = talkative(id, backend, action_set)
    n, n_actions = env.config["num_agents"], len(env.action_names)
    noop = env.action_names.index("noop")
    alone = np.full((n * n_actions + 1, n), noop, np.int32)  # the last joint action: everybody waits
    for agent, action in np.ndindex(n, n_actions):
        alone[agent * n_actions + action, agent] = action
    _, infos = env.reset(seed=2)
    actions = random_actions(env, 2)
    counts = {True: 0, False: 0}
    for _ in range(25):
        for _ in range(3):
            infos = env.step(next(actions))[4]
        state = env.env_state
        results = [jitted(env)(state, joint)[0].plain() for joint in alone]
        waited = results.pop()
        standing = {
            tuple(cell) for cell in np.stack(np.divmod(np.asarray(state.pos), state.width), -1).tolist()
        }
        for agent, action in np.ndindex(n, n_actions):
            after = results[agent * n_actions + action]
            changed = any((after[name] != waited[name]).any() for name in after)
            allowed = bool(infos[agent]["action_mask"][action])
            counts[allowed] += 1
            if action == noop:
                assert allowed
            elif not allowed:
                assert not changed, (agent, action)
            elif not changed:  # it would have walked, were nobody there
                row, column = divmod(int(np.asarray(state.pos)[agent]), state.width)
                near = {(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)}
                assert near & standing, (agent, action)
        assert infos[0]["action_mask"].dtype == np.int8
    assert min(counts.values()) > 50


@each_backend
def test_infos_do_not_change_the_game(backend) -> None:
    plain, told = (cogrid.make(ROOM, backend=backend, infos=infos, shaping=1.0) for infos in (False, True))
    assert digest(play(plain, 3, 80)) == digest(play(told, 3, 80))


# An agent that ends before the others


THREE = """
    ##E##
    #1 2#
    #3###
    #####
"""


@each_backend
def test_an_agent_that_ends_drops_out_and_the_others_go_on(backend) -> None:
    env = cogrid.CoGridEnv(hall(THREE, 3, max_steps=6), backend, infos=True)
    env.reset(seed=0)
    env.step({0: RIGHT, 1: NOOP, 2: NOOP})
    env.step({0: UP, 1: NOOP, 2: NOOP})  # turns to the door
    _, rewards, terminations, truncations, infos = env.step({0: INTERACT, 1: NOOP, 2: UP})
    assert infos[0]["event"]["verb"] == "leave"
    assert rewards == {0: 1.0, 1: 1.0, 2: 1.0}  # a team's point
    assert terminations == {0: True, 1: False, 2: False}
    assert truncations == {0: False, 1: False, 2: False}
    assert env.agents == [1, 2]
    with pytest.raises(ValueError, match="agent 0"):
        env.step({0: NOOP, 1: NOOP, 2: NOOP})
    with pytest.raises(ValueError, match="agent 2"):
        env.step({1: NOOP})
    assert env.agents == [1, 2]
    obs, rewards, terminations, truncations, infos = env.step({1: LEFT, 2: NOOP})
    for told in (obs, rewards, terminations, truncations, infos):
        assert list(told) == [1, 2]
    env.step({1: LEFT, 2: NOOP})
    _, _, terminations, truncations, _ = env.step({1: NOOP, 2: NOOP})  # the horizon takes the rest
    assert terminations == {1: False, 2: False}
    assert truncations == {1: True, 2: True}
    assert env.agents == []
    env.reset()
    assert env.agents == [0, 1, 2]


@each_backend
def test_the_episode_ends_when_all_have_ended(backend) -> None:
    env = cogrid.CoGridEnv(hall("#EE#\n#12#\n####"), backend)
    env.reset(seed=0)
    _, rewards, terminations, truncations, _ = env.step({0: INTERACT, 1: INTERACT})  # both begin facing up
    assert rewards == {0: 2.0, 1: 2.0}
    assert terminations == {0: True, 1: True}
    assert truncations == {0: False, 1: False}
    assert env.agents == []
    assert bool(env.env_state.done)


@each_backend
def test_who_has_ended_cannot_act_and_is_told_so_by_its_mask(backend) -> None:
    env = cogrid.CoGridEnv(hall("#EE#\n#12#\n#  #\n####"), backend, infos=True)
    env.reset(seed=0)
    env.step({0: INTERACT, 1: NOOP})
    state = env.env_state
    after, _, rewards, _, infos = jitted(env)(state, np.array([DOWN, NOOP], np.int32))
    np.testing.assert_array_equal(after.pos, state.pos)
    _, _, rewards, _, infos = jitted(env)(state, np.array([INTERACT, NOOP], np.int32))
    assert np.asarray(rewards).tolist() == [0.0, 0.0]
    assert np.flatnonzero(np.asarray(infos["action_mask"])[0]).tolist() == [NOOP]


@each_backend
def test_snapshot_remembers_who_has_ended(backend) -> None:
    env = cogrid.CoGridEnv(hall("#EE#\n#12#\n####"), backend)
    env.reset(seed=0)
    env.step({0: NOOP, 1: INTERACT})
    snapshot = json.loads(json.dumps(env.get_state()))
    other = cogrid.CoGridEnv(env.spec, backend)
    other.set_state(snapshot)
    assert other.agents == env.agents == [0]
    assert other.step({0: INTERACT})[2] == {0: True}


@each_backend
def test_an_early_end_conforms_to_pettingzoo(backend) -> None:
    parallel_api_test(cogrid.CoGridEnv(hall(THREE, 3, max_steps=6), backend), num_cycles=60)


# Snapshots


def observed(env, actions) -> bytes:
    return b"".join(record(*env.step(joint)[:4]) for joint in actions)


@pytest.mark.parametrize(("source", "target"), list(itertools.product(BACKENDS, BACKENDS)))
@pytest.mark.parametrize(
    ("id", "options"),
    [
        (ROOM, {"shaping": 0.75, "random_start": True}),
        (ROOM, {"layout": ("CrampedRoom", "CoordinationRing"), "observation": "lossless"}),
        (ARENA, {}),
    ],
)
def test_snapshot_continues_the_same_episode(source, target, id, options) -> None:
    env, other = (cogrid.make(id, backend=backend, **options) for backend in (source, target))
    env.reset(seed=8)
    joint = random_actions(env, 8)
    for _ in range(25):
        env.step(next(joint))
    snapshot = json.loads(json.dumps(env.get_state()))
    assert snapshot == env.get_state()
    seen, ahead = env.state(), list(itertools.islice(joint, 20))
    expected = observed(env, ahead)
    env.reset()
    following = env.get_state()
    other.set_state(snapshot)  # without any reset before
    np.testing.assert_array_equal(other.state(), seen)
    assert other.get_state() == snapshot
    assert observed(other, ahead) == expected
    other.reset()  # the random stream goes on as well
    assert other.get_state() == following


@each_backend
def test_snapshot_of_the_end(backend) -> None:
    env = cogrid.make(ROOM, backend=backend, max_steps=1)
    env.reset(seed=0)
    env.step({0: UP, 1: UP})
    other = cogrid.make(ROOM, backend=backend, max_steps=1)
    other.set_state(env.get_state())
    assert other.agents == []
    with pytest.raises(ValueError, match="over"):
        other.step({0: UP, 1: UP})


def test_equal_specs_have_equal_snapshots_in_every_process() -> None:
    """It may be spelled with 1 or with 1.0, and what was made earlier in the process must not matter."""
    source = """
import sys, cogrid
for shaping in eval(sys.argv[1]):
    env = cogrid.make("Overcooked-CrampedRoom-V0", shaping=shaping)
    env.reset(seed=0)
print(env.get_state()["spec"])
"""
    names = {run_python(source, order).stdout for order in ("[1]", "[1.0]", "[1, 1.0]", "[1.0, 1]")}
    assert len(names) == 1
    assert names != {""}


# Neighbours in one process


@functools.cache
def alone(id: str, backend: str) -> tuple[bytes, ...]:
    return tuple(play(cogrid.make(id, backend=backend), 6, 12))


@pytest.mark.xdist_group("neighbours")
@pytest.mark.parametrize("first", IDS)
def test_neighbours_do_not_notice_each_other(first) -> None:
    """Every ordered pair of ids and backends, made one after the other and stepped in turns."""
    for one, second, two in itertools.product(BACKENDS, IDS, BACKENDS):
        envs = cogrid.make(first, backend=one), cogrid.make(second, backend=two)
        pairs = list(zip(*(play(env, 6, 12) for env in envs), strict=True))
        assert tuple(pair[0] for pair in pairs) == alone(first, one), (first, one, second, two)
        assert tuple(pair[1] for pair in pairs) == alone(second, two), (first, one, second, two)


# Compilation

if HAS_JAX:
    import jax

    COMPILED: list[str] = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, duration, **more: (
            COMPILED.append(event) if event.endswith("backend_compile_duration") else None
        )
    )

    @pytest.fixture
    def compilations():
        """The compilations since the test began."""
        before = len(COMPILED)
        return lambda: len(COMPILED) - before

    def test_compilations_are_counted(compilations) -> None:
        jax.jit(lambda x: x * 3 + 1)(np.arange(7.0))
        assert compilations() >= 1
        after = compilations()
        env = cogrid.make(ROOM, backend="jax", cook_time=17)
        env.reset(seed=0)
        env.step({0: UP, 1: UP})
        assert compilations() > after

    @pytest.mark.parametrize("infos", [False, True])
    def test_compiled_once(compilations, infos) -> None:
        options = {"backend": "jax", "random_start": True, "infos": infos, "max_steps": 30}
        env = cogrid.make(ROOM, **options)
        list(play(env, 0, 40))  # resets with and without a seed
        snapshot = env.get_state()
        env.set_state(snapshot)
        warm = compilations()
        assert warm > 0
        env.reset(seed=1)
        env.reset()
        list(play(env, 2, 40))
        assert compilations() == warm
        other = cogrid.make(ROOM, **options)
        list(play(other, 3, 40))
        assert compilations() == warm
        env.set_state(snapshot)
        env.step({0: UP, 1: DOWN})
        assert compilations() == warm

    def test_vector_compiled_once(compilations) -> None:
        vec = cogrid.make_vec(ROOM, 4, backend="jax", max_steps=3, random_start=True)

        def episode(vec) -> None:
            vec.reset(seed=0)
            for _ in range(7):
                vec.step(np.zeros((4, 2), np.int32))
            vec.reset()

        episode(vec)
        warm = compilations()
        assert warm > 0
        episode(vec)
        episode(cogrid.make_vec(ROOM, 4, backend="jax", max_steps=3, random_start=True))
        assert compilations() == warm


# Agents with names


@pytest.mark.parametrize("backend", BACKENDS)
def test_named_agents_play_as_numbered_ones(backend: str) -> None:
    """The same values under other keys, to the end of an agent that leaves early."""
    spec = hall("#EE#\n#12#\n####", max_steps=5)
    plain = cogrid.CoGridEnv(spec, backend, infos=True)
    named = cogrid.CoGridEnv(spec, backend, infos=True, agent_names="cook_0")
    assert named.possible_agents == ["cook_0", "cook_1"]
    assert record(plain.reset(seed=1)[0]) == record(dict(enumerate(named.reset(seed=1)[0].values())))
    living = []
    for joint in ((INTERACT, NOOP), (NOOP, LEFT), (NOOP, NOOP), (NOOP, NOOP), (NOOP, NOOP)):
        numbers = list(plain.agents)
        told = plain.step({agent: joint[agent] for agent in numbers})
        answers = named.step({f"cook_{agent}": joint[agent] for agent in numbers})
        for ours, theirs in zip(told, answers, strict=True):
            assert list(theirs) == [f"cook_{agent}" for agent in numbers]
            for agent in numbers:
                np.testing.assert_equal(theirs[f"cook_{agent}"], ours[agent])
        living.append(list(named.agents))
    assert living == [["cook_1"]] * 4 + [[]]
    twin = copy.deepcopy(named)
    assert twin.possible_agents == named.possible_agents


def test_named_agents_pass_pettingzoo_and_record() -> None:
    env = cogrid.make("Overcooked-CrampedRoom-V0", agent_names=["ann", "ben"], max_steps=30)
    parallel_api_test(env, num_cycles=40)
    assert env.observation_space("ann") is env.observation_space("ann")
    recorder = Recorder(env)
    recorder.reset(seed=3)
    for _ in range(5):
        recorder.step({"ann": INTERACT, "ben": LEFT})
    recorder.replay().verify("numpy")
    assert recorder.replay().actions.tolist() == [[INTERACT, LEFT]] * 5


@pytest.mark.parametrize("names", ["cook", "", ["ann"], ["ann", "ann"], ["ann", 1], ["a", "b", "c"], 5])
def test_bad_names_are_refused(names: Any) -> None:
    with pytest.raises(ValueError, match="agent_names="):
        cogrid.make("Overcooked-CrampedRoom-V0", agent_names=names)
    env = cogrid.make("Overcooked-CrampedRoom-V0", agent_names="agent_0")
    env.reset(seed=0)
    with pytest.raises(ValueError, match="the action of agent 'agent_1' is missing"):
        env.step({"agent_0": 6})
