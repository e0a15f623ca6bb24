"""Shapes become pixels."""

from __future__ import annotations

import numpy as np
import pytest

from cogrid._core.author.look import box, disk, line, pie, placed, polygon, text, turned
from cogrid.render.raster import draw

BLACK = "#000000"


def ink(*look, size=40, width=None):
    """(size, size) how much of each pixel is black."""
    return 1 - draw(look, size, width or size, size)[..., 0] / 255


@pytest.mark.parametrize("size", [7, 40, 200])
def test_areas_are_exact_at_any_size(size) -> None:
    """Coverage is smooth at the edges, so that even small pictures have the right amount of ink."""
    shapes = {
        disk(BLACK, 0.5, 0.5, 0.3): np.pi * 0.09,
        box(BLACK, 0.2, 0.3, 0.9, 0.7): 0.7 * 0.4,
        line(BLACK, 0.2, (0.3, 0.5), (0.7, 0.5)): 0.4 * 0.2 + np.pi * 0.01,
        polygon(BLACK, (0.1, 0.9), (0.9, 0.9), (0.5, 0.1)): 0.32,
        pie(BLACK, 0.5, 0.5, 0.4, 0.25): np.pi * 0.04,
        pie(BLACK, 0.5, 0.5, 0.4, 0.75): np.pi * 0.12,  # not convex
    }
    for shape, area in shapes.items():
        assert ink(shape, size=size).mean() == pytest.approx(area, abs=0.3 / size + 0.002), shape


def test_a_pie_runs_clockwise_from_the_top() -> None:
    quarter = ink(pie(BLACK, 0.5, 0.5, 0.5, 0.25))
    assert quarter[5, 25] == 1
    assert quarter[5, 15] == quarter[35, 25] == 0
    np.testing.assert_array_equal(ink(pie(BLACK, 0.5, 0.5, 0.4, 1.0)), ink(disk(BLACK, 0.5, 0.5, 0.4)))


def test_later_shapes_cover_earlier_ones_as_far_as_they_are_opaque() -> None:
    half = draw((box(BLACK, 0, 0, 1, 1), box("#ffffff80", 0, 0, 1, 0.5)), 10, 10, 10)
    assert half[2, 5].tolist() == [128, 128, 128]
    assert half[7, 5].tolist() == [0, 0, 0]


def test_shapes_may_leave_their_tile() -> None:
    assert ink(disk(BLACK, 1.2, 0.5, 0.3))[20, 39] == 1
    assert not ink(disk(BLACK, 2.0, 0.5, 0.3), disk(BLACK, 0.5, -2.0, 0.3)).any()


def test_looks_are_turned_and_placed() -> None:
    mark = (box(BLACK, 0.6, 0.1, 0.9, 0.2),)
    straight = ink(*mark)
    for quarters in range(4):
        np.testing.assert_allclose(ink(*turned(mark, quarters)), np.rot90(straight, -quarters), atol=0.01)
    small = ink(*placed(mark, 0.25, 0.25, 0.5))
    np.testing.assert_allclose(small[:20, :20], ink(*mark, size=20), atol=0.01)
    assert not small[20:].any()


def test_characters_differ_and_stay_apart() -> None:
    known = "ABCDEFGHIJKLMNOPQRSTUVWXYZ123456789/-+.:!*~=#$%&@_<>^|?"
    pictures = {ink(*text(BLACK, one, 0.5, 0.5, 0.6)).tobytes() for one in known}
    assert len(pictures) == len(known)
    two = ink(*text(BLACK, "HH", 0.5, 0.5, 0.4), size=60)
    assert (np.diff((two.max(axis=0) > 0).astype(int)) == 1).sum() == 2  # a gap between them
