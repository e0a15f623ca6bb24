"""The public surface: names, signatures, attributes and numbers that users write into their own code."""

from __future__ import annotations

import dataclasses
import inspect
import json

import numpy as np
import pytest

import cogrid
from cogrid import distributed
from cogrid.backend.env_state import EnvState
from cogrid.envs import registry
from tests.episodes import jitted, run_python, shared
from tests.support import BACKENDS, CLASSIC, DOWN, HAS_JAX, IDS, LEFT, NOOP, RIGHT, UP, assert_same, keys

ROOM, ARENA = "Overcooked-CrampedRoom-V0", "Arena-V0"
each_backend = pytest.mark.parametrize("backend", BACKENDS)


def parameters(function) -> list[str]:
    return list(inspect.signature(function).parameters)


def test_names() -> None:
    names = [
        "CoGridEnv",
        "Spec",
        "VectorEnv",
        "__version__",
        "make",
        "make_vec",
        "options",
        "register",
        "registered",
        "rollout",
    ]
    assert sorted(cogrid.__all__) == names
    assert all(hasattr(cogrid, name) for name in names)


def test_registry_has_the_same_functions() -> None:
    for name in ("make", "make_vec", "options", "register", "registered"):
        assert getattr(registry, name) is getattr(cogrid, name)


def test_ids() -> None:
    assert cogrid.registered() == sorted(cogrid.registered())
    rooms = (
        "AsymmetricAdvantages",
        "CoordinationRing",
        "CounterCircuit",
        "CrampedRoom",
        "ForcedCoordination",
    )
    assert {ARENA, *(f"Overcooked-{room}-V0" for room in rooms)} <= set(cogrid.registered())
    cogrid.registered().clear()  # a copy
    assert ROOM in cogrid.registered()


def test_a_registered_spec_can_be_made(monkeypatch) -> None:
    monkeypatch.setattr(registry, "_SPECS", dict(registry._SPECS))
    spec = cogrid.make(ROOM, cook_time=3, max_steps=9).spec
    cogrid.register("Mine-V0", spec)
    assert "Mine-V0" in cogrid.registered()
    assert cogrid.make("Mine-V0").spec == spec
    assert cogrid.make("Mine-V0", max_steps=8).config["max_steps"] == 8
    with pytest.raises(ValueError, match="'Mine-V0'"):
        cogrid.register("Mine-V0", spec)


def test_signatures() -> None:
    assert parameters(cogrid.make)[:2] == ["id", "backend"]
    assert set(parameters(cogrid.make)) >= {"render_mode", "infos", "shadow", "agent_names", "overrides"}
    assert parameters(cogrid.make_vec)[:3] == ["id", "num_envs", "backend"]
    assert set(parameters(cogrid.make_vec)) >= {"autoreset", "infos", "shadow", "render_mode", "overrides"}
    assert parameters(cogrid.rollout)[:5] == ["env", "policy", "key", "num_envs", "num_steps"]
    assert set(parameters(cogrid.rollout)) >= {"chunk", "params", "keep", "devices", "checkpoint"}
    assert parameters(distributed.start)[:3] == ["address", "num_processes", "process_id"]
    assert parameters(cogrid.register) == ["id", "spec"]
    for make in (cogrid.make, cogrid.make_vec):
        assert inspect.signature(make).parameters["backend"].default == "numpy"


def test_attributes_of_the_environment() -> None:
    env = shared(ROOM, "numpy")
    attributes = (
        (
            "possible_agents",
            "agents",
            "observation_space",
            "action_space",
            "config",
            "metadata",
            "render",
            "close",
        )
        + ("reset", "step", "state", "state_space", "get_state", "set_state", "env_state", "replace", "spec")
        + (
            "reset_fn",
            "step_fn",
            "jax_reset",
            "jax_step",
            "type_ids",
            "verbs",
            "action_names",
            "feature_names",
            "step_timing",
            "shadow",
        )
    )
    missing = [name for name in attributes if name not in dir(env)]
    assert not missing
    assert parameters(env.reset) == ["seed", "options"]
    assert parameters(env.step) == ["actions"]
    assert parameters(env.reset_fn) == ["key", "board", "pool"]
    assert parameters(env.step_fn) == ["state", "actions"]


