"""Mistakes of users: one sentence that names the value, the place and the way out, and nothing changes."""

from __future__ import annotations

import copy
import functools
import json
import re

import numpy as np
import pytest

import cogrid
from cogrid.backend import rng
from tests.episodes import run_python, shared
from tests.support import BACKENDS, HAS_JAX, INTERACT, NOOP, UP, assert_same

ROOM, ARENA = "Overcooked-CrampedRoom-V0", "Arena-V0"
OPTIONS = (
    (
        "action_set",
        "any_board",
        "bonus_orders",
        "cook_start",
        "cook_time",
        "layout",
        "max_steps",
        "num_agents",
        "observation",
    )
    + ("order_bonus", "orders", "random_start", "recipes", "shaping", "soup_value", "window")
    + ("backend", "infos")
)


def complaint(call, *kinds) -> str:
    """What the call says when it refuses: one sentence, in an error of one of the kinds (ValueError)."""
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    text = str(caught.value)
    assert type(caught.value) in (kinds or (ValueError,)), text
    assert re.fullmatch(r"[^\n]*[^\n.?][.?]", text), f"not one line with one mark at its end: {text!r}"
    assert not re.search(r"[.!?] [A-Z]", text), f"more than one sentence: {text!r}"
    return text


def assert_names(text: str, *parts: str) -> None:
    missing = [part for part in parts if part not in text]
    assert not missing, f"{missing} not in {text!r}"


# Making: the registry and the spec


@pytest.mark.parametrize("make", [cogrid.make, functools.partial(cogrid.make_vec, num_envs=2)])
def test_unknown_id_with_close_matches(make) -> None:
    text = complaint(lambda: make("Overcooked-CrampedRoom-V9"))
    assert_names(text, "'Overcooked-CrampedRoom-V9'", "did you mean", f"'{ROOM}'")
    assert ARENA not in text


def test_unknown_id_without_close_matches_names_the_families_and_who_lists_all() -> None:
    families = ("arena", "commons", "foraging", "goals", "overcooked", "search_rescue")
    told = complaint(lambda: cogrid.make("zzz"))
    assert_names(told, "'zzz'", "python -m cogrid list", "cogrid.registered()", *families)
    assert len(told) < 300, "there are too many ids for a sentence"


@pytest.mark.parametrize("id", [None, 5, ["Arena-V0"]])
def test_id_that_is_no_text(id) -> None:
    assert_names(complaint(lambda: cogrid.make(id), ValueError, TypeError), "id", repr(id))


@pytest.mark.parametrize("backend", ["torch", "JAX", None, ["numpy"]])
@pytest.mark.parametrize("make", [cogrid.make, functools.partial(cogrid.make_vec, num_envs=2)])
def test_unknown_backend(make, backend) -> None:
    text = complaint(lambda: make(ROOM, backend=backend), ValueError, TypeError)
    assert_names(text, "backend", repr(backend), "'numpy'", "'jax'")


@pytest.mark.parametrize(
    ("make", "adapter"),
    [
        ("make", ("render_mode", "shadow", "tile_size", "agent_names")),
        ("make_vec", ("autoreset", "num_envs", "pool", "render_mode", "shadow", "tile_size")),
    ],
)
def test_unknown_keyword_lists_the_valid_ones(make, adapter) -> None:
    options = {"num_envs": 2} if make == "make_vec" else {}
    text = complaint(lambda: getattr(cogrid, make)(ROOM, max_step=5, **options), TypeError)
    assert_names(text, ROOM, "'max_step'", "did you mean 'max_steps'")
    listed = re.search(r"valid ones are (.*)\.", text)[1].split(", ")
    assert set(listed) >= {*OPTIONS, *adapter}
    assert listed == sorted(listed)
    assert "map_size" not in listed
    for name in listed:
        assert name in OPTIONS + adapter, name


def test_unknown_keyword_of_another_family() -> None:
    text = complaint(lambda: cogrid.make(ARENA, cook_time=3), TypeError)
    assert_names(text, ARENA, "'cook_time'", "density", "map_size")


def test_adapter_keyword_of_the_other_adapter() -> None:
    assert_names(complaint(lambda: cogrid.make(ROOM, autoreset="same-step"), TypeError), "'autoreset'")
    assert_names(complaint(lambda: cogrid.make_vec(ROOM, 2, agent_names="a_0"), TypeError), "'agent_names'")


def test_spec_override_refuses_unknown_names_too() -> None:
    spec = cogrid.make(ROOM).spec
    assert_names(
        complaint(lambda: spec.override(cooktime=3), TypeError), "'cooktime'", "'cook_time'", "max_steps"
    )


