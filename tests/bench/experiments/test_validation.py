"""Validation: what it plays, what it prints, and 22 for a planted fault."""

from __future__ import annotations

import argparse
import itertools
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from bench.commands.validate import size_of
from bench.exit_codes import Code, UsageError
from bench.experiments import validation
from bench.experiments.validation import BACKENDS, PlannedRun, planned, scenes
from bench.experiments.validation_files import Validation, ValidationLog
from bench.measure import training
from bench.storage import results
from cogrid._core.compile.spec import OBSERVATIONS
from cogrid._core.rules import compile_rules
from cogrid._core.state.difference import Difference
from cogrid._env.shadow import ShadowMismatch, ShadowReport
from cogrid.envs.registry import spec_of
from cogrid.vector import AUTORESETS
from tests.support import EVERY_ID, HAS_JAX

ARENA = "Arena-V0"


@pytest.fixture
def trainable(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if all that training needs were installed; what is played here trains nothing."""
    monkeypatch.setattr(validation, "version_of", lambda name: "1.0")
    monkeypatch.setattr(training, "missing", list)


def fake(comparisons: int = 10, wrong: bool = False, ratio: float | None = 2.0) -> ShadowReport:
    difference = Difference("cells", ("row 0", "column 2"), "3", "4")
    first = ShadowMismatch(7, 5, 1, difference, ("numpy", "jax")) if wrong else None
    return ShadowReport("numpy", "jax", comparisons, int(wrong), first, ratio)


def test_everything_is_played_in_a_soak() -> None:
    runs = list(planned(validation.SIZES["soak"], everything=True))
    kitchens = {
        (id, kind) for id in EVERY_ID if id != ARENA for kind in ("features", "lossless", "window", "none")
    }
    assert set(scenes(everything=True)) == kitchens | {
        (ARENA, kind) for kind in ("lossless", "window", "none")
    }
    played = Counter(run.path.split()[0] for run in runs)
    assert played == dict.fromkeys(("make", "make_vec"), len(kitchens) + 3) | {"rollout": 2, "training": 2}


def test_a_soak_mixes_observations_backends_and_resets() -> None:
    """All of their combinations would compile for hours: every kind and every id meets every way to run."""
    found = scenes(everything=True)
    stage, batches = validation.taking_turns(found)
    assert [scene for scene, _ in stage] == [scene for scene, _, _ in batches] == found
    ways = set(itertools.product(BACKENDS, AUTORESETS))
    for kind in OBSERVATIONS:
        assert {(backend, mode) for (_, one), backend, mode in batches if one == kind} == ways
    for id in set(EVERY_ID) - {ARENA}:
        assert {(backend, mode) for (one, _), backend, mode in batches if one == id} == ways
    both = zip(stage, batches, strict=True)
    assert all({alone, batched} == set(BACKENDS) for (_, alone), (_, batched, _) in both)


def test_a_smoke_run_is_short_and_has_every_game_and_every_kind() -> None:
    """Compiling takes seconds for each scene and path, so their number is what a run from nothing takes."""
    found = scenes(everything=False)
    assert {kind for _, kind in found} == set(OBSERVATIONS)
    games = [type(spec_of(id, {}, ()).game) for id, _ in found]
    assert set(games) == {type(spec_of(id, {}, ()).game) for id in EVERY_ID}
    assert len(games) == len(set(games)) == 11
    runs = Counter(run.path for run in planned(validation.SIZES["smoke"], everything=False))
    assert runs == {
        "make": 2 * 11,
        "make_vec same-step": 2 * 6,
        "make_vec next-step": 2 * 5,
        "rollout": 2,
        "training": 2,
    }


@pytest.mark.parametrize("size", [1, 20_000, 250_000])
def test_the_parts_add_up_to_what_was_asked_for(
    size: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("single", "vector", "rolled", "trained"):
        monkeypatch.setattr(validation, name, lambda *arguments: fake(arguments[-1]))
    with ValidationLog(tmp_path / "log") as log:
        found = validation.play_all(list(planned(size, everything=size > 20_000)), log)
    assert sum(one.report.comparisons for one in found) >= size


def test_the_table_and_progress(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    played = [
        PlannedRun("make", "A", lambda: fake(900)),
        PlannedRun("make", "B", lambda: fake(200, ratio=8.0)),
    ]
    runs = [*played, PlannedRun("training", "C", lambda: fake(9, ratio=None))]
    with ValidationLog(tmp_path / "log") as log:
        found = validation.play_all(runs, log)
    assert capsys.readouterr().err.startswith("validate: 1,100 comparisons, 0 mismatches, ")
    lines = [line.split() for line in validation.table(found).splitlines()]
    assert ["make", "numpy", "jax", "2", "1,100", "0", "1", ":", "4"] in lines
    assert ["training", "numpy", "jax", "1", "9", "0", "–"] in lines
    assert lines[-1] == ["1,109", "comparisons,", "0", "mismatches."]


@pytest.mark.usefixtures("trainable")
@pytest.mark.parametrize("wrong", [False, True])
def test_exit_codes(wrong: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(
        validation,
        "planned",
        lambda size, everything: iter([PlannedRun("make", "A none", lambda: fake(size, wrong))]),
    )
    monkeypatch.chdir(results.RESULTS)
    assert validation.run(7) == (Code.MISMATCH if wrong else Code.FINE)
    out, err = capsys.readouterr()
    assert "results are in validate/validate_" in err
    place = "step 7 (5 of its episode), environment 1, row 0, column 2: cells is 3 on numpy and 4 on jax."
    assert (out.splitlines()[-1] == f"make of A none on numpy: {place}") == wrong
    assert f"7 comparisons, {int(wrong)} mismatches." in out
    (file,) = (results.RESULTS / "validate").glob("validate_*.json")
    kept = results.decoded(file.read_bytes(), Validation, "it")
    assert (kept.wanted, kept.comparisons, kept.mismatches) == (7, 7, int(wrong))
    (scene,) = kept.played
    assert (scene.path, scene.scene, scene.comparisons) == ("make", "A none", 7)
    assert (scene.first or "").endswith(place.removesuffix(".")) == wrong
    log = file.with_suffix(".log").read_text(encoding="utf-8")
    assert f"make of A none on numpy: 7 comparisons, {int(wrong)} mismatches" in log
    assert (place in log) == wrong


@pytest.mark.usefixtures("trainable")
@pytest.mark.parametrize(
    ("wrong", "ends", "code"),
    [
        (False, ValueError("five"), Code.FAILED),
        (True, ValueError("five"), Code.MISMATCH),
        (False, KeyboardInterrupt(), Code.INTERRUPTED),
        (True, KeyboardInterrupt(), Code.MISMATCH),
    ],
)
@pytest.mark.parametrize("compared", [False, True])
def test_what_ends_a_run_hides_nothing(
    wrong: bool,
    ends: BaseException,
    code: Code,
    compared: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The fault is seen in the run that ends early, or in the one before it."""

    def play() -> ShadowReport:
        if not compared:
            raise ends
        with validation.reported(lambda: fake(3, wrong)):
            raise ends
        raise AssertionError

    played = [PlannedRun("make", "A", lambda: fake(5, wrong and not compared)), PlannedRun("make", "B", play)]
    played.append(PlannedRun("make", "C", lambda: fake(7)))
    monkeypatch.setattr(validation, "planned", lambda size, everything: iter(played))
    assert validation.run(1) == code
    out, err = capsys.readouterr()
    assert out.endswith(f"make of B ended early: {ends!r}.\n")
    total = 5 + 3 * compared + 7 * isinstance(ends, ValueError)  # Ctrl-C leaves the rest
    assert f"{total} comparisons, {int(wrong)} mismatches." in out
    assert ("ValueError: five" in err) == isinstance(ends, ValueError)


def test_what_training_needs_is_asked_for_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "version_of", lambda name: None)
    monkeypatch.setattr(training, "missing", lambda: ["optax"])
    with pytest.raises(UsageError, match="jax, optax cannot be found: pip install"):
        validation.run(1)