def test_attributes_of_the_vector_environment() -> None:
    vec = cogrid.make_vec(ROOM, 2)
    attributes = (
        "num_envs",
        "observation_space",
        "action_space",
        "single_observation_space",
        "metadata",
        "close",
    )
    assert not [
        name for name in (*attributes, "single_action_space", "reset", "step", "spec") if name not in dir(vec)
    ]
    assert parameters(vec.reset)[0] == "seed"
    assert parameters(vec.step) == ["actions"]


# The state

ATTRIBUTES = {
    "agent_pos": ("n", 2),
    "agent_dir": ("n",),
    "agent_inv": ("n", 1),
    "wall_map": ("H", "W"),
    "object_type_map": ("H", "W"),
    "object_state_map": ("H", "W"),
    "time": (),
    "done": (),
    "shaping_weight": (),
}
#: Of kitchens only.
POTS = {"pot_contents": ("p", 3), "pot_timer": ("p",), "pot_positions": ("p", 2)}


def kitchen_views(state):
    return {name: getattr(state, name) for name in (*ATTRIBUTES, *POTS)}


def arena_views(state):
    return {name: getattr(state, name) for name in ATTRIBUTES}


def views(env, state):
    """All that can be read of a state; in one program on JAX, where each alone would be compiled."""
    return env.rules.backend.compiled(arena_views if env.spec.type_ids.get("pot") is None else kitchen_views)(
        state
    )


@each_backend
@pytest.mark.parametrize(
    ("id", "options", "sizes"),
    [
        (ROOM, {}, {"n": 2, "H": 4, "W": 5, "p": 1}),
        ("Overcooked-CounterCircuit-V0", {"num_agents": 3}, {"n": 3, "H": 5, "W": 8, "p": 2}),
        (ARENA, {}, {"n": 4, "H": 12, "W": 12}),
    ],
)
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_state_attributes(backend, id, options, sizes, batch) -> None:
    env = shared(id, backend, **options)
    some = keys(0, int(np.prod(batch))).reshape(*batch, 2)
    state, _ = env.rules.backend.compiled(env.reset_fn)(env.rules.backend.key(some))
    assert isinstance(state, EnvState)
    for name, shape in (ATTRIBUTES | (POTS if "p" in sizes else {})).items():
        value = getattr(state, name)
        assert value.shape == batch + tuple(sizes.get(size, size) for size in shape), name
    for name in (
        "agent_pos",
        "agent_dir",
        "agent_inv",
        "object_type_map",
        "object_state_map",
        "wall_map",
        "time",
    ):
        assert getattr(state, name).dtype.kind == "i", name
    assert state.done.dtype == bool
    assert state.shaping_weight.dtype == np.float32
    assert np.asarray(env.rules.backend.words(state.rng_key)).shape == (*batch, 2)
    assert (state.n_agents, state.height, state.width) == (sizes["n"], sizes["H"], sizes["W"])
    assert state.action_set == "cardinal"
    assert all(type(size) is int for size in (state.n_agents, state.height, state.width))


@each_backend
def test_batch_slices_read_like_single_states(backend) -> None:
    env = shared(ROOM, backend, random_start=True)
    reset = env.rules.backend.compiled(env.reset_fn)
    some = env.rules.backend.key(keys(3, 4))
    batch, seen = reset(some)
    batch, seen, rewards, done, _ = jitted(env)(batch, np.full((4, 2), UP, np.int32))
    for i in range(4):
        single, _ = reset(some[i])
        single, obs, paid, over, _ = jitted(env)(single, np.full(2, UP, np.int32))
        np.testing.assert_array_equal(np.asarray(seen)[i], obs)
        np.testing.assert_array_equal(np.asarray(rewards)[i], paid)
        assert bool(done[i]) == bool(over)
        for name, value in views(env, single).items():
            np.testing.assert_array_equal(np.asarray(views(env, batch)[name])[i], value, name)


