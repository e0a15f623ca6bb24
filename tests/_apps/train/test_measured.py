"""Training as a case of the benchmarks: measured as it comes, checked against NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from tests.support import HAS_JAX

if not HAS_JAX:
    pytest.skip("JAX is not installed", allow_module_level=True)

import jax

from bench.compare.findings import environment_share
from bench.experiments import validation
from bench.measure import training
from bench.measure.measures import measure
from bench.measure.plan import Measured, Plan
from bench.processes.checkout_worker import _checked
from cogrid._apps.train import options
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.clock import Pass
from cogrid.benchmarks.modes import Mismatch
from tests.bench.support import row

CASE = Case("Overcooked-CrampedRoom-V0", "jax-scan", 2, 4, measure="train")


@pytest.fixture(autouse=True)
def _as_users_have_it() -> Iterator[None]:
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


@pytest.fixture(scope="module")
def update() -> training.Update:
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        return training.ready(CASE)


def test_training_is_measured_with_the_environments_share(
    update: training.Update, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "ready", lambda case: update)
    plan = Plan(samples=2, seconds=0.0, warmup=0.0)
    measured: Measured = measure(CASE, plan)
    assert len(measured.samples) == 2
    assert measured.counters == update.counters
    assert measured.parts["environment"] > 0
    trained = row(**CASE.parameters(), parts={"update": 0.5, "environment": 0.02})
    assert environment_share(trained) == "environment 4.0 % of the time"


def test_validation_trains_under_a_shadow(monkeypatch: pytest.MonkeyPatch) -> None:
    small = partial(options.Options, num_envs=2, num_steps=4, hidden=4, epochs=1, minibatches=1)
    monkeypatch.setattr(options, "Options", small)
    report = validation.trained("Overcooked-CrampedRoom-V0", "features", 1)
    assert (report.backend, report.comparisons, report.mismatches) == ("jax", 5 * 2 * 4, 0)


def test_both_sides_of_an_ab_are_checked_and_counted(update: training.Update) -> None:
    assert _checked(CASE, update) == {"checksum": None, "counters": update.counters}


def test_an_update_that_numpy_plays_otherwise_is_a_mismatch(update: training.Update) -> None:
    run = update.work.once()
    wrong = run._replace(state=run.state.evolve(pos=run.state.pos[:, ::-1]))
    with (
        pytest.warns(RuntimeWarning, match="the backends differ"),
        pytest.raises(Mismatch, match=r"environment 0, .* on jax and .* on numpy"),
    ):
        training.check(CASE, update._replace(work=Pass(lambda: wrong)))
