"""Mistakes in layouts."""

from __future__ import annotations

import numpy as np
import pytest

import cogrid
from tests.errors.support import ARENA, ROOM, assert_names, complaint


@pytest.mark.parametrize(
    ("board", "parts"),
    [
        ("XXXXX\nO   P\nXXXX", ("ragged", "row 2", "4 columns", "row 0", "5")),
        ("XXXXX\n\nXXXXX", ("ragged", "row 1", "0 columns")),
        ("XXXXX\nO Q P\nXXXXX", ("'Q'", "row 1, column 2", "# D O P S T X")),
        ("XXXXX\nO 0 P\nXXXXX", ("'0'", "row 1, column 2", "digits from 1")),
        ("XXXXX\nO\t  P\nXXXXX", (r"'\t'", "row 1, column 1")),
        ("XXXXX\nO ٣ P\nXXXXX", ("'٣'", "row 1, column 2")),
        ("XXXXX\nO ² P\nXXXXX", ("'²'", "row 1, column 2")),
        ("XX XX\nO   P\nXXXXX", ("floor", "outer edge", "row 0, column 2", "close the border")),
        ("XXXXX\n    P\nXXXXX", ("floor", "outer edge", "row 1, column 0", "close the border")),
        ("XXXXX\nO    \nXXXXX", ("floor", "outer edge", "row 1, column 4", "close the border")),
        ("XXXXX\nO   1\nXXXXX", ("floor", "outer edge", "row 1, column 4", "close the border")),
        ("XXXXX\nO   P\nXX1XX", ("floor", "outer edge", "row 2, column 2", "close the border")),
        ("XXXXX\nO1 1P\nXXXXX", ("start 1 twice", "row 1, column 1", "row 1, column 3")),
        ("XXXXX\nOX XP\nXXXXX", ("too few spawn cells", "2 agents", "1 floor cell")),
        ("\n\n", ("empty", "row")),
    ],
)
def test_bad_board(board, parts) -> None:
    assert_names(complaint(lambda: cogrid.make(ROOM, layout=board)), "layout", "'own-0'", *parts)


def test_bad_board_in_a_list_is_named_by_its_number() -> None:
    boards = ["CrampedRoom", "XXXXX\nO   P\nXXXXX", "XXXXX\nO ? P\nXXXXX"]
    text = complaint(lambda: cogrid.make(ROOM, layout=boards))
    assert_names(text, "'own-2'", "'?'", "row 1, column 2")


@pytest.mark.parametrize("layout", ["Nowhere", "", ["CrampedRoom", "Nowhere"]])
def test_unknown_layout_name(layout) -> None:
    text = complaint(lambda: cogrid.make(ROOM, layout=layout))
    assert_names(
        text, repr(layout if isinstance(layout, str) else layout[1]), "CounterCircuit", "CrampedRoom"
    )


def test_no_layout() -> None:
    assert_names(complaint(lambda: cogrid.make(ROOM, layout=[])), "layout")
    assert_names(complaint(lambda: cogrid.make(ROOM, layout=None), TypeError), "layout", "None")
    assert_names(complaint(lambda: cogrid.make(ROOM, layout=[5]), TypeError), "layout", "5", "ASCII")


@pytest.mark.parametrize("layout", [np.array([-1, -1]), np.zeros((4, 5), int), b"XXX"], ids=repr)
def test_layout_that_is_no_text(layout) -> None:
    assert_names(complaint(lambda: cogrid.make(ROOM, layout=layout), TypeError), "layout", "ASCII")


def test_board_without_a_place_for_food() -> None:
    board = "######\n#2 1 #\n######"
    text = complaint(lambda: cogrid.make("Foraging-8x8-2p-2f-coop-V0", layout=board, any_board=True))
    assert_names(text, "no cell", "food", "more floor")


def test_pile_of_an_ingredient_that_the_kitchen_does_not_know() -> None:
    board = "XXXXXX\nXSTPOX\nXMC2 X\nXXXXXX"
    text = complaint(lambda: cogrid.make("OvercookedV2-GroundedCoordSimple-V0", layout=board))
    assert_names(text, "mushroom", "ingredients=3", "onion, tomato, carrot", "ingredients=4")


def test_too_few_spawn_cells() -> None:
    assert_names(
        complaint(lambda: cogrid.make(ROOM, num_agents=7)), "'CrampedRoom'", "7 agents", "6 floor cells"
    )
    text = complaint(lambda: cogrid.make(ROOM, layout=["CounterCircuit", "CrampedRoom"], num_agents=7))
    assert_names(text, "'CrampedRoom'")
    assert_names(complaint(lambda: cogrid.make(ARENA, map_size=4, num_agents=5)), "5 agents", "4 floor cells")