@each_backend
def test_state_is_frozen_and_keeps_the_meaning_of_its_numbers(backend) -> None:
    env = shared(ROOM, backend)
    state, _ = env.rules.backend.compiled(env.reset_fn)(env.rules.backend.key(keys(0, 1)[0]))
    with pytest.raises(dataclasses.FrozenInstanceError):
        state.time = 3
    assert np.asarray(state.agent_pos).tolist() == [[2, 1], [1, 3]]  # row, column
    assert np.asarray(state.agent_dir).tolist() == [3, 3]  # up
    assert np.asarray(state.agent_inv).tolist() == [[-1], [-1]]
    assert np.asarray(state.wall_map).tolist() == [[1] * 5, [1, 0, 0, 0, 1], [1, 0, 0, 0, 1], [1] * 5]
    types = np.asarray(state.object_type_map)
    assert types[1, 1:4].tolist() == [0, 0, 0]
    assert types[0, 2] == env.type_ids["pot"]
    assert env.type_ids["floor"] == 0
    assert not np.asarray(state.object_state_map).any()


@each_backend
def test_batches_may_have_any_leading_axes(backend) -> None:
    env = shared(ROOM, backend, random_start=True)
    reset, some = env.rules.backend.compiled(env.reset_fn), env.rules.backend.key(keys(0, 6))
    flat, _ = reset(some)
    deep, _ = reset(some.reshape(2, 3, *some.shape[1:]))
    actions = np.random.default_rng(0).integers(0, 7, (6, 2)).astype(np.int32)
    flat, seen, rewards, _, _ = jitted(env)(flat, actions)
    deep, deep_seen, deep_rewards, deep_done, _ = jitted(env)(deep, actions.reshape(2, 3, 2))
    assert deep_done.shape == (2, 3)
    np.testing.assert_array_equal(np.asarray(deep_seen).reshape(np.shape(seen)), seen)
    np.testing.assert_array_equal(np.asarray(deep_rewards).reshape(6, 2), rewards)
    np.testing.assert_array_equal(np.asarray(deep.pos).reshape(6, 2), flat.pos)


# Replace


@each_backend
def test_replaced_attributes_are_read_back(backend) -> None:
    env = shared(ROOM, backend, shaping=1.0)
    state, _ = env.rules.backend.compiled(env.reset_fn)(env.rules.backend.key(keys(0, 1)[0]))
    onion, dish = env.type_ids["onion"], env.type_ids["dish"]
    lying = np.zeros((4, 5), int)
    lying[0, 0], lying[3, 4] = onion, dish
    changes = {
        "agent_pos": [[1, 2], [2, 3]],
        "agent_dir": [0, 2],
        "agent_inv": [[dish], [-1]],
        "object_state_map": lying.tolist(),
        "pot_contents": [[onion, onion, onion]],
        "pot_timer": [7],
        "time": 12,
        "shaping_weight": 0.5,
        "done": False,
    }
    new = env.replace(state, **{name: np.array(value) for name, value in changes.items()})
    assert {name: np.asarray(getattr(new, name)).tolist() for name in changes} == changes
    assert np.asarray(state.agent_pos).tolist() == [[2, 1], [1, 3]]  # the old state is as it was
    assert_same(env.replace(new), new)


@each_backend
def test_replace_works_on_batches(backend) -> None:
    env = shared(ROOM, backend)
    state, _ = env.rules.backend.compiled(env.reset_fn)(env.rules.backend.key(keys(0, 3)))
    places = np.array([[[1, 1], [2, 1]], [[1, 2], [2, 2]], [[1, 3], [2, 3]]])
    onion = env.type_ids["onion"]
    held = np.array([[[onion], [-1]], [[-1], [onion]], [[-1], [-1]]])
    new = env.replace(state, agent_pos=places, agent_inv=held, time=np.array([1, 2, 3]))
    np.testing.assert_array_equal(new.agent_pos, places)
    np.testing.assert_array_equal(new.agent_inv, held)
    np.testing.assert_array_equal(new.time, [1, 2, 3])


