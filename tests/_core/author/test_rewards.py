"""Reward terms written wrongly: names, functions, flags, and halves of pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cogrid.author import BySlot, Price, Replies, Reward, Tally


def nothing(*about: Any) -> float:
    return 0.0


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: Reward("r", 3), r"Reward\.points is 3: give a function"),
    (lambda: Reward("r", None), r"Reward\.points is None: give a function"),
    (lambda: Reward(3, nothing), r"Reward\.name is 3: name the term"),
    (lambda: Reward("r", nothing, supply=1, demand=nothing), r"Reward\.supply is 1: give a function"),
    (lambda: Reward("r", nothing, supply=nothing, demand=1), r"Reward\.demand is 1: give a function"),
    (lambda: Reward("r", nothing, other=1), r"Reward\.other=1 is neither True nor False"),
    (lambda: Reward("r", nothing, hands_at_start="no"), r"Reward\.hands_at_start='no' is neither True nor"),
    (lambda: Reward("r", nothing, demand_at_start=None), r"Reward\.demand_at_start=None is neither True"),
    (lambda: Price("p", 3), r"Price\.points is 3: give a function"),
    (lambda: Price("p", nothing, team="no"), r"Price\.team='no' is neither True nor False"),
    (lambda: Tally("t", 3, nothing, 1), r"Tally\.count is 3: give a function"),
    (lambda: Tally("t", nothing, None, 1), r"Tally\.points is None: give a function"),
    (lambda: Tally("t", nothing, nothing, 1, now="no"), r"Tally\.now='no' is neither True nor False"),
    (lambda: Replies("r", team="no"), r"Replies\.team='no' is neither True nor False"),
    (lambda: Replies(None), r"Replies\.name is None: name the term"),
    (lambda: BySlot("b", "bell", 3), r"BySlot\.points is 3: give a function"),
    (lambda: BySlot("b", "bell", nothing, shaping="no"), r"BySlot\.shaping='no' is neither True nor False"),
]


@pytest.mark.parametrize(("make", "words"), WRONG)
def test_a_field_of_a_wrong_type(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(TypeError, match=f"^{words}"):
        make()


def test_supply_and_demand_go_together() -> None:
    for one, other in (("supply", "demand"), ("demand", "supply")):
        halves: Any = {one: nothing}
        lacks = rf"^Reward\.{one} has no effect without Reward\.{other}: give both or neither"
        with pytest.raises(ValueError, match=lacks):
            Reward("r", nothing, **halves)
    assert Reward("r", nothing, supply=nothing, demand=nothing).name == "r"
