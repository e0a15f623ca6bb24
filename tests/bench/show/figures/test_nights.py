"""The picture of a history: points, levels and changes."""

from __future__ import annotations

from bench.compare.nights import series
from bench.show.figures.nights import nights
from tests.bench.compare.test_nights import night, stepped


def test_points_levels_and_the_change() -> None:
    figure = nights(series(stepped(25)))
    (axis,) = figure.axes
    guide, points, first, second, change = axis.lines
    assert len(points.get_xdata()) == 40
    assert list(first.get_xdata()) == [0, 24]
    assert list(second.get_xdata()) == [25, 39]
    assert set(change.get_xdata()) == {24.5}
    assert set(guide.get_ydata()) == {0}


def test_machines_share_the_panel_of_a_case() -> None:
    figure = nights(series([night(0, 1.0), night(1, 1.0), night(2, 1.0, cpu="Intel Xeon")]))
    (axis,) = figure.axes
    assert len(axis.get_legend().get_texts()) == 2