@each_backend
@pytest.mark.parametrize("n", [2, 3])
def test_one_value_for_a_whole_batch(backend, n) -> None:
    """What fits a single state goes to every state of a batch, also when batch and agents are as many."""
    env = shared(ROOM, backend)
    state, _ = env.rules.backend.compiled(env.reset_fn)(env.rules.backend.key(keys(0, n)))
    onion = env.type_ids["onion"]
    single = {"agent_pos": [[1, 1], [2, 2]], "agent_dir": [0, 1], "agent_inv": [[onion], [-1]]}
    new = env.replace(state, **{name: np.array(value) for name, value in single.items()})
    for name, value in single.items():
        assert np.asarray(getattr(new, name)).tolist() == [value] * n, name


if HAS_JAX:
    import jax

    def test_replace_inside_jit_and_vmap() -> None:
        env = shared(ROOM, "jax", shaping=1.0)
        state, _ = jitted_reset(env)(env.rules.backend.key(keys(0, 2)))
        dish = env.type_ids["dish"]

        @jax.jit
        @jax.vmap
        def change(state, places):
            return env.replace(
                state,
                agent_pos=places,
                agent_dir=np.array([0, 1], np.int32),
                agent_inv=np.array([[dish], [-1]], np.int32),
                time=np.int32(5),
                shaping_weight=np.float32(0.25),
            )

        places = np.array([[[1, 1], [2, 1]], [[1, 2], [2, 2]]], np.int32)
        new = change(state, places)
        np.testing.assert_array_equal(new.agent_pos, places)
        assert np.asarray(new.agent_dir).tolist() == [[0, 1]] * 2
        assert np.asarray(new.agent_inv).tolist() == [[[dish], [-1]]] * 2
        assert np.asarray(new.time).tolist() == [5, 5]
        assert np.asarray(new.shaping_weight).tolist() == [0.25, 0.25]

    def jitted_reset(env):
        return env.rules.backend.compiled(env.reset_fn)

    def test_state_is_a_pytree_without_its_rules() -> None:
        env = shared(ROOM, "jax")
        state, _ = jitted_reset(env)(env.rules.backend.key(keys(0, 1)[0]))
        leaves = jax.tree.leaves(state)
        assert all(isinstance(leaf, jax.Array) for leaf in leaves)
        doubled = jax.tree.map(lambda leaf: leaf, state)
        assert type(doubled) is type(state)
        assert doubled.height == 4
        stacked = jax.tree.map(lambda leaf: jax.numpy.stack([leaf, leaf]), state)
        assert np.asarray(stacked.agent_pos).shape == (2, 2, 2)

    def test_vmap_and_the_direct_call_agree() -> None:
        env = shared(ROOM, "jax", random_start=True)
        some = env.rules.backend.key(keys(7, 5))
        direct, _ = jitted_reset(env)(some)
        mapped, _ = jax.jit(jax.vmap(env.jax_reset))(some)
        assert_same(direct, mapped)
        actions = np.random.default_rng(1).integers(0, 7, (5, 2)).astype(np.int32)
        ours, theirs = jitted(env)(direct, actions), jax.jit(jax.vmap(env.jax_step))(mapped, actions)
        assert_same(ours[0], theirs[0])
        for left, right in zip(ours[1:4], theirs[1:4], strict=True):
            np.testing.assert_array_equal(left, right)


# Actions


def test_action_sets() -> None:
    cardinal, rotation = shared(ROOM, "numpy"), shared(ROOM, "numpy", action_set="rotation")
    assert cardinal.action_names == ("up", "down", "left", "right", "interact", "toggle", "noop")
    assert rotation.action_names == ("forward", "interact", "toggle", "rotate left", "rotate right", "noop")
    assert cardinal.action_space(0).n == 7
    assert rotation.action_space(0).n == 6


@each_backend
@pytest.mark.parametrize(
    ("action", "place", "facing"),
    [
        (UP, [1, 2], 3),
        (DOWN, [3, 2], 1),
        (LEFT, [2, 1], 2),
        (RIGHT, [2, 3], 0),
        (NOOP, [2, 2], 0),
        (5, [2, 2], 0),
    ],
)
def test_cardinal_actions(backend, action, place, facing) -> None:
    env = shared(ARENA, backend, map_size=5, num_agents=1, density=0.0)
    state = env.replace(start(env), agent_pos=[[2, 2]], agent_dir=[0])
    after = jitted(env)(state, np.array([action], np.int32))[0]
    assert (np.asarray(after.agent_pos).tolist(), np.asarray(after.agent_dir).tolist()) == ([place], [facing])


