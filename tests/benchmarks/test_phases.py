"""Phases: every part is there on both backends, fed with what the step hands to it; no test of speed."""

from __future__ import annotations

import os

import numpy as np
import pytest

from cogrid.benchmarks import phases
from cogrid.benchmarks.clock import Sample, Samples
from cogrid.benchmarks.phases import Parts, feature_parts, numpy_phases, table
from cogrid.core.profiling import PHASES, SOME
from tests.core import test_moving as coins
from tests.episodes import shared
from tests.support import BACKENDS, HAS_JAX, NOOP, keys

ROOM, ARENA = "Overcooked-CrampedRoom-V0", "Arena-V0"


@pytest.fixture(autouse=True)
def quick(monkeypatch) -> None:
    """One call is enough to see that a part runs."""

    def once(function, *, seconds):
        assert function() is not None
        return Samples([Sample(seconds, 0.0, 0.0, 2.0, 0.0, 0.0)], 0)

    monkeypatch.setattr(phases, "per_call", once)
    monkeypatch.setattr(phases, "MIDDLE", 3)
    monkeypatch.delenv("COGRID_PROFILING", raising=False)


@pytest.mark.parametrize("id", [ROOM, ARENA])
@pytest.mark.parametrize("batch", [None, 1, 5])
def test_phases_of_numpy(id, batch) -> None:
    spec = shared(id, "numpy", max_steps=2).spec  # the measured game goes on
    parts = numpy_phases(spec, batch, steps=4)
    assert list(parts.seconds) == list(PHASES)
    assert all(type(seconds) is float and seconds >= 0 for seconds in parts.seconds.values())
    assert parts.total <= 4 * parts.whole  # medians of four steps: only loosely one within the other
    assert "COGRID_PROFILING" not in os.environ


def test_the_variable_is_put_back(monkeypatch) -> None:
    monkeypatch.setenv("COGRID_PROFILING", "0")
    numpy_phases(shared(ROOM, "numpy").spec, steps=1)
    assert os.environ["COGRID_PROFILING"] == "0"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("batch", [None, 5])
def test_features(backend, batch) -> None:
    spec = shared(ROOM, "numpy", observation="lossless").spec
    parts = feature_parts(spec, backend, batch, seconds=0.5)
    assert parts.seconds == dict.fromkeys(["Agents", "Place", "Faced", "Each", "NearestLying"], 0.5)
    assert parts.whole == 0.5


def test_features_of_one_class_are_numbered() -> None:
    features = shared(ROOM, "numpy").spec.game.features()
    assert phases._labels((features[0], features[1], features[0])) == ["Agents 1", "Place", "Agents 2"]


def test_inputs_are_what_the_step_hands_over() -> None:
    env = shared(ROOM, "numpy")
    state, _ = env.reset_fn(keys(0, 3))
    inputs = phases._inputs(env.rules, state, np.full((3, 2), NOOP))
    functions = phases._functions(env.rules)
    assert list(inputs) == [
        "interact",
        "move",
        "tick",
        "reward",
        "finish",
        "observe",
    ]  # as the step calls them
    assert functions.keys() == (PHASES | SOME).keys()  # of which a kitchen has the first
    expected = env.step_fn(state, np.full((3, 2), NOOP))
    seen, rewards = functions["observe"](*inputs["observe"]), functions["reward"](*inputs["reward"])
    np.testing.assert_array_equal(seen, expected[1])
    np.testing.assert_array_equal(rewards, expected[2])


@pytest.mark.parametrize("backend", BACKENDS)
def test_phases_that_some_games_have(backend) -> None:
    spec = coins.SPEC.override(max_steps=400)
    parts = numpy_phases(spec, 2, steps=4) if backend == "numpy" else phases.jax_phases(spec, 2, seconds=1.0)
    assert set(parts.seconds) == {*PHASES, "draw", "enter"}
    assert all(seconds > 0 for seconds in parts.seconds.values())


def test_table() -> None:
    columns = {
        "numpy": Parts({"move": 2e-6, "tick": 1e-6}, [4e-6]),
        "jax": Parts({"move": 3e-6, "observe": 3e-6}, [3e-6, 4e-6, 9e-6]),
    }
    assert table(columns) == [
        ["", "numpy", "jax"],
        ["move", "2.0 µs  50%", "3.0 µs  75%"],
        ["tick", "1.0 µs  25%", ""],
        ["observe", "", "3.0 µs  75%"],
        ["sum", "3.0 µs  75%", "6.0 µs 150%"],
        ["whole", "4.0 µs 100%", "4.0 µs 100%"],
    ]


if HAS_JAX:
    from cogrid.benchmarks.phases import jax_phases

    @pytest.mark.parametrize("batch", [None, 5])
    def test_phases_of_jax(batch) -> None:
        parts = jax_phases(shared(ROOM, "numpy").spec, batch, seconds=0.5)
        assert parts == Parts(dict.fromkeys(PHASES, 0.5), [0.5])
