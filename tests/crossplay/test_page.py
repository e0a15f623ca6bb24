"""docs/training.md: its tables of cross-play and clones are those of the committed results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cogrid import policy_file, zoo
from tests.support import CLASSIC

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")


def results(id: str) -> tuple[list[str], Any]:
    """The players, and the mean returns (a, b) of their pairs."""
    content = json.loads((ROOT / "bench" / "evidence" / "crossplay" / f"{id.split('-')[1]}.json").read_text())
    assert content["id"] == id
    return content["players"], np.array(content["mean"])


def trained(players: list[str]) -> list[int]:
    return [number for number, name in enumerate(players) if name.removeprefix("zoo-").isdigit()]


def beside(players: list[str], table: Any, one: int, others: list[int]) -> float:
    """The mean over some partners and both seats."""
    return float(np.mean([[table[one, other], table[other, one]] for other in others]))


@pytest.mark.parametrize("id", CLASSIC)
def test_cross_play_of_the_zoo(id: str) -> None:
    players, table = results(id)
    seeds = trained(players)
    among = table[np.ix_(seeds, seeds)]
    same = np.eye(len(seeds), dtype=bool)
    own, cross = among[same].mean(), among[~same].mean()
    partners = [
        np.mean([beside(players, table, players.index(name), [seed]) for seed in seeds])
        for name in ("zoo-clone", "scripted", "random")
    ]
    cells = [own, cross, own - cross, among[~same].min(), *partners]
    row = " | ".join([id.split("-")[1], *(f"{cell:.0f}" for cell in cells)])
    assert f"| {row} |" in PAGE


@pytest.mark.parametrize("id", CLASSIC)
def test_clones(id: str) -> None:
    players, table = results(id)
    clone, scripted = players.index("zoo-clone"), players.index("scripted")
    agreement = policy_file.load(zoo.find(f"{id.rpartition('-')[0]}-clone")).about["accuracy"]
    returns = [
        table[clone, clone],
        beside(players, table, clone, [scripted]),
        beside(players, table, clone, trained(players)),
    ]
    cells = [f"{agreement[name]:.0%}".replace("%", " %") for name in ("seen", "held out")]
    row = " | ".join([id.split("-")[1], *cells, *(f"{cell:.0f}" for cell in returns)])
    assert f"| {row} |" in PAGE


@pytest.mark.parametrize("id", CLASSIC)
def test_heat_maps_are_small(id: str) -> None:
    picture = ROOT / "docs" / "images" / f"crossplay-{id.split('-')[1]}.png"
    assert picture.stat().st_size < 60_000
    assert f"images/{picture.name}" in PAGE