@each_backend
@pytest.mark.parametrize(
    ("action", "place", "facing"),
    [(0, [2, 3], 0), (1, [2, 2], 0), (2, [2, 2], 0), (3, [2, 2], 3), (4, [2, 2], 1), (5, [2, 2], 0)],
)
def test_rotation_actions(backend, action, place, facing) -> None:
    env = shared(ARENA, backend, map_size=5, num_agents=1, density=0.0, action_set="rotation")
    state = env.replace(start(env), agent_pos=[[2, 2]], agent_dir=[0])
    after = jitted(env)(state, np.array([action], np.int32))[0]
    assert (np.asarray(after.agent_pos).tolist(), np.asarray(after.agent_dir).tolist()) == ([place], [facing])


def start(env):
    return env.rules.backend.compiled(env.reset_fn)(env.rules.backend.key(keys(0, 1)[0]))[0]


@each_backend
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint32])
def test_actions_of_any_integer_type(backend, dtype) -> None:
    env = shared(ROOM, backend)
    after = jitted(env)(start(env), np.array([UP, LEFT], dtype))[0]
    assert_same(after, jitted(env)(start(env), np.array([UP, LEFT], np.int32))[0])
    far = np.array([np.iinfo(dtype).max, np.iinfo(dtype).min or 7], dtype)
    idle = jitted(env)(start(env), np.array([NOOP, NOOP], np.int32))[0]
    assert_same(jitted(env)(start(env), far)[0], idle, "out of range is a noop")


# Type ids

PINNED = {
    "floor": 0,
    "dish_pile": 1,
    "onion_pile": 2,
    "pot": 3,
    "serving": 4,
    "counter": 5,
    "dish": 6,
    "onion": 7,
}
PINNED["soup:onion,onion,onion"] = 8


@each_backend
@pytest.mark.parametrize("id", CLASSIC)
def test_type_ids_of_the_classic_kitchens(backend, id) -> None:
    env = shared(id, backend)
    assert env.type_ids == env.spec.type_ids == PINNED


def test_type_ids_do_not_depend_on_what_else_was_made() -> None:
    source = """
import json, sys
import cogrid
for id in json.loads(sys.argv[1]):
    env = cogrid.make(id)
    env.reset(seed=0)
room = "Overcooked-CrampedRoom-V0"
mixed = cogrid.make(room, layout=["CrampedRoom", "CoordinationRing"], cook_start="interact")
print(json.dumps([env.type_ids for env in (mixed, cogrid.make(room), cogrid.make("Arena-V0"))]))
"""
    found = [run_python(source, json.dumps(ids)) for ids in ([], [*IDS], [*IDS][::-1])]
    assert found[0].returncode == 0, found[0].stderr
    assert len({done.stdout for done in found}) == 1
    assert json.loads(found[0].stdout)[1] == PINNED


# Limits


@each_backend
def test_the_longest_horizon(backend) -> None:
    longest = 2**31 - 1
    env = cogrid.make(ROOM, backend=backend, max_steps=longest, observation="lossless")
    assert env.config["max_steps"] == longest
    env.reset(seed=0)
    _, _, _, truncations, _ = env.step({0: UP, 1: UP})
    assert not any(truncations.values())
    late = env.replace(env.env_state, time=longest - 1)
    late, obs, _, done, _ = jitted(env)(late, np.array([NOOP, NOOP], np.int32))
    assert bool(done)
    assert int(late.time) == longest
    assert np.asarray(obs)[..., 25].all()
    again, _, rewards, done, _ = jitted(env)(late, np.array([UP, UP], np.int32))
    assert bool(done)
    assert int(again.time) == longest  # the clock stops, it never wraps
    assert not np.asarray(rewards).any()
