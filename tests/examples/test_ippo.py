"""The learner in one file learns what `python -m cogrid train` learns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support import HAS_JAX

if not HAS_JAX:
    pytest.skip("JAX is not installed", allow_module_level=True)

import jax

from cogrid._apps.train.evaluation import evaluate
from cogrid._apps.train.loop import train
from cogrid._apps.train.options import Options
from cogrid.policies import policy_file
from examples import ippo

SMALL = {"steps": 96, "num_envs": 4, "num_steps": 8, "seeds": 2, "hidden": 8, "epochs": 2, "minibatches": 2}


def test_both_forms_of_the_learner_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same draws, scores and evaluation; weights but for the order in which floats are summed."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        settings, options = ippo.Settings(**SMALL), Options(**SMALL, chunk=1)
        run, scores = ippo.train(settings)
        expected, history = train(options, tmp_path)
        np.testing.assert_allclose(scores, history.scores, rtol=1e-6)
        pairs = zip(jax.tree.leaves(run.network), jax.tree.leaves(expected.network), strict=True)
        for ours, theirs in pairs:
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)
        points = ippo.evaluate(settings, expected.network)
        np.testing.assert_array_equal(points, evaluate(options, expected.network)[0])
        ippo.save(settings, run.network, tmp_path)
    assert "M steps, return" in capsys.readouterr().out
    weight, _ = policy_file.load(tmp_path / "policy-1.npz").layers[0]
    np.testing.assert_array_equal(weight, np.asarray(run.network.actor[0].weight)[1])
