"""Cross-play for docs/training.md: the rows, and that the page has those of the committed results."""

from __future__ import annotations

import numpy as np
import pytest

from bench import ROOT
from bench.experiments.crossplay import KITCHENS, Played, load
from cogrid.policies import zoo

PAGE = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")


def test_rows() -> None:
    table = np.full((4, 4), 10.0)
    table[:2, :2] = [[100, 60], [40, 120]]
    table[0, 2], table[2, 0], table[1, 2], table[2, 1] = 50, 70, 20, 0
    played = Played("CrampedRoom", ["zoo-5", "zoo-6", "scripted", "random"], table)
    assert played.row() == "| CrampedRoom | 110 | 50 | 60 | 40 | 35 | 10 |"


@pytest.mark.parametrize("kitchen", KITCHENS)
def test_the_page_has_what_was_played(kitchen: str) -> None:
    played = load(kitchen)
    names = {name.rpartition("-")[2] for name in zoo.names(f"Overcooked-{kitchen}-V0")}
    assert {name.removeprefix("zoo-") for name in played.players} == {*names, "scripted", "random"}
    assert played.row() in PAGE


@pytest.mark.parametrize("kitchen", KITCHENS)
def test_heat_maps_are_small(kitchen: str) -> None:
    picture = ROOT / "docs" / "images" / f"crossplay-{kitchen}.png"
    assert picture.stat().st_size < 60_000
    assert f"images/{picture.name}" in PAGE