@pytest.mark.parametrize(
    ("name", "value", "kind", "parts"),
    [
        ("max_steps", 0, ValueError, ("from 1 to 2147483647",)),
        ("max_steps", -5, ValueError, ("from 1 to 2147483647",)),
        ("max_steps", 2**31, ValueError, ("from 1 to 2147483647",)),
        ("max_steps", 2.5, TypeError, ("integer",)),
        ("max_steps", True, TypeError, ("integer",)),
        ("max_steps", None, TypeError, ("integer",)),
        ("num_agents", 0, ValueError, ("from 1",)),
        ("num_agents", 1000, ValueError, ("from 1",)),
        ("num_agents", "2", TypeError, ("integer",)),
        ("num_agents", 2.0, TypeError, ("integer",)),
        ("cook_time", 0, ValueError, ("from 1",)),
        ("cook_time", 2.5, TypeError, ("integer",)),
        ("cook_time", True, TypeError, ("integer",)),
        ("cook_start", "manual", ValueError, ("'auto'", "'interact'")),
        ("cook_start", None, ValueError, ("'auto'", "'interact'")),
        ("observation", "pixels", ValueError, ("'features'", "'lossless'", "'window'", "'none'")),
        ("observation", None, ValueError, ("'features'", "'lossless'", "'window'", "'none'")),
        ("action_set", "diagonal", ValueError, ("'cardinal'", "'rotation'")),
        ("action_set", ["cardinal"], ValueError, ("'cardinal'", "'rotation'")),
        ("observation", {"a": 1}, ValueError, ("'features'", "'lossless'", "'window'", "'none'")),
        ("window", 4, ValueError, ("odd",)),
        ("window", 0, ValueError, ("from 1",)),
        ("window", 3.0, TypeError, ("integer",)),
        ("render_mode", "holographic", ValueError, ("ansi", "None")),
        ("shaping", "much", None, ()),
        ("shaping", None, None, ()),
        ("shaping", float("nan"), None, ()),
        ("shaping", float("inf"), None, ()),
        ("random_start", "yes", None, ()),
        ("random_start", None, None, ()),
        ("soup_value", "much", None, ()),
        ("soup_value", float("nan"), None, ()),
        ("order_bonus", None, None, ()),
    ],
)
def test_bad_option_of_a_kitchen(name, value, kind, parts) -> None:
    kinds = (ValueError, TypeError) if kind is None else (kind,)
    text = complaint(lambda: cogrid.make(ROOM, **{name: value}), *kinds)
    assert_names(text, f"{name}={value!r}", *parts)
    assert cogrid.make(ROOM).reset(seed=0)


@pytest.mark.parametrize(
    ("name", "value", "kind", "parts"),
    [
        ("density", -0.1, ValueError, ("from 0 to 1",)),
        ("density", 1.5, ValueError, ("from 0 to 1",)),
        ("density", float("nan"), ValueError, ("from 0 to 1",)),
        ("density", "thick", TypeError, ()),
        ("density", None, TypeError, ()),
        ("map_size", 2, ValueError, ("from 3",)),
        ("map_size", 10**6, ValueError, ("from 3",)),
        ("map_size", 5.0, TypeError, ("integer",)),
        ("map_size", True, TypeError, ("integer",)),
        ("window", 6, ValueError, ("odd",)),
        ("num_agents", 0, ValueError, ("from 1",)),
    ],
)
def test_bad_option_of_the_arena(name, value, kind, parts) -> None:
    assert_names(complaint(lambda: cogrid.make(ARENA, **{name: value}), kind), f"{name}={value!r}", *parts)


def test_observation_that_a_game_lacks() -> None:
    assert_names(complaint(lambda: cogrid.make(ARENA, observation="features")), "Arena", "features")


@pytest.mark.parametrize("num_envs", [0, -1, 2.5, True, None, "4"])
def test_bad_num_envs(num_envs) -> None:
    text = complaint(lambda: cogrid.make_vec(ROOM, num_envs), ValueError, TypeError)
    assert_names(text, f"num_envs={num_envs!r}", "at least 1")


@pytest.mark.parametrize("autoreset", ["never", None, "same_step"])
def test_bad_autoreset(autoreset) -> None:
    text = complaint(lambda: cogrid.make_vec(ROOM, 2, autoreset=autoreset))
    assert_names(text, f"autoreset={autoreset!r}", "'same-step'", "'next-step'")


@pytest.mark.parametrize(
    ("name", "value", "parts"),
    [
        ("orders", [("onion",) * 4], ("('onion', 'onion', 'onion', 'onion')", "onion, tomato")),
        ("orders", [("leek",)], ("leek", "onion, tomato")),
        ("orders", [()], ("()", "onion, tomato")),
        ("orders", [None], ("None", "onion, tomato")),
        ("bonus_orders", [5], ("5", "onion, tomato")),
        ("orders", [[["onion"]]], ("[['onion']]", "onion, tomato")),
        ("bonus_orders", [("leek",)], ("leek", "onion, tomato")),
        ("recipes", [(("onion",), 5, 0)], ("0", "('onion',)", "cook time")),
        ("recipes", [(("onion",), 5, 2.5)], ("2.5", "('onion',)", "cook time")),
        ("recipes", [(("leek",), 5, 3)], ("leek", "onion, tomato")),
        ("recipes", [("onion",)], ("onion",)),
        ("recipes", [(("onion",), "much", 3)], ("'much'", "onion")),
    ],
)
def test_bad_soup(name, value, parts) -> None:
    assert_names(complaint(lambda: cogrid.make(ROOM, **{name: value}), ValueError, TypeError), *parts)


