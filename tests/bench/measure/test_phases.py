"""Phases: every part is there on both backends, fed with what the step hands to it; no test of speed."""

from __future__ import annotations

import os

import numpy as np
import pytest

from bench.measure import phases
from bench.measure.clock import Sample, Samples
from bench.measure.phases import Parts, feature_parts, numpy_phases, table
from bench.measure.plan import Plan
from cogrid._core.profiling import COMMON
from cogrid.benchmarks.case import Case
from tests._core.phases import test_moving as coins
from tests.bench.support import MEASURED
from tests.episodes import shared
from tests.support import HAS_JAX, NOOP, keys

ROOM, ARENA = "Overcooked-CrampedRoom-V0", "Arena-V0"


@pytest.fixture(autouse=True)
def quick(monkeypatch) -> None:
    """One call is enough to see that a part runs."""

    def once(plan, work, steps):
        assert work.run() is not None
        return Samples([Sample(0.5, 0.0, 0.0, 2.0, 0.0, 0.0)], 0)

    monkeypatch.setattr(Plan, "take", once)
    monkeypatch.setattr(phases, "MIDDLE", 3)
    monkeypatch.setattr(phases, "STEPS", 4)
    monkeypatch.delenv("COGRID_PROFILING", raising=False)


def case(backend, batch, id=ROOM, **options) -> Case:
    """Of one environment where the batch is None."""
    batched = {"numpy": "numpy-batch", "jax": "jax-vmap"}[backend]
    mode = f"{backend}-single" if batch is None else batched
    return Case(id, mode, batch or 1, options=tuple(options.items()))


@pytest.mark.parametrize("id", [ROOM, ARENA])
@pytest.mark.parametrize("batch", [None, 1, 5])
def test_phases_of_numpy(id, batch) -> None:
    parts = numpy_phases(case("numpy", batch, id, max_steps=2))  # the measured game goes on
    assert list(parts.seconds) == list(COMMON)
    assert all(type(seconds) is float and seconds >= 0 for seconds in parts.seconds.values())
    assert parts.total <= 4 * parts.whole  # medians of four steps: only loosely one within the other
    assert "COGRID_PROFILING" not in os.environ


def test_the_variable_is_put_back(monkeypatch) -> None:
    monkeypatch.setenv("COGRID_PROFILING", "0")
    monkeypatch.setattr(phases, "STEPS", 1)
    numpy_phases(case("numpy", None))
    assert os.environ["COGRID_PROFILING"] == "0"


@pytest.mark.parametrize("backend", MEASURED)
@pytest.mark.parametrize("batch", [None, 5])
def test_features(backend, batch) -> None:
    parts = feature_parts(case(backend, batch, observation="lossless"))
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
    as_called = ["interact", "move", "tick", "reward", "finish", "observe"]
    assert list(inputs) == as_called
    assert functions.keys() == inputs.keys() == {*COMMON}
    expected = env.step_fn(state, np.full((3, 2), NOOP))
    np.testing.assert_array_equal(functions["observe"](*inputs["observe"]), expected[1])
    state, changed = functions["reward"](*inputs["reward"])
    np.testing.assert_array_equal(changed["rewards"], expected[2])
    assert changed.keys() == {"rewards"}


@pytest.mark.parametrize("backend", MEASURED)
def test_phases_that_some_games_have(backend) -> None:
    class Coins(Case):
        spec = coins.SPEC.override(max_steps=400)

    mode = {"numpy": "numpy-batch", "jax": "jax-vmap"}[backend]
    parts = {"numpy": numpy_phases, "jax": phases.jax_phases}[backend](Coins("Coins", mode, 2))
    assert set(parts.seconds) == {*COMMON, "enter"}
    assert all(seconds > 0 for seconds in parts.seconds.values())


def test_table() -> None:
    columns = {
        "a kitchen": Parts({"move": 3e-6, "tick": 1e-6}, [5e-6], {"move": 4e-6, "tick": 1e-6}),
        "an old file": Parts({"move": 3e-6, "observe": 3e-6}, [3e-6, 4e-6, 8e-6]),
    }
    header = "median µs mean µs step wall"
    assert [[" ".join(cell.split()) for cell in line] for line in table(columns)] == [
        ["", f"a kitchen {header}", f"an old file {header}"],
        ["move", "3.0 4.0 75% 60%", "3.0 – 50% 75%"],
        ["tick", "1.0 1.0 25% 20%", ""],
        ["observe", "", "3.0 – 50% 75%"],
        ["step", "4.0 5.0 100% 80%", "6.0 – 100% 150%"],
        ["wall", "5.0 5.0 125% 100%", "4.0 5.0 67% 100%"],
    ]


def test_as_many_steps_and_samples_as_asked_for(monkeypatch) -> None:
    seen, real = [], phases._timed_parts

    def noted(turn, timing, *sizes):
        seen.append(sizes)
        return real(turn, timing, *sizes)

    monkeypatch.setattr(phases, "_timed_parts", noted)
    parts = numpy_phases(case("numpy", 5), Plan(3, iterations=31, warmup_iterations=2))
    assert seen == [(7, 3)]
    assert len(parts.wholes) == 3
    assert parts.means.keys() == {*parts.seconds, "wall"}
    numpy_phases(case("numpy", 5), Plan(3, iterations=1))
    assert seen[1] == (3, 3)  # a step for each sample


def test_one_step_is_enough_for_phases_that_only_some_games_have() -> None:
    orders = Case("Overcooked-CrampedMixedKitchen-V0", "numpy-single", measure="profile")
    parts = numpy_phases(orders, Plan(1, iterations=1))
    assert len(parts.seconds) > len(COMMON)


def test_means_and_medians_are_of_the_same_steps() -> None:
    parts = numpy_phases(case("numpy", None))
    assert sum(parts.means[name] for name in parts.seconds) < parts.means["wall"]
    printed = table({"Toy": parts})
    assert printed[-1][1].split()[1] == f"{parts.means['wall'] * 1e6:.1f}"


if HAS_JAX:
    from bench.measure.phases import jax_phases

    @pytest.mark.parametrize("batch", [None, 5])
    def test_phases_of_jax(batch) -> None:
        parts = jax_phases(case("jax", batch))
        assert parts == Parts(dict.fromkeys(COMMON, 0.5), [0.5], dict.fromkeys(COMMON, 0.5))
