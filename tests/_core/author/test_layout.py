"""Boards are read once, and their size is limited before anything is compiled."""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid._core.author.layout import MAX_ALL_CELLS, MAX_CELLS, Layout
from cogrid.author import Act, Aim, BySlot, Game, Part, Slot
from cogrid.replay import recording as replay

ROOM = "Overcooked-CrampedRoom-V0"


def board(height: int, width: int, inside: str = " ") -> str:
    """A kitchen with everything in its upper border."""
    middle = "X" + (inside * width)[: width - 2] + "X"
    return "\n".join(
        ["XOPDS".ljust(width, "X"), "X12 ".ljust(width - 1) + "X", *[middle] * (height - 3), "X" * width]
    )


def splits(function: Any) -> int:
    """How often the function splits a text."""
    found = 0

    def count(frame: Any, event: str, called: Any) -> None:
        nonlocal found
        found += event == "c_call" and called.__name__ == "split" and isinstance(called.__self__, str)

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return found


def test_a_board_is_split_once() -> None:
    """It was split once for every cell, which takes time with the square of the cells."""
    layout = Layout("large", board(40, 50))
    assert splits(lambda: layout.check("XOPDS ", " ")) == 1
    assert splits(lambda: (layout.check("XOPDS ", " "), layout.starts, layout.letters, layout.width)) == 0
    assert (layout.height, layout.width, layout.starts) == (40, 50, ((1, 1), (1, 2)))


@pytest.mark.parametrize(("height", "width"), [(400, 400), (181, 182), (3, 20_000), (10_923, 3)])
def test_a_board_too_large(height: int, width: int) -> None:
    text = "\n".join(["X" * width] * height)
    with pytest.raises(
        ValueError, match=rf"'own-0' has {height} × {width} cells.*at most {MAX_CELLS:,} cells"
    ):
        cogrid.make(ROOM, layout=text)


def test_too_many_layouts() -> None:
    small, large = board(4, 5), board(100, 100)
    count = MAX_ALL_CELLS // (100 * 100) + 1
    with pytest.raises(ValueError, match=rf"{count} layouts, padded to 100 × 100 cells.*{MAX_ALL_CELLS:,}"):
        cogrid.make(ROOM, layout=[large, *[small] * (count - 1)])
    assert len(cogrid.make(ROOM, layout=[small] * 300).spec.layout) == 300


@pytest.mark.parametrize(
    ("id", "options"),
    [
        (ROOM, {"layout": board(100, 100, "X ")}),  # counters where things lie
        (ROOM, {"layout": board(100, 100, "P ")}),  # pots, each of which is seen
        ("Arena-V0", {"map_size": 180, "window": 127}),
    ],
)
def test_a_table_too_large(id: str, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"takes [\d,]+ numbers, but at most 33,554,432 fit: use a smal"):
        cogrid.make(id, **options)
    env = cogrid.make(id, observation="lossless", num_agents=2, **options)
    env.reset(seed=0)
    assert env.step({0: 3, 1: 1})[0][0].any()


@dataclasses.dataclass(frozen=True)
class Beam(Game):
    """Maybe an action on agents; and a slot that pays."""

    aim: Aim | None = None

    def parts(self) -> tuple[Part | None, ...]:
        zap = None if self.aim is None else Act("zap", agent=lambda held, other: None, aim=self.aim)
        return zap, Slot("bell", 0)

    def rewards(self) -> tuple[BySlot, ...]:
        return (BySlot("bells", "bell", lambda event, thing: 0.0),)


HALL = "\n".join(["#" * 100, "#12".ljust(99) + "#", *["#".ljust(99) + "#"] * 97, "#" * 100])


@pytest.mark.parametrize(
    ("aim", "text", "most", "words"),
    [
        (
            Aim(90, 9),
            HALL,
            2**25,
            "the table of targets .* × 100 cells .*: use a smaller board or shorter aims",
        ),
        (Aim(), "####\n#12#\n####", 60, "the table of targets .*: use fewer things, items or actions"),
        (None, "####\n#12#\n####", 1, "the term 'bells' .*: let slots be fewer things"),
    ],
)
def test_each_table_has_a_remedy_of_its_own(
    aim: Aim | None, text: str, most: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No other observation makes targets or terms smaller."""
    monkeypatch.setattr("cogrid._core.rules.MAX_TABLE", most)
    with pytest.raises(ValueError, match=f"^{words}"):
        cogrid.CoGridEnv(cogrid.Spec(Beam(aim), text, observation="none"))


def test_a_replay_of_a_board_too_large() -> None:
    env = cogrid.make(ROOM)
    taped = replay.record(env, np.zeros((1, 2), int), 0)
    huge = dataclasses.replace(taped, overrides={"layout": board(400, 400)})
    with pytest.raises(ValueError, match=rf"400 × 400 cells.*{MAX_CELLS:,}"):
        huge.verify()