@pytest.mark.parametrize("size", ["0", "-3", "much", "1.5"])
def test_a_size_that_is_none(size: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="smoke nor soak nor a number of 1 or more"):
        size_of(size)


def test_sizes() -> None:
    assert [size_of(text) for text in ("smoke", "soak", "7", "1_000", "1e4")] == [
        20_000,
        250_000,
        7,
        1000,
        10_000,
    ]


if HAS_JAX:

    @pytest.mark.usefixtures("trainable")
    @pytest.mark.xdist_group("shadow")
    def test_a_planted_fault_is_found_and_named(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        play = partial(validation.single, ARENA, "none", "numpy", 3)
        assert play().mismatches == 0
        options = {"observation": "none", "random_start": True, "max_steps": 120}
        rules = compile_rules(spec_of(ARENA, options, ()), "numpy")
        boards = rules.boards.copy()
        boards[0, 0] = 0  # NumPy's wall has a gap
        monkeypatch.setattr(rules, "boards", boards)
        monkeypatch.setattr(
            validation, "planned", lambda size, everything: iter([PlannedRun("make", "it", play)])
        )
        with pytest.warns(RuntimeWarning, match="the backends differ"):
            assert validation.run(1) == Code.MISMATCH
        out, err = capsys.readouterr()
        named = "make of it on numpy: between steps 0 and 1, row 0, column 0: cells is 0 (floor) on numpy"
        assert named in out
        assert named in err
