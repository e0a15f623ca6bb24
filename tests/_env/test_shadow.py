"""Shadows: all that both backends give is compared, and a planted fault is found, named and counted."""

from __future__ import annotations

import copy
import dataclasses
import logging
import pickle
from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid._core.phases.ticks import Ticking
from cogrid._core.rules import compile_rules
from cogrid._core.step import functions
from cogrid._env.shadow import Shadow, carried, marks_in
from tests.doors import hall
from tests.support import BACKENDS, HAS_JAX, NOOP, UP, assert_same, keys, plant

ROOM, VARIABLE = "Overcooked-CrampedRoom-V0", "COGRID_SHADOW"
OPTIONS = {"max_steps": 6, "shaping": 1.0, "random_start": True}


@pytest.fixture(autouse=True)
def unset(monkeypatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def makers(backend: str, **options: Any) -> list[Any]:
    return [
        cogrid.make(ROOM, backend, **options),
        cogrid.make_vec(ROOM, 2, backend, **options),
    ]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("value", [None, "", "0"])
def test_off_is_the_very_same_function(monkeypatch, backend, value) -> None:
    if value is not None:
        monkeypatch.setenv(VARIABLE, value)
    env, vec = makers(backend)
    assert env.shadow is vec.shadow is None
    assert env._step is env.rules.backend.compiled(functions(env.rules, False).step)
    assert vec._advance is cogrid.make_vec(ROOM, 3, backend, shadow=False)._advance


@pytest.mark.parametrize("value", ["2", "yes", "true", " 1"])
def test_other_values_are_refused(monkeypatch, value) -> None:
    monkeypatch.setenv(VARIABLE, value)
    with pytest.raises(ValueError, match=f"COGRID_SHADOW='{value}' is unknown: .*\\.$"):
        cogrid.make(ROOM)
    with pytest.raises(ValueError, match=f"COGRID_SHADOW='{value}' is unknown: .*\\.$"):
        cogrid.make_vec(ROOM, 2)
    cogrid.make(ROOM, shadow=False)  # what is said here goes before what is said there
    with pytest.raises(TypeError, match=f"shadow='{value}' is neither True nor False"):
        cogrid.make(ROOM, shadow=value)


@pytest.mark.parametrize(
    ("before", "now", "passed"),
    [(0, 999, False), (999, 1000, True), (1000, 9999, False), (9990, 10_001, True)]
    + [(10_001, 99_999, False), (99_999, 100_000, True), (100_000, 199_999, False), (150_000, 250_000, True)],
)
def test_marks_of_progress(before, now, passed) -> None:
    assert marks_in(before, now) == passed


if HAS_JAX:
    pytestmark = pytest.mark.xdist_group("shadow")
    SPEC = cogrid.make(ROOM, **OPTIONS).spec
    BOTH = ("numpy", "jax")

    # The stateful environment

    @pytest.mark.parametrize("backend", BOTH)
    def test_the_environment(backend) -> None:
        env = cogrid.CoGridEnv(SPEC, backend, shadow=True, infos=True)
        for seed in range(2):
            env.reset(seed=seed)
            while env.agents:
                env.step({0: UP, 1: 4})
        env.set_state(env.get_state())
        report = env.shadow
        assert (report.backend, report.shadow) == (backend, "jax" if backend == "numpy" else "numpy")
        assert (report.comparisons, report.mismatches, report.first) == (2 * 7 + 1, 0, None)
        assert report.ratio > 0
        assert f"{report.comparisons} comparisons, 0 mismatches, time {backend} : " in str(report)
        with pytest.raises(AttributeError):
            report.mismatches = 1

    def test_values_are_those_without_a_shadow() -> None:
        plain, env = (cogrid.CoGridEnv(SPEC, "jax", shadow=shadow, infos=True) for shadow in (False, True))
        np.testing.assert_equal(env.reset(seed=3), plain.reset(seed=3))
        np.testing.assert_equal(env.step({0: UP, 1: UP}), plain.step({0: UP, 1: UP}))
        assert_same(env.env_state, plain.env_state)

    @pytest.mark.parametrize("backend", BOTH)
    def test_a_fault_is_named_and_counted_where_it_happens(monkeypatch, backend) -> None:
        env = cogrid.make(ROOM, backend, shadow=True)
        env.reset(seed=0)
        env.step({0: NOOP, 1: NOOP})
        onion = env.type_ids["onion"]
        env.set_state(env.replace(env.env_state, pot_contents=[[onion] * 3], pot_timer=[7]))
        rules = compile_rules(env.spec, "numpy")
        with monkeypatch.context() as patch:
            plant(patch, rules, Ticking, after=lambda table: np.arange(len(table)))  # nothing cooks on NumPy
            with pytest.warns(
                RuntimeWarning, match="the backends differ: step 2 .*column 2: cells is"
            ) as told:
                env.step({0: NOOP, 1: NOOP})
            env.step({0: NOOP, 1: NOOP})  # a second warning would be an error
        assert len(told) == 1
        env.step({0: NOOP, 1: NOOP})  # each step begins where the backend is: nothing follows from a fault
        report = env.shadow
        assert (report.comparisons, report.mismatches) == (6, 2)
        first = report.first
        assert (first.steps, first.time, first.environment) == (2, 2, None)
        assert (first.difference.field, first.difference.place) == ("cells", ("row 0", "column 2"))
        left, right = ("timer=7", "timer=6") if backend == "numpy" else ("timer=6", "timer=7")
        assert left in first.difference.main
        assert right in first.difference.shadow
        assert str(report).endswith(f"; the first one in {first}.")

    def test_a_fault_of_a_reset(monkeypatch) -> None:
        env = cogrid.make(ROOM, "jax", shadow=True)
        rules = compile_rules(env.spec, "numpy")
        monkeypatch.setattr(rules, "starts", rules.starts[:, ::-1])
        expected = "between steps 0 and 1, agent 0: agent_pos is row 2, column 1 on jax and row 1, column 3"
        with pytest.warns(RuntimeWarning, match=expected):
            env.reset(seed=0)

    def test_a_fault_that_only_the_infos_show(monkeypatch) -> None:
        env = cogrid.make(ROOM, "jax", shadow=True, infos=True)
        rules = compile_rules(env.spec, "numpy")
        env.reset(seed=0)
        nothing = dataclasses.replace(rules.rows, useful=np.zeros_like(rules.rows.useful))
        monkeypatch.setattr(rules, "rows", nothing)  # which the mask reads
        env.set_state(env.replace(env.env_state, agent_pos=[[1, 1], [1, 3]], agent_dir=[2, 3]))
        with pytest.warns(RuntimeWarning, match="agent 0, number 4: infos action_mask is True on jax and F"):
            env.step({0: NOOP, 1: NOOP})

    def test_the_variable_is_read_once(monkeypatch) -> None:
        with monkeypatch.context() as patch:
            patch.setenv(VARIABLE, "1")
            env, vec = makers("numpy")
            off = cogrid.make(ROOM, shadow=False)
        env.reset(seed=0)
        vec.reset(seed=0)
        assert (env.shadow.comparisons, vec.shadow.comparisons, off.shadow) == (1, 2, None)

    def test_copies_and_pickles_count_anew() -> None:
        env = cogrid.make(ROOM, shadow=True)
        env.reset(seed=0)
        for again in (pickle.loads(pickle.dumps(env)), copy.deepcopy(env)):
            assert again.shadow.comparisons == 1  # of the state that was set
            again.step({0: NOOP, 1: NOOP})
            assert (again.shadow.comparisons, env.shadow.comparisons) == (2, 1)

    # Batches; the rest is in test_vector.py and test_rollout.py, where these things are compiled

    def test_agents_that_end_by_themselves() -> None:
        vec = cogrid.VectorEnv(hall("#EE#\n#12#\n####", max_steps=3), 2, "jax", shadow=True)
        vec.reset(seed=0)
        for actions in ([[4, 4], [4, NOOP]], [[NOOP] * 2] * 2, [[NOOP] * 2] * 2):
            vec.step(np.array(actions))
        assert (vec.shadow.comparisons, vec.shadow.mismatches) == (8, 0)

    # Chunks

    T, B = 8, 3

    def recorded(backend: str) -> dict[str, Any]:
        """What a learner keeps of its steps; played by NumPy and handed over as the backend's own."""
        env = cogrid.CoGridEnv(SPEC)
        state, obs = env.reset_fn(keys(1, B))
        kept: dict[str, Any] = {"first": state, "actions": [], "obs": [], "rewards": [], "done": []}
        for actions in np.random.default_rng(0).integers(0, 7, (T, B, 2)):
            kept["actions"].append(actions)
            kept["obs"].append(obs)
            state, obs, rewards, done, _ = env.step_fn(state, actions)
            kept["rewards"].append(rewards)
            kept["done"].append(done)
            state, obs = env.renew_fn(state, obs, done)
        rules = compile_rules(SPEC, backend)
        sides = {"first": carried(rules, kept.pop("first")), "last": carried(rules, state)}
        return {name: np.stack(values) for name, values in kept.items()} | sides

    @pytest.mark.parametrize("backend", BOTH)
    def test_chunks(backend) -> None:
        shadow, played = Shadow(SPEC, backend), recorded(backend)
        assert played["done"].any()
        for _ in range(2):
            shadow.chunk(**played, seconds=0.1)
        assert (shadow.report.comparisons, shadow.report.mismatches) == (2 * T * B, 0)
        assert shadow.report.ratio > 0

    @pytest.mark.parametrize(
        ("name", "index", "told", "compared"),
        [
            ("rewards", (4, 2, 1), "environment 2, agent 1: rewards is ", T * B - 3),
            ("done", (1, 0), "environment 0: done is True on jax and False on numpy", T * B - 6),
            ("obs", (2, 1, 0, 3), "environment 1, agent 0, '.*': obs before it is", T * B - 5),
        ],
    )
    def test_a_fault_in_a_chunk(name, index, told, compared) -> None:
        shadow, played = Shadow(SPEC, "jax"), recorded("jax")
        value = played[name][index]
        played[name][index] = ~value if name == "done" else value + 1
        with pytest.warns(RuntimeWarning, match=rf"step {index[0] + 1} \(.*{told}"):
            shadow.chunk(**played)
        # What follows in the environment is left out, and the next chunk has it again.
        assert (shadow.report.comparisons, shadow.report.mismatches) == (compared, 1)
        shadow.chunk(**recorded("jax"))
        assert (shadow.report.comparisons, shadow.report.mismatches) == (compared + T * B, 1)

    def test_the_state_after_a_chunk() -> None:
        shadow, played = Shadow(SPEC, "jax"), recorded("jax")
        cells = np.array(played["last"].cells)
        cells[1, 7] = 1
        played["last"] = played["last"].evolve(cells=cells)
        with pytest.warns(RuntimeWarning, match=f"step {T} .*environment 1, row 1, column 2: cells is 1 "):
            shadow.chunk(**played)
        assert (shadow.report.comparisons, shadow.report.mismatches) == (T * B, 1)

    @pytest.mark.parametrize("name", ["actions", "obs", "rewards", "done"])
    def test_a_chunk_of_another_shape_is_refused(name) -> None:
        shadow, played = Shadow(SPEC, "jax"), recorded("jax")
        played[name] = played[name][:, 1:]
        with pytest.raises(
            ValueError, match=rf"^{name} has shape \(8, .*8 steps in 3 environments of 2 agents"
        ):
            shadow.chunk(**played)
        assert shadow.report.comparisons == 0

    def test_a_chunk_of_another_environment_is_refused() -> None:
        with pytest.raises(ValueError, match="first is not a state of the environment"):
            Shadow(SPEC.override(max_steps=7), "jax").chunk(**recorded("jax"))

    def test_progress_is_logged(caplog) -> None:
        shadow, played = Shadow(SPEC, "jax"), recorded("jax")
        with caplog.at_level(logging.INFO, "cogrid._env.shadow"):
            for _ in range(1000 // (T * B) + 1):
                shadow.chunk(**played)
        (line,) = caplog.messages
        assert line.startswith("jax shadowed by numpy: 1,002 comparisons, 0 mismatches")
