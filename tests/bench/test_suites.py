"""The cases: what the suites hold, and how they are selected."""

from __future__ import annotations

from bench import suites
from bench.measure.measures import MEASURES
from bench.suites import ALL_MODES, KITCHENS, SWEEP, full, quick, select
from cogrid.benchmarks import chunk_for
from cogrid.benchmarks.case import Case
from tests.support import CLASSIC


def test_the_quick_suite_is_one_kitchen_and_the_toy_in_all_modes_with_a_sweep_and_resets() -> None:
    sweep = [("jax-scan", 100), ("jax-scan", 10_000)]
    kitchen, arena = ([c for c in quick() if c.id == id] for id in ("Overcooked-CrampedRoom-V0", "Arena-V0"))
    assert [(c.mode, c.batch) for c in kitchen if c.measure == "speed"] == [*ALL_MODES, *sweep]
    assert [(c.mode, c.batch) for c in kitchen if c.measure == "reset"] == [
        ("numpy-single", 1),
        ("jax-single", 1),
        ("numpy-batch", 1024),
        ("jax-vmap", 1024),
    ]
    assert [(c.mode, c.batch) for c in arena] == list(ALL_MODES)


def test_the_full_suite_has_every_kitchen_measure_and_size() -> None:
    cases = full()
    assert set(KITCHENS) == set(CLASSIC)
    for id in KITCHENS:
        modes = [(c.mode, c.batch) for c in cases if c.id == id and c.workload == "cooperative"]
        assert modes[: len(ALL_MODES)] == list(ALL_MODES)
    assert {c.measure for c in cases} == {name for name in MEASURES if not name.startswith(("cuda", "run-"))}
    sweep = [c for c in cases if c.mode == "jax-scan" and c.workload == "random" and not c.options]
    assert {(batch, chunk_for(batch)) for batch in SWEEP} <= {(c.batch, c.steps) for c in sweep}
    assert {dict(c.options).get("observation") for c in cases} == {None, "lossless", "window", "none"}
    assert any(dict(c.options).get("num_agents") == 16 for c in cases)


def test_no_two_cases_share_a_name() -> None:
    names = [case.name for case in full()]
    assert len(set(names)) == len(names)


def test_several_batches_and_chunks_make_a_sweep() -> None:
    kitchen = [Case("Overcooked-CounterCircuit-V0", mode, n) for mode, n in ALL_MODES]
    swept = select(kitchen, batches=[100, 1000, 10_000], chunks=[16, 64])
    assert {case.mode for case in swept} == {"jax-scan"}
    assert [(case.batch, case.steps) for case in swept] == [
        (batch, steps) for batch in (100, 1000, 10_000) for steps in (16, 64)
    ]
    batched = select(kitchen, batches=[100, 1000])
    assert {(case.mode, case.batch) for case in batched} == {
        (mode, batch) for mode in ("numpy-batch", "jax-vmap", "jax-scan") for batch in (100, 1000)
    }


def test_selection() -> None:
    cases = full()
    assert {c.id for c in select(cases, layouts=["counter", "ring"])} == {
        "Overcooked-CounterCircuit-V0",
        "Overcooked-CoordinationRing-V0",
    }
    assert {c.backend for c in select(cases, backend="numpy")} == {"numpy"}
    assert all("latency" in c.name for c in select(cases, only="LATENCY"))
    large = select(quick(), batches=[100_000])
    assert {c.batch for c in large} == {100_000}
    assert {c.mode: c.steps for c in large if c.id != "Arena-V0"} == {
        "numpy-batch": 16,
        "jax-vmap": 16,
        "jax-scan": 64,
    }


def test_an_environment_that_the_suite_lacks_is_measured_as_cramped_room_is() -> None:
    quick = suites.quick()
    kitchen = suites.with_layouts(quick, ["countercircuit"])[len(quick) :]
    assert {case.id for case in kitchen} == {"Overcooked-CounterCircuit-V0"}
    assert {case.mode for case in kitchen} == {mode for mode, _ in suites.ALL_MODES}
    full = suites.full()
    assert {case for case in kitchen if case.batch in (1, 1024)} <= set(full)  # the same cases as there
    (forage, *_) = other = suites.with_layouts(full, ["Foraging-10x10-3p-3f"])[len(full) :]
    assert (forage.id, forage.workload, forage.steps) == ("Foraging-10x10-3p-3f-V0", "random", suites.SHORT)
    assert len(other) == len(kitchen)
    short = suites.with_layouts(suites.standard(), ["Goals"])[len(suites.standard()) :]
    assert {case.id for case in short} == {"Goals-V0"}
    assert max(case.steps for case in short) <= 64  # the passes of an A/B
    assert suites.with_layouts(quick, ["Cramped", "Arena"]) == quick


def test_a_name_means_the_classic_kitchens_first() -> None:
    assert suites.matching("Cramped")[0] == suites.CRAMPED
    assert suites.matching("pipeline") == ["OvercookedAI-Pipeline-V0"]
    assert suites.matching("nowhere") == []