@pytest.mark.parametrize("name", ["orders", "bonus_orders", "recipes", "layout"])
def test_number_in_place_of_a_list(name) -> None:
    assert_names(complaint(lambda: cogrid.make(ROOM, **{name: 5}), TypeError), name, "5")


def test_clock_too_long_for_the_symbols(monkeypatch) -> None:
    monkeypatch.setattr("cogrid.core.symbols.MAX_SYMBOLS", 60)
    assert_names(complaint(lambda: cogrid.make(ROOM, cook_time=77)), "Kitchen", "pot", "60", "shorten")
    monkeypatch.undo()
    assert cogrid.make(ROOM, cook_time=77).spec.game.cook_time == 77


# Making: layouts


@pytest.mark.parametrize(
    ("board", "parts"),
    [
        ("XXXXX\nO   P\nXXXX", ("ragged", "row 2", "4 columns", "row 0", "5")),
        ("XXXXX\n\nXXXXX", ("ragged", "row 1", "0 columns")),
        ("XXXXX\nO Q P\nXXXXX", ("'Q'", "row 1, column 2", "# D O P S T X")),
        ("XXXXX\nO 0 P\nXXXXX", ("'0'", "row 1, column 2", "digits from 1")),
        ("XXXXX\nO\t  P\nXXXXX", (r"'\t'", "row 1, column 1")),
        ("XXXXX\nO ٣ P\nXXXXX", ("'٣'", "row 1, column 2")),
        ("XXXXX\nO ² P\nXXXXX", ("'²'", "row 1, column 2")),
        ("XX XX\nO   P\nXXXXX", ("floor", "outer edge", "row 0, column 2", "close the border")),
        ("XXXXX\n    P\nXXXXX", ("floor", "outer edge", "row 1, column 0", "close the border")),
        ("XXXXX\nO    \nXXXXX", ("floor", "outer edge", "row 1, column 4", "close the border")),
        ("XXXXX\nO   1\nXXXXX", ("floor", "outer edge", "row 1, column 4", "close the border")),
        ("XXXXX\nO   P\nXX1XX", ("floor", "outer edge", "row 2, column 2", "close the border")),
        ("XXXXX\nO1 1P\nXXXXX", ("start 1 twice", "row 1, column 1", "row 1, column 3")),
        ("XXXXX\nOX XP\nXXXXX", ("too few spawn cells", "2 agents", "1 floor cell")),
        ("\n\n", ("empty", "row")),
    ],
)
def test_bad_board(board, parts) -> None:
    assert_names(complaint(lambda: cogrid.make(ROOM, layout=board)), "layout", "'own-0'", *parts)


def test_bad_board_in_a_list_is_named_by_its_number() -> None:
    boards = ["CrampedRoom", "XXXXX\nO   P\nXXXXX", "XXXXX\nO ? P\nXXXXX"]
    text = complaint(lambda: cogrid.make(ROOM, layout=boards))
    assert_names(text, "'own-2'", "'?'", "row 1, column 2")


@pytest.mark.parametrize("layout", ["Nowhere", "", ["CrampedRoom", "Nowhere"]])
def test_unknown_layout_name(layout) -> None:
    text = complaint(lambda: cogrid.make(ROOM, layout=layout))
    assert_names(
        text, repr(layout if isinstance(layout, str) else layout[1]), "CounterCircuit", "CrampedRoom"
    )


def test_no_layout() -> None:
    assert_names(complaint(lambda: cogrid.make(ROOM, layout=[])), "layout")
    assert_names(complaint(lambda: cogrid.make(ROOM, layout=None), TypeError), "layout", "None")
    assert_names(complaint(lambda: cogrid.make(ROOM, layout=[5]), TypeError), "layout", "5", "ASCII")


def test_too_few_spawn_cells() -> None:
    assert_names(
        complaint(lambda: cogrid.make(ROOM, num_agents=7)), "'CrampedRoom'", "7 agents", "6 floor cells"
    )
    text = complaint(lambda: cogrid.make(ROOM, layout=["CounterCircuit", "CrampedRoom"], num_agents=7))
    assert_names(text, "'CrampedRoom'")
    assert_names(complaint(lambda: cogrid.make(ARENA, map_size=4, num_agents=5)), "5 agents", "4 floor cells")


