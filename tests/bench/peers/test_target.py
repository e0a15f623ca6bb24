"""Targets: their figures, limits and verdicts in words, and the rows of their cases."""

from __future__ import annotations

import math
from typing import Any

import pytest

from bench.peers.target import COGRID, PeerCase, PeerTarget, alone, cells_seen, exponent, ratio
from cogrid.benchmarks.case import Case
from tests.bench.peers.support import BATCH, peer


@pytest.mark.parametrize(
    ("changes", "value", "words"),
    [
        ({}, 4.2, "met"),
        ({}, 4.0, "met"),
        ({}, 5.1, "stretch met"),
        ({}, 3.1, "missed: 3.1× of 4×"),
        ({"at_most": True, "enough": 0.5, "stretch": 0.3}, 0.25, "stretch met"),
        ({"at_most": True, "enough": 0.5, "stretch": 0.3}, 0.4, "met"),
        ({"at_most": True, "enough": 0.5, "stretch": 0.3}, 0.614, "missed: 0.614× of ≤ 0.5×"),
        ({"enough": None, "stretch": 0.5}, 0.4, "stretch missed: 0.4× of 0.5×"),
        ({"enough": None, "stretch": None}, 0.4, "no target"),
        ({"enough": None, "stretch": None, "note": "different work"}, 0.4, "different work"),
        ({"enough": 4 * 2.0**30, "stretch": None, "at_most": True, "unit": "B"}, 2.0**31, "met"),
        (
            {"enough": 4 * 2.0**30, "stretch": None, "at_most": True, "unit": "B"},
            4.5 * 2.0**30,
            "missed: 4.5 GiB of ≤ 4 GiB",
        ),
        ({"enough": None, "stretch": math.inf, "at_most": True, "unit": "B"}, 2.0**40, "stretch met"),
        ({"enough": 300, "stretch": 220, "at_most": True, "unit": "equations"}, 250, "met"),
    ],
)
def test_verdicts_in_words(changes: dict[str, Any], value: float, words: str) -> None:
    fields = {"enough": 4.0, "stretch": 5.0} | changes
    assert PeerTarget("what", "against", (), **fields).verdict(value) == words


def test_goals_in_words() -> None:
    assert PeerTarget("", "", (), enough=4.0, stretch=5.0).goal() == "≥ 4×, stretch ≥ 5×"
    assert PeerTarget("", "", (), enough=300, at_most=True, unit="equations").goal() == "≤ 300"
    assert PeerTarget("", "", (), stretch=math.inf, at_most=True, unit="B").goal() == "stretch: that it runs"


def test_figures_of_a_round() -> None:
    nothing = PeerTarget("", "", ())
    assert ratio(nothing, [12, 4]) == 3
    assert alone(nothing, [12]) == 12


def test_growth_is_an_exponent_of_the_cells_seen() -> None:
    cases = tuple(
        PeerCase(COGRID, "play", Case("Arena-V0", "numpy-batch", 4, options=(("num_agents", n),)))
        for n in (2, 4, 8)
    )
    assert [cells_seen(one.case) for one in cases] == [4 * n * 49 for n in (2, 4, 8)]
    target = PeerTarget("growth", "", cases, figure=exponent)
    assert target.figure(target, [100, 50, 25]) == pytest.approx(1)
    assert target.figure(target, [100, 25, 100 / 16]) == pytest.approx(2)


def test_rows_are_named_by_library_and_by_what_differs_from_the_case() -> None:
    plain, other = (
        PeerCase(peer(), "play", BATCH),
        PeerCase(peer(), "drawn", BATCH, facts={"workload": "drawn"}),
    )
    assert plain.name("cogrid") == BATCH.name
    assert plain.name("peer 1.0") == f"peer 1.0 {BATCH.name}"
    assert other.name("cogrid") == f"drawn {BATCH.name}"
    assert (plain.parameters.workload, other.parameters.workload) == ("cooperative", "drawn")
