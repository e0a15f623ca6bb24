"""The committed results: their tapes score what they say, bit for bit on both backends."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cogrid.policies import policy_file, zoo
from cogrid.replay import tapes
from tests.support import BACKENDS, CLASSIC

EVIDENCE = Path(__file__).parents[3] / "bench/evidence/training"

#: The runs beside the classic kitchens, by the id without its version; with a memory or without.
OTHERS = sorted(path.name.removesuffix(".tapes.npz") for path in EVIDENCE.glob("*-*.tapes.npz"))


def zoo_ids() -> set[str]:
    """The environments that the zoo's policies were trained in."""
    return {policy_file.load(zoo.find(name)).id for name in zoo.names()}


def files(id: str) -> tuple[Path, Path]:
    kitchen = id.split("-")[1]
    return EVIDENCE / f"{kitchen}.json", EVIDENCE / f"{kitchen}.tapes.npz"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("id", CLASSIC)
def test_tapes_replay_to_the_scores(id: str, backend: str) -> None:
    results, recorded = json.loads(files(id)[0].read_text(encoding="utf-8")), tapes.load(files(id)[1])
    assert recorded.id == results["options"]["id"] == id
    assert recorded.actions.shape == (results["options"]["seeds"], results["episodes"], 400, 2)
    points = recorded.replay(backend)
    np.testing.assert_array_equal(points, recorded.points, strict=True)
    assert points.mean(axis=1, dtype=np.float64).tolist() == pytest.approx(results["score"]["by_seed"])


@pytest.mark.parametrize(
    "backend", [pytest.param(name, marks=[pytest.mark.slow] * (name == "jax")) for name in BACKENDS]
)
@pytest.mark.parametrize("name", OTHERS)
def test_tapes_of_the_other_runs_replay_to_their_scores(name: str, backend: str) -> None:
    results = json.loads((EVIDENCE / f"{name}.json").read_text(encoding="utf-8"))
    recorded = tapes.load(EVIDENCE / f"{name}.tapes.npz")
    assert recorded.id == results["options"]["id"]
    assert name.startswith(recorded.id.removesuffix("-V0"))
    assert name.endswith("-memory") == bool(results["options"]["memory"])
    assert recorded.actions.shape[:2] == (results["options"]["seeds"], results["episodes"])
    points = recorded.replay(backend)
    np.testing.assert_array_equal(points, recorded.points, strict=True)
    assert points.mean(axis=1, dtype=np.float64).tolist() == pytest.approx(results["score"]["by_seed"])


@pytest.mark.parametrize("id", [*CLASSIC, *sorted(zoo_ids() - set(CLASSIC))])
def test_the_zoo_is_of_the_same_runs(id: str) -> None:
    file = files(id)[0] if id in CLASSIC else EVIDENCE / f"{id.removesuffix('-V0')}.json"
    results = json.loads(file.read_text(encoding="utf-8"))
    options, scores = results["options"], results["score"]["by_seed"]
    assert zoo.names(id)
    for name in zoo.names(id):
        about = policy_file.load(zoo.find(name)).about
        assert about["options"] == options
        assert about["score"] == scores[about["seed"] - options["first_seed"]]