# The registry


def test_duplicate_registration() -> None:
    before, spec = cogrid.registered(), cogrid.make(ARENA).spec
    assert_names(
        complaint(lambda: cogrid.register(ROOM, spec)), repr(ROOM), "registered already", "another id"
    )
    assert cogrid.registered() == before
    assert cogrid.make(ROOM).spec != spec


def test_registration_of_something_else() -> None:
    before = cogrid.registered()
    assert_names(complaint(lambda: cogrid.register("Else-V0", cogrid.make), TypeError), "Spec", "function")
    assert cogrid.registered() == before


@pytest.mark.parametrize("id", [5, None, ["Else-V0"]])
def test_registration_under_something_else(id, monkeypatch) -> None:
    monkeypatch.setattr(
        "cogrid.envs.registry._SPECS", dict.fromkeys(cogrid.registered(), cogrid.make(ROOM).spec)
    )
    assert_names(
        complaint(lambda: cogrid.register(id, cogrid.make(ROOM).spec), ValueError, TypeError), repr(id)
    )


# Without JAX

WITHOUT_JAX = """
import importlib.abc, json, sys

class NoJax(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("jax", "jaxlib"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NoJax())
import cogrid
complaints = []
shadowed = lambda id, backend: cogrid.make(id, shadow=True)
for make in (cogrid.make, lambda id, **options: cogrid.make_vec(id, 2, **options), cogrid.make, shadowed):
    try:
        make("Overcooked-CrampedRoom-V0", backend="jax")
    except ValueError as error:
        complaints.append(str(error))
env = cogrid.make("Overcooked-CrampedRoom-V0", backend="numpy")
env.reset(seed=0)
env.step({0: 6, 1: 6})
print(json.dumps(complaints))
"""


def test_jax_is_not_installed() -> None:
    done = run_python(WITHOUT_JAX)
    assert done.returncode == 0, done.stderr
    complaints = json.loads(done.stdout)
    assert len(complaints) == 4
    for text in complaints:
        assert_names(text, "'jax'", "not installed", "[jax]")
        assert re.fullmatch(r"[^\n]*[^\n.]\.", text)


def test_jax_functions_of_a_numpy_environment() -> None:
    env = cogrid.make(ROOM)
    for name in ("jax_step", "jax_reset"):
        assert_names(complaint(lambda name=name: getattr(env, name)), name, "numpy", "backend='jax'")
    assert_names(complaint(lambda: cogrid.rollout(env, key=0)), "rollout", "numpy", "backend='jax'")


# Playing


@functools.cache
def _playing(backend: str) -> tuple[cogrid.CoGridEnv, cogrid.CoGridEnv]:
    return cogrid.make(ROOM, backend=backend), cogrid.make(ROOM, backend=backend)


@pytest.fixture
def unharmed(backend):
    """An environment in the middle of an episode; after the test it must go on exactly like its twin."""
    env, twin = _playing(backend)
    for one in (env, twin):
        one.reset(seed=3)
        for action in (UP, INTERACT, UP):
            one.step({0: action, 1: NOOP})
    yield env
    assert env.get_state() == twin.get_state()
    ours, theirs = (one.step({0: UP, 1: INTERACT}) for one in (env, twin))
    assert ours[1:] == theirs[1:]
    np.testing.assert_array_equal(env.state(), twin.state())
    assert_same(env.env_state, twin.env_state)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("agent", [0, 1])
@pytest.mark.parametrize("action", [-1, 7, 2**31, 10**30, np.int64(9), np.int8(-3)])
def test_action_out_of_range(unharmed, agent, action) -> None:
    text = complaint(lambda: unharmed.step({0: NOOP, 1: NOOP, agent: action}))
    assert_names(text, f"action {action} ", f"agent {agent} ", "out of range", "from 0 to 6")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("agent", [0, 1])
@pytest.mark.parametrize(
    "action",
    [True, np.bool_(False), 1.0, np.float32(2), "up", None, np.array([1]), np.array(1.0), [1], (1,), {}],
    ids=repr,
)
def test_action_that_is_no_integer(unharmed, agent, action) -> None:
    text = complaint(lambda: unharmed.step({0: NOOP, 1: NOOP, agent: action}), TypeError)
    assert_names(text, f"action {action!r} ", f"agent {agent} ", "integer")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("actions", "parts"),
    [
        ({0: NOOP}, ("agent 1", "missing", "[0, 1]")),
        ({1: NOOP}, ("agent 0", "missing", "[0, 1]")),
        ({}, ("agent 0", "missing", "[0, 1]")),
        ({0: NOOP, 1: NOOP, 2: NOOP}, ("agent 2", "[0, 1]")),
        ({0: NOOP, 1: NOOP, "chef": NOOP}, ("agent 'chef'", "[0, 1]")),
        ({0: NOOP, "1": NOOP}, ("agent 1", "missing", "[0, 1]")),
    ],
)
def test_missing_or_unknown_agent(unharmed, actions, parts) -> None:
    assert_names(complaint(lambda: unharmed.step(actions)), *parts)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("actions", [None, 6, [0, 1], np.array([0, 1])], ids=repr)
