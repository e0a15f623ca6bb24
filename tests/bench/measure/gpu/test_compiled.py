"""Programs compiled for a GPU: the same counters each time, and what is planted in a step is found."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from bench.compare.counters import changes
from bench.exit_codes import NoDevice
from bench.measure.gpu import targets
from bench.measure.gpu.compiled import MEASURES, UNIT, target_of
from bench.measure.gpu.targets import Target
from bench.measure.measures import measure
from bench.measure.plan import Measured, Plan
from bench.suites import CRAMPED, gpu, options
from cogrid._core import step as module
from cogrid.benchmarks.case import Case

try:
    VARIANT = targets.installed()
except NoDevice:
    VARIANT = ""
needs_compiler = pytest.mark.skipif(not VARIANT, reason="needs a compiler for GPUs: nox -s gpu-compile")


def compiled(program: str = "scan", gpu: str = "a100", **overrides: Any) -> Measured:
    seen = options(observation="none", **overrides)
    mode, steps = ("jax-vmap", 1) if program == "step" else ("jax-scan", 16)
    return measure(
        Case(CRAMPED, mode, 1024, steps, measure=f"{VARIANT}-{gpu}-{program}", options=seen), Plan()
    )


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Any], Any]], None]:
    """Make the compiled step do something to its rewards."""
    pure = module.step

    def planted(change: Callable[[Any], Any]) -> None:
        @functools.wraps(pure)
        def step(*arguments: Any, **named: Any) -> Any:
            state, obs, rewards, done, infos = pure(*arguments, **named)
            return state, obs, change(rewards), done, infos

        module.functions.cache_clear()
        monkeypatch.setattr(module, "step", step)

    yield planted
    module.functions.cache_clear()


@needs_compiler
def test_two_runs_count_the_same() -> None:
    import jax

    first = compiled()
    jax.clear_caches()
    again = compiled()
    assert (again.counters, again.samples) == (first.counters, first.samples)
    assert first.unit == UNIT
    assert 0 < first.counters["kernels"] <= 16 * 20
    assert first.counters["registers"] > 8
    for name in ("open_loops", "host_transfers", "wide_values", "collectives", "spill_bytes"):
        assert first.counters[name] == 0, name


@needs_compiler
def test_a_planted_kernel_is_found(plant: Any) -> None:
    import jax.numpy as jnp

    before = compiled().counters
    plant(lambda rewards: rewards + jnp.sort(rewards, axis=0))
    grown = [change.name for change in changes(before, compiled().counters) if change.grew]
    assert "kernels" in grown
    assert "host_transfers" not in grown


@needs_compiler
def test_a_planted_host_transfer_is_found(plant: Any) -> None:
    import jax

    before = compiled("step").counters
    plant(lambda rewards: jax.device_put(rewards, jax.memory.Space.Host) + 1)
    grown = {one.name: one for one in changes(before, compiled("step").counters) if one.grew}
    assert grown["host_transfers"].before == 0


@needs_compiler
def test_a_planted_callback_does_not_compile(plant: Any) -> None:
    """It would need the process of a GPU; the row fails, and with it the gate."""
    import jax

    plant(lambda rewards: (jax.debug.callback(lambda _: None, rewards), rewards)[1])
    with pytest.raises(RuntimeError, match="gpu"):
        compiled("step")


@needs_compiler
def test_eight_gpus_share_a_rollout_without_a_collective() -> None:
    one, eight = compiled("rollout"), compiled("rollout", "a100x8")
    assert eight.counters["collectives"] == 0
    assert eight.counters["bytes"] < one.counters["bytes"] / 4, "each moves the bytes of its own environments"


@needs_compiler
def test_one_kernel_plays_all_steps() -> None:
    loop, kernel = compiled("rollout"), compiled("kernel")
    assert kernel.counters["kernels"] <= 2, "of 16 steps"
    assert kernel.counters["spill_bytes"] == 0
    assert kernel.counters["bytes"] < loop.counters["bytes"] / 10
    assert kernel.counters["loop_instructions"] > 100
    assert "loop_instructions" not in loop.counters


@needs_compiler
def test_an_h100_is_modelled_as_faster() -> None:
    large = Case(CRAMPED, "jax-vmap", 65_536, 1, measure=f"{VARIANT}-a100-step")
    slower, faster = (
        measure(Case(**{**large.__dict__, "measure": f"{VARIANT}-{gpu}-step"}), Plan()).samples[0]
        for gpu in ("a100", "h100")
    )
    assert slower < faster


@pytest.mark.parametrize("name", ["cuda12-a100", "cuda13-h100x8"])
def test_targets_by_name(name: str) -> None:
    assert Target.of(name).name == name
    assert target_of(f"{name}-scan") == name
    assert target_of("speed") is None


@pytest.mark.parametrize("name", ["a100", "cuda11-a100", "cuda12-b200", "cuda12-a100x"])
def test_an_unknown_target_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"'{name}' is no target"):
        Target.of(name)


def test_a_suite_has_every_family_and_at_night_every_id() -> None:
    from cogrid.envs.registry import family_of
    from tests.support import EVERY_ID

    quick, full = gpu("cuda12"), gpu("cuda12", everything=True)
    assert {family_of(case.id) for case in quick} == set(map(family_of, EVERY_ID))
    assert {case.id for case in full} == set(EVERY_ID)
    assert {case.measure for case in full} <= MEASURES.keys()
    assert {target_of(case.measure) for case in quick} == {"cuda12-a100"}
    assert {target_of(case.measure) for case in full} == {
        f"cuda12-{target}" for target in ("a100", "a100x8", "h100", "h100x8")
    }
    assert len(set(quick)) == len(quick)
    assert set(quick) <= set(full)


def test_without_the_wheels_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from bench.__main__ import main

    monkeypatch.setattr(targets, "version_of", lambda name: None)
    assert main(["gpu"]) == 69
    assert capsys.readouterr().err == (
        "bench: there is no compiler for GPUs here: `nox -s gpu-compile` installs one and compiles.\n"
    )


def test_a_plugin_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {"jax-cuda12-pjrt": "0.9.0", "jaxlib": "0.10.2", "nvidia-cuda-nvcc-cu12": "12.9"}
    monkeypatch.setattr(targets, "version_of", versions.get)
    with pytest.raises(NoDevice, match=r"jax-cuda12-pjrt is 0\.9\.0 and jaxlib 0\.10\.2"):
        targets.require("cuda12")
    del versions["nvidia-cuda-nvcc-cu12"]
    with pytest.raises(NoDevice, match="compiling for cuda12 needs nvidia-cuda-nvcc-cu12: "):
        targets.installed()
