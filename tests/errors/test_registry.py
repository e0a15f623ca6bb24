"""Mistakes when an environment is made or registered: ids, keywords, backends, and JAX that is not there."""

from __future__ import annotations

import functools
import json
import re

import numpy as np
import pytest

import cogrid
from tests.episodes import run_python, shared
from tests.errors.support import ARENA, ROOM, assert_names, complaint
from tests.support import BACKENDS, HAS_JAX

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


@pytest.mark.parametrize("make", [cogrid.make, functools.partial(cogrid.make_vec, num_envs=2)])
def test_unknown_id_with_close_matches(make) -> None:
    text = complaint(lambda: make("Overcooked-CrampedRoom-V9"))
    assert_names(text, "'Overcooked-CrampedRoom-V9'", "did you mean", f"'{ROOM}'")
    assert ARENA not in text


@pytest.mark.parametrize("given", ["Overcooked", "overcooked-"])
def test_ids_that_begin_with_what_was_given_come_first(given) -> None:
    close = [id for id in cogrid.registered() if id.startswith("Overcooked-")][:3]
    text = complaint(lambda: cogrid.make(given))
    assert_names(text, f"did you mean {' or '.join(map(repr, close))}?")


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


@pytest.mark.parametrize("num_envs", [0, -1, 2.5, True, None, "4"])
def test_bad_num_envs(num_envs) -> None:
    text = complaint(lambda: cogrid.make_vec(ROOM, num_envs), ValueError, TypeError)
    assert_names(text, f"num_envs={num_envs!r}", "at least 1")


@pytest.mark.parametrize("autoreset", ["never", None, "same_step"])
def test_bad_autoreset(autoreset) -> None:
    text = complaint(lambda: cogrid.make_vec(ROOM, 2, autoreset=autoreset))
    assert_names(text, f"autoreset={autoreset!r}", "'same-step'", "'next-step'")


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
        lambda backend, value: cogrid.make(ROOM, backend=backend, shadow=value),
        lambda backend, value: cogrid.make(ROOM, backend=backend, layout=value),
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


# The registry


def test_duplicate_registration() -> None:
    before, spec = cogrid.registered(), cogrid.make(ARENA).spec
    assert_names(
        complaint(lambda: cogrid.register(ROOM, spec)), repr(ROOM), "already registered", "another id"
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


@pytest.mark.skipif(not HAS_JAX, reason="rollouts run on JAX")
@pytest.mark.parametrize("params", [2**32, "weights", object()])
def test_params_that_jax_cannot_hold(params) -> None:
    env = shared(ROOM, "jax")
    call = functools.partial(cogrid.rollout, env, None, 0, 1, 1, params=params, devices=1)
    assert_names(complaint(call, TypeError), "params", "tree of arrays")


@pytest.mark.parametrize("make", [cogrid.make, functools.partial(cogrid.make_vec, num_envs=2)])
@pytest.mark.parametrize("id", [ROOM, "Overcooked-Generated-V0", "Goals-V0", "SearchRescue-Office-V0"])
def test_a_window_that_nobody_would_see(make, id: str) -> None:
    assert_names(complaint(lambda: make(id, window=5)), "window=5", "observation='window'", id, "'features'")
    assert make(id, window=5, observation="window").spec.window == 5
    make(id, window=5, observation="lossless")  # who tries one kind after the other names both


def test_a_window_of_an_environment_that_has_one() -> None:
    assert cogrid.make(ARENA, window=5).observation_space(0).shape[:2] == (5, 5)