def test_actions_that_are_no_dict(unharmed, actions) -> None:
    text = complaint(lambda: unharmed.step(actions), ValueError, TypeError)
    assert re.search(r"agent|dict|mapping", text), text


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("seed", "kind", "parts"),
    [
        ("one", TypeError, ("'one'",)),
        (1.5, TypeError, ("1.5",)),
        (2**64, ValueError, (str(2**64), "64 bits")),
    ],
)
def test_bad_seed(unharmed, seed, kind, parts) -> None:
    assert_names(complaint(lambda: unharmed.reset(seed=seed), kind), "seed", *parts)


@pytest.mark.parametrize("backend", BACKENDS)
def test_before_reset(backend) -> None:
    env = cogrid.make(ROOM, backend=backend, render_mode="ansi")
    calls = (
        lambda: env.step({0: NOOP, 1: NOOP}),
        env.state,
        env.get_state,
        env.render,
        lambda: env.env_state,
    )
    for call in calls:
        assert_names(complaint(call), "before reset", "env.reset()")
    assert env.agents == []
    env.reset(seed=0)
    env.step({0: NOOP, 1: NOOP})


@pytest.mark.parametrize("backend", BACKENDS)
def test_step_after_the_end(backend) -> None:
    env = cogrid.make(ROOM, backend=backend, max_steps=2)
    env.reset(seed=0)
    for _ in range(2):
        env.step({0: NOOP, 1: NOOP})
    before = env.get_state()
    for actions in ({0: NOOP, 1: NOOP}, {}):
        assert_names(complaint(lambda actions=actions: env.step(actions)), "over", "env.reset()")
    assert env.get_state() == before
    env.reset()
    env.step({0: NOOP, 1: NOOP})


# The pure functions


def batch_of(env, n):
    reset = env.rules.backend.compiled(env.reset_fn)
    return reset(env.rules.backend.key(rng.split(rng.key(0), n)))[0]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 2), (1, 2)])
def test_wrong_shape_of_actions_for_a_single_state(unharmed, shape) -> None:
    state, actions = unharmed.env_state, np.zeros(shape, np.int32)
    assert_names(complaint(lambda: unharmed.step_fn(state, actions)), "actions", str(shape), "(2,)")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shape", [(2,), (3, 2), (4, 3), (2, 4), (4,)])
def test_wrong_shape_of_actions_for_a_batch(unharmed, shape) -> None:
    state = batch_of(unharmed, 4)
    assert_names(complaint(lambda: unharmed.step_fn(state, np.zeros(shape, np.int32))), str(shape), "(4, 2)")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [np.float32, np.bool_])
def test_wrong_type_of_actions(unharmed, dtype) -> None:
    text = complaint(lambda: unharmed.step_fn(unharmed.env_state, np.zeros(2, dtype)), TypeError)
    assert_names(text, "actions", "integers", np.dtype(dtype).name)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("key", "parts"),
    [
        (np.zeros(2, np.float32), ("float32", "(2,)")),
        (np.zeros(2, np.int32), ("int32", "(2,)")),
        (np.zeros(3, np.uint32), ("uint32", "(3,)")),
        (np.uint32(5), ("uint32", "()")),
        (5, ("int", "()")),
    ],
    ids=repr,
)
def test_wrong_key(unharmed, key, parts) -> None:
    text = complaint(lambda: unharmed.reset_fn(key), TypeError)
    assert_names(text, "key", "cogrid.backend.rng.key(seed)", *parts)


# The vector environment


@functools.cache
def _vectors(backend: str) -> tuple[cogrid.VectorEnv, cogrid.VectorEnv]:
    return cogrid.make_vec(ROOM, 3, backend=backend), cogrid.make_vec(ROOM, 3, backend=backend)


@pytest.fixture
def unharmed_vector(backend):
    """Three environments in the middle of their episodes; after the test they must go on like their twins."""
    vec, twin = _vectors(backend)
    for one in (vec, twin):
        one.reset(seed=3)
        one.step(np.array([[UP, NOOP], [INTERACT, UP], [UP, UP]]))
    yield vec
    ours, theirs = (one.step(np.full((3, 2), UP)) for one in (vec, twin))
    for mine, other in zip(ours[:4], theirs[:4], strict=True):
        np.testing.assert_array_equal(mine, other)
    assert_same(vec.env_state, twin.env_state)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shape", [(), (2,), (2, 2), (3, 3), (2, 3), (3, 2, 1), (1, 3, 2)])
