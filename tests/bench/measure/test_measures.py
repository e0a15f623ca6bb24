"""Measures: each kind gives samples in its unit; a wrong step is caught by the measurement itself."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bench import runner
from bench.measure.measures import measure, named
from bench.measure.plan import Plan
from cogrid.benchmarks import modes
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.modes import Mismatch
from tests.bench.support import MEASURED
from tests.support import HAS_JAX

ROOM = "Overcooked-CrampedRoom-V0"
PLAN = Plan(samples=2, seconds=0.001, warmup=0.0)


@pytest.mark.parametrize("backend", MEASURED)
@pytest.mark.parametrize("kind", ["speed", "latency", "reset", "create", "import"])
def test_samples_are_positive_and_in_their_unit(kind: str, backend: str) -> None:
    count = 1 if kind in ("create", "import") else 2  # those start a process for each
    plan = PLAN._replace(samples=count)
    measured = measure(Case(ROOM, f"{backend}-single", steps=5, measure=kind), plan)
    assert measured.unit == ("steps/s" if kind == "speed" else "s")
    assert len(measured.samples) == (2000 if kind == "latency" else count)
    assert min(measured.samples) > 0
    assert (measured.checksum is not None) == (kind == "speed")


def test_an_unknown_measure_is_refused() -> None:
    with pytest.raises(ValueError, match="measure='taste' is unknown: choose one of speed, latency"):
        named("taste")


def test_numpy_rows_have_counters() -> None:
    single = measure(Case(ROOM, "numpy-single", steps=3), PLAN).counters
    batch = measure(Case(ROOM, "numpy-batch", 20, steps=3), PLAN).counters
    assert 50 < single["operations"] <= batch["operations"] < 1000
    assert single["allocated_bytes"] < batch["allocated_bytes"]


def test_parts_of_a_step() -> None:  # JAX's are tested in test_phases.py
    measured = measure(Case(ROOM, "numpy-single", measure="profile"), PLAN)
    assert list(measured.parts) == ["interact", "move", "tick", "reward", "observe", "finish"]
    measured = measure(Case(ROOM, "numpy-single", measure="features"), PLAN)
    assert "NearestLying" in measured.parts
    assert min(measured.parts.values()) > 0


def test_iterations_are_steps_of_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    play = modes._play

    def counted(step, state, actions):  # type: ignore[no-untyped-def]  # as the one it stands for
        calls.append(len(actions))
        return play(step, state, actions)

    monkeypatch.setattr(modes, "_play", counted)
    plan = PLAN._replace(samples=3, seconds=0.0, iterations=200, warmup_iterations=150)
    case = Case(ROOM, "numpy-batch", 10, 5)
    measured = measure(case, plan)
    dropped = measured.noise["dropped"]
    # the checked pass and the reference, three passes of warm-up, four for each sample
    assert len(calls) == 2 + 3 + 4 * (3 + dropped)


def test_a_wrong_step_is_caught_by_the_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    ready = modes.ready

    def spoilt(case: Case) -> modes.Ready:
        good = ready(case)

        def end(output: object) -> modes.End:
            state, obs, rewards = good.end(output)
            return state, obs, rewards + 1

        return good._replace(end=end)

    monkeypatch.setattr("bench.measure.speed.ready", spoilt)
    with pytest.raises(Mismatch, match="'rewards' of environment 0"):
        measure(Case(ROOM, "numpy-batch", 3, 4), PLAN)


if HAS_JAX:
    import jax

    def test_compilation_is_split_and_uses_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path))
        monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
        row = runner.in_own_process(Case(ROOM, "jax-vmap", 4, measure="compile"), PLAN)
        assert row.error is None
        assert list(row.parts) == ["trace", "lower", "compile"]
        assert min(row.parts.values()) > 0
        assert min(row.samples) <= sum(row.parts.values()) <= 1.5 * max(row.samples)
        assert not list(tmp_path.iterdir())

    def test_compilation_with_a_cache_is_refused(tmp_path: Path) -> None:
        program = (
            "from bench.measure.measures import *\n"
            "measure(Case('Overcooked-CrampedRoom-V0', 'jax-single', measure='compile'), Plan())"
        )
        environment = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, encoding="utf-8"
        )
        assert "start with JAX_ENABLE_COMPILATION_CACHE=0" in done.stderr

    def test_jax_rows_have_counters() -> None:
        counters = measure(Case(ROOM, "jax-scan", 4, 3), PLAN).counters
        assert counters["equations"] > 50
        assert counters["instructions"] > 50

    def retrace() -> object:
        return jax.jit(lambda x: x + 1)(1.0)

    def copy() -> object:
        return jax.device_put(np.zeros(3, np.float32))

    @pytest.mark.parametrize(("planted", "words"), [(retrace, "tracing"), (copy, "transfer")])
    def test_what_does_not_belong_on_the_clock_is_caught_by_the_measurement(
        planted: Callable[[], object], words: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ready = modes.ready

        def spoilt(case: Case) -> modes.Ready:
            good = ready(case)
            return good._replace(work=good.work._replace(run=lambda: (planted(), good.work.run())[1]))

        monkeypatch.setattr("bench.measure.speed.ready", spoilt)
        with pytest.raises(Exception, match=words):
            measure(Case(ROOM, "jax-single", steps=3), PLAN)
