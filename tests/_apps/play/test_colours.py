"""The colours of the page and of the agents: contrast in both themes, and for people who are colour-blind."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

from cogrid._apps.play import server
from cogrid._core.author.look import AGENTS, INK

#: Machado, Oliveira and Fernandes (2009), severity 1: linear RGB as it is seen.
SEEN = {
    "normal": np.eye(3),
    "protanopia": np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]),
    "deuteranopia": np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
    "tritanopia": np.array([[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]]),
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
#: What stands on what, and the least contrast that WCAG 2.2 asks for: 7 (AAA) and 4.5 for words, 3 for marks.
CONTRASTS = [
    *(("ink", "paper", 7.0), ("ink", "card", 7.0), ("soft", "paper", 4.5), ("soft", "card", 4.5)),
    *(("on-accent", "accent", 4.5), ("accent", "card", 3.0), ("accent", "paper", 3.0)),
    *(("warn", "paper", 4.5), ("warm", "line", 2.5)),  # how full the bar is, is also written above it
]


def linear(colour: str) -> np.ndarray:
    """#rrggbb as linear RGB."""
    part = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """The ratio of luminances, as WCAG defines it."""
    low, high = sorted(float(XYZ[1] @ linear(colour)) + 0.05 for colour in (one, other))
    return high / low


def distance(one: str, other: str, seen: np.ndarray) -> float:
    """CIE 1976 ΔE: about 2.3 is just noticeable."""

    def lab(colour: str) -> np.ndarray:
        ratio = XYZ @ np.clip(seen @ linear(colour), 0, 1) / XYZ.sum(axis=1)
        x, y, z = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
        return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])

    return float(np.linalg.norm(lab(one) - lab(other)))


def themes() -> dict[str, dict[str, str]]:
    text = Path(server.__file__).with_name("page").joinpath("themes.css").read_text(encoding="utf-8")
    light, dark = (dict(re.findall(r"--([\w-]+): (#\w{6});", part)) for part in text.split("@media"))
    return {"light": light, "dark": dark}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_and_marks_stand_out(theme: str) -> None:
    colours = themes()[theme]
    assert colours.keys() == themes()["light"].keys()
    poor = [(a, b) for a, b, least in CONTRASTS if contrast(colours[a], colours[b]) < least]
    assert not poor


@pytest.mark.parametrize("sight", SEEN)
def test_agents_can_be_told_apart(sight: str) -> None:
    pairs = {pair: distance(*pair, SEEN[sight]) for pair in itertools.combinations(AGENTS, 2)}
    assert min(pairs.values()) > 15, min(pairs, key=lambda pair: pairs[pair])
    assert all(distance(colour, INK, SEEN[sight]) > 15 for colour in AGENTS)  # of their outlines


def test_distances_are_those_of_the_books() -> None:
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)
    red, green = "#c00000", "#607000"
    assert distance(red, green, SEEN["deuteranopia"]) < distance(red, green, SEEN["normal"]) / 3