def test_wrong_batch_shape(unharmed_vector, shape) -> None:
    text = complaint(lambda: unharmed_vector.step(np.zeros(shape, np.int32)))
    assert_names(text, f"shape {shape}", "3 environments", "2 agents", "(3, 2)")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("action", [-1, 7, 2**40, 2**32 + UP])
def test_action_out_of_range_in_a_batch(unharmed_vector, action) -> None:
    actions = np.zeros((3, 2), np.int64)
    actions[2, 1] = action
    text = complaint(lambda: unharmed_vector.step(actions))
    assert_names(text, f"action {action} ", "agent 1 ", "environment 2 ", "from 0 to 6")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [np.float32, np.bool_])
def test_batch_of_actions_that_are_no_integers(unharmed_vector, dtype) -> None:
    text = complaint(lambda: unharmed_vector.step(np.zeros((3, 2), dtype)), TypeError)
    assert_names(text, "actions", "integers", np.dtype(dtype).name)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("seed", "kind", "parts"),
    [
        ([1, 2], ValueError, ("2 seeds", "3 environments")),
        ([1, 2, "x"], TypeError, ("'x'",)),
        (1.5, TypeError, ("seed", "1.5")),
    ],
)
def test_bad_seeds_of_a_batch(unharmed_vector, seed, kind, parts) -> None:
    assert_names(complaint(lambda: unharmed_vector.reset(seed=seed), kind), *parts)


@pytest.mark.parametrize("backend", BACKENDS)
def test_vector_before_reset(backend) -> None:
    vec = cogrid.make_vec(ROOM, 3, backend=backend)
    assert_names(complaint(lambda: vec.step(np.zeros((3, 2), np.int32))), "before reset", "reset()")
    assert_names(complaint(lambda: vec.env_state), "before reset", "reset()")


# Snapshots


@pytest.mark.parametrize("backend", BACKENDS)
def test_snapshot_of_another_version(unharmed) -> None:
    snapshot = {**unharmed.get_state(), "version": 99}
    assert_names(complaint(lambda: unharmed.set_state(snapshot)), "version 99", "version 1")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("options", [{"cook_time": 19}, {"max_steps": 399}, {"layout": "CoordinationRing"}])
def test_snapshot_of_another_spec(unharmed, options) -> None:
    other = cogrid.make(ROOM, **options)
    other.reset(seed=0)
    text = complaint(lambda: unharmed.set_state(other.get_state()))
    assert_names(text, "another spec", other.get_state()["spec"], unharmed.get_state()["spec"], "overrides")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("snapshot", [None, 5, "text", [], {}, {"version": 1}], ids=repr)
def test_no_snapshot_at_all(unharmed, snapshot) -> None:
    assert_names(complaint(lambda: unharmed.set_state(snapshot)), "no snapshot", "get_state()")


FIELDS = ("agent_dir", "cells", "done", "held", "pos", "rng_key", "shaping_weight", "time")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("field", FIELDS)
def test_snapshot_that_lacks_a_field(unharmed, field) -> None:
    snapshot = copy.deepcopy(unharmed.get_state())
    assert set(snapshot["state"]) == set(FIELDS)
    del snapshot["state"][field]
    assert_names(complaint(lambda: unharmed.set_state(snapshot)), "snapshot", "damaged", field)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("cells", [999] * 20),
        ("cells", [-1] * 20),
        ("cells", [0] * 20),
        ("cells", [0, 1]),
        ("cells", [[0], [1, 2]]),
        ("pos", [0, 8]),
        ("pos", [8, 8]),
        ("pos", [11, 500]),
        ("pos", [11, 8 + 256]),
        ("pos", [11.5, 8]),
        ("agent_dir", [4, 0]),
        ("agent_dir", [0, 256]),
        ("held", [99, 0]),
        ("held", [-1, 0]),
        ("held", ["onion", 0]),
        ("time", -5),
        ("time", [1, 2]),
        ("time", 2**40),
        ("shaping_weight", 1e308),
        ("done", "no"),
        ("rng_key", [1]),
        ("rng_key", [2**40, 1]),
        ("rng_key", "ab"),
        ("rng_key", [[1, 2], [3, 4]]),
        ("extra", 1),
    ],
)
def test_damaged_snapshot(unharmed, field, value) -> None:
    snapshot = copy.deepcopy(unharmed.get_state())
    snapshot["state"][field] = value
    complaint(lambda: unharmed.set_state(snapshot), ValueError, TypeError)


@pytest.mark.parametrize("backend", BACKENDS)
def test_snapshot_without_its_state(unharmed) -> None:
    snapshot = {**unharmed.get_state(), "state": None}
    assert_names(complaint(lambda: unharmed.set_state(snapshot)), "snapshot")


# Replace


