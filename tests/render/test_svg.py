"""Looks as SVG; that it looks like the pictures is seen in the browser's tests."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np

from cogrid._core.author.look import box, disk, line, polygon
from cogrid.render.svg import svg
from cogrid.render.tiles import look_of, views_of
from tests.render.scenes import kitchen


def test_every_form() -> None:
    assert svg((disk("#112233", 0.5, 0.25, 0.1),)) == '<circle cx="0.5" cy="0.25" r="0.1" fill="#112233"/>'
    assert svg((line("#11223380", 0.1, (0, 0), (1, 0.5)),)) == (
        '<path d="M0 0L1 0.5" fill="none" stroke="#112233" stroke-width="0.1" opacity="0.502"/>'
    )
    assert svg((polygon("#112233", (0, 0), (1, 0), (1, 1)),)) == '<path d="M0 0L1 0L1 1z" fill="#112233"/>'
    assert 'stroke-width="0.2"' in svg((box("#112233", 0, 0, 1, 1, radius=0.1),))


def test_every_view_is_well_formed() -> None:
    env, state = kitchen()
    for view in np.unique(views_of(env.rules, state)).tolist():
        look = look_of(env.rules, view)
        elements = ElementTree.fromstring(f"<g>{svg(look)}</g>")
        assert len(elements) == len(look)
        assert {element.tag for element in elements} <= {"circle", "path"}
