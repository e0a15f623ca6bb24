"""What the figures share: which results a panel shows."""

from __future__ import annotations

from bench.show.figures.sweeps import throughput
from tests.bench.show.figures.support import NAME, drawn, line, sweep
from tests.bench.support import result, row


def test_of_two_revisions_the_newer_is_shown() -> None:
    old = result(sweep(one=1), created="2026-01-01T00:00:00+00:00", git={"sha": "a" * 40, "dirty": False})
    figure = drawn(throughput([result(sweep()), old]))
    assert line(figure, NAME)[0] == [1, 1000]
    assert len(figure.axes) == 1


def test_runs_of_one_revision_are_put_together() -> None:
    first = result(sweep(one=1), created="2026-01-01T00:00:00+00:00")
    second = result(sweep()[:1], created="2026-01-02T00:00:00+00:00")
    figure = drawn(throughput([second, first]))
    assert line(figure, NAME) == [[1, 1000], [10, 10], [100, 100], [1000, 1000]]


def test_a_newer_run_without_sweeps_does_not_hide_an_older_one() -> None:
    newer = result([row()], created="2026-12-01T00:00:00+00:00", git=None)
    assert line(drawn(throughput([newer, result(sweep())])), NAME)