def named(value) -> str:
    """A readable name of a test's parameter: what is replaced; the rest follows from it."""
    if not isinstance(value, dict):
        return ""
    return " ".join(f"{name}={' '.join(str(part).split())}" for name, part in value.items())[:60]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("changes", "kind", "parts"),
    [
        ({"agent_position": [[1, 1], [1, 2]]}, TypeError, ("'agent_position'", "agent_pos", "pot_timer")),
        ({"pot_positions": [[0, 0]]}, TypeError, ("'pot_positions'", "pot_contents")),
        ({"agent_pos": [[0, 0], [1, 2]]}, ValueError, ("agent 0", "row 0, column 0")),
        ({"agent_pos": [[1, 1], [90, 2]]}, ValueError, ("agent 1", "row 90, column 2")),
        ({"agent_pos": [[1, 6], [1, 3]]}, ValueError, ("agent 0", "row 1, column 6")),  # not row 2, column 1
        ({"agent_pos": [[1, -1], [1, 3]]}, ValueError, ("agent 0", "row 1, column -1")),
        ({"agent_pos": [[1, 1], [1, 1]]}, ValueError, ("two agents", "one cell")),
        ({"agent_pos": [[1.5, 1.5], [1, 3]]}, TypeError, ("agent_pos", "integer")),
        ({"agent_pos": [[1, 1, 9], [1, 2, 9]]}, ValueError, ("agent_pos", "(2, 3)", "(2, 2)")),
        ({"agent_dir": [4, 0]}, ValueError, ("agent_dir", "4", "from 0 to 3")),
        ({"agent_dir": [256, 0]}, ValueError, ("agent_dir", "256", "from 0 to 3")),
        ({"agent_dir": [1.5, 0]}, TypeError, ("agent_dir", "integer")),
        ({"agent_dir": [0, 0, 0]}, ValueError, ("agent_dir", "(3,)", "(2,)")),
        ({"agent_inv": [[99], [-1]]}, ValueError, ("agent_inv", "99", "onion")),
        ({"agent_inv": [[3], [-1]]}, ValueError, ("agent_inv", "3", "onion")),  # a pot, which no hand holds
        ({"agent_inv": [["onion"], [-1]]}, TypeError, ("agent_inv",)),
        ({"agent_inv": [[3.5], [-1]]}, TypeError, ("agent_inv",)),
        ({"held": [9, 0]}, ValueError, ("held", "9")),
        ({"time": -3}, ValueError, ("time", "-3")),
        ({"time": 3.7}, TypeError, ("time", "integer")),
        ({"time": [1, 2]}, ValueError, ("time", "(2,)", "()")),
        ({"shaping_weight": 0.5}, ValueError, ("shaping", "shaping=1.0")),
        ({"layout": 1}, ValueError, ("'layout'",)),
        ({"ended": [True, False]}, ValueError, ("'ended'",)),
        ({"rng_key": np.zeros(2, np.float32)}, TypeError, ("key", "float32")),
        ({"rng_key": np.zeros((3, 2), np.uint32)}, ValueError, ("rng_key", "(3, 2)")),
        ({"pot_contents": [[7, 7, 7]], "pot_timer": [-1]}, ValueError, ("pot", "row 0, column 2")),
        ({"pot_contents": [[99, -1, -1]]}, ValueError, ("pot", "row 0, column 2", "99")),
        ({"pot_timer": [5]}, ValueError, ("pot", "row 0, column 2", "5")),
        ({"pot_contents": [[7, 7]]}, ValueError, ("pot_contents", "(1, 2)", "(1, 3)")),
        ({"pot_timer": [-1, -1]}, ValueError, ("pot_timer", "(2,)", "(1,)")),
        ({"object_state_map": np.full((4, 5), 99)}, ValueError, ("99", "row 0, column 0")),
        ({"object_state_map": np.zeros((3, 3), int)}, ValueError, ("object_state_map", "(3, 3)", "(4, 5)")),
        ({"object_type_map": np.zeros((4, 5), int)}, ValueError, ("row 0, column 0", "floor")),
        ({"wall_map": np.zeros((4, 5), int)}, ValueError, ("row 0, column 0",)),
    ],
    ids=named,
)
def test_bad_replacement(unharmed, changes, kind, parts) -> None:
    assert unharmed.type_ids["onion"] == 7
    assert unharmed.type_ids["pot"] == 3
    assert_names(complaint(lambda: unharmed.replace(unharmed.env_state, **changes), kind), *parts)


@pytest.mark.parametrize("backend", BACKENDS)
def test_bad_replacement_in_a_batch(unharmed) -> None:
    state = batch_of(unharmed, 3)
    positions = np.array([[[1, 1], [1, 2]], [[1, 1], [1, 2]], [[1, 1], [0, 2]]])
    assert_names(
        complaint(lambda: unharmed.replace(state, agent_pos=positions)), "agent 1", "row 0, column 2"
    )
    text = complaint(lambda: unharmed.replace(state, agent_dir=np.zeros((2, 2), int)))
    assert_names(text, "agent_dir", "(2, 2)", "(3, 2)")


# Only on JAX

if HAS_JAX:
    import jax

    @pytest.mark.parametrize("backend", ["jax"])
    @pytest.mark.parametrize("impl", ["rbg", "unsafe_rbg"])
    def test_key_of_another_generator(unharmed, impl) -> None:
        key = jax.random.key(0, impl=impl)
        calls = (
            lambda: unharmed.reset_fn(key),
            lambda: jax.jit(unharmed.jax_reset)(key),
            lambda: jax.vmap(unharmed.jax_reset)(jax.random.split(key, 2)),
            lambda: unharmed.replace(unharmed.env_state, rng_key=key),
        )
        for call in calls:
            text = complaint(call, TypeError)
            assert_names(text, f"type {impl} ", "jax.random.key(seed, impl='threefry2x32')")

    def test_typed_jax_key_for_a_numpy_environment() -> None:
        env = cogrid.make(ROOM)
        with pytest.raises(TypeError, match="key"):
            env.reset_fn(jax.random.key(0))

    @pytest.mark.parametrize("backend", ["jax"])
    def test_wrong_shape_of_actions_inside_jit_and_vmap(unharmed) -> None:
        state, actions = unharmed.env_state, np.zeros(3, np.int32)
        assert_names(complaint(lambda: jax.jit(unharmed.jax_step)(state, actions)), "(3,)", "(2,)")
        states = batch_of(unharmed, 4)
        wrong = np.zeros((4, 3), np.int32)
        assert_names(complaint(lambda: jax.vmap(unharmed.jax_step)(states, wrong)), "(3,)", "(2,)")


# Found by the fuzzers: arrays and long values where something else is expected

GRID = np.zeros((2, 2, 3), int)  # its repr has several lines


@pytest.mark.parametrize(
    "call",
    [
        lambda backend, value: cogrid.make(value, backend=backend),
        lambda backend, value: cogrid.make(ROOM, backend=value),
        lambda backend, value: cogrid.make(ROOM, backend=backend, max_steps=value),
        lambda backend, value: cogrid.make(ROOM, backend=backend, soup_value=value),
        lambda backend, value: cogrid.make(ROOM, backend=backend, observation=value),
        lambda backend, value: cogrid.make(ROOM, backend=backend, random_start=value),
        lambda backend, value: cogrid.make(ROOM, backend=backend, cook_start=value),
        lambda backend, value: cogrid.make(ROOM, backend=backend, bonus_orders=value),
        lambda backend, value: cogrid.make(ROOM, backend=backend, bonus_orders=[value]),
        lambda backend, value: cogrid.make(ROOM, backend=backend, recipes=[value]),
        lambda backend, value: cogrid.make(ROOM, backend=backend, render_mode=value),
        lambda backend, value: cogrid.make(ROOM, backend=backend, infos=value),
        lambda backend, value: cogrid.make_vec(ROOM, 2, backend=backend, infos=value),
        lambda backend, value: cogrid.make_vec(ROOM, value, backend=backend),
        lambda backend, value: cogrid.make_vec(ROOM, 2, backend=backend, autoreset=value),
        lambda backend, value: shared(ROOM, backend).reset(seed=value),
    ],
)
@pytest.mark.parametrize("value", [GRID, [0.5, None], {"a": list(range(999))}], ids=["array", "list", "dict"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_strange_value_is_named_on_one_line(backend, value, call) -> None:
    assert len(complaint(lambda: call(backend, value), ValueError, TypeError)) < 600


@pytest.mark.parametrize("soup", [4.5, None, 1, ["onion", 2], ["onion", ["onion"]]])
def test_soups_that_are_no_lists_of_words(soup) -> None:
    assert_names(complaint(lambda: cogrid.make(ROOM, bonus_orders=[soup])), "soup", repr(soup), "onion")


@pytest.mark.parametrize("key", [None, "ó", 2**64, [None, 1], [[1], [1, 2]], b"x", object()])
@pytest.mark.parametrize("backend", BACKENDS)
def test_keys_that_are_nothing_of_the_kind(backend, key) -> None:
    env = shared(ROOM, backend)
    state = env.reset_fn(env.rules.backend.key(rng.key(0)))[0]
    assert "key" in complaint(lambda: env.replace(state, rng_key=key), TypeError)


@pytest.mark.skipif(not HAS_JAX, reason="rollouts run on JAX")
@pytest.mark.parametrize("params", [2**32, "weights", object()])
def test_params_that_jax_cannot_hold(params) -> None:
    env = shared(ROOM, "jax")
    call = functools.partial(cogrid.rollout, env, None, 0, 1, 1, params=params, devices=1)
    assert_names(complaint(call, TypeError), "params", "tree of arrays")
