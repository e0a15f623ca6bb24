"""The optimum of a small kitchen, where one can see it."""

from __future__ import annotations

import numpy as np
import pytest

import cogrid
from bench.experiments import optimum
from bench.experiments.optimum import FORBIDDEN, best_returns, main, moves

#: One cook who stands between onions, pot, dishes and serving, and only ever turns.
BOOTH = """
    XPX
    O1S
    XDX
"""


def test_one_cook_in_a_booth(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Three onions are 12 steps: turn, take, turn, put. The soup cooks for 20, in which the dish is fetched.

    It is taken in the last of them; a turn and the delivery make 34, and the next soup is no faster.
    """
    env = cogrid.make("Overcooked-CrampedRoom-SingleAgent-V0", layout=BOOTH, max_steps=70)
    best = best_returns(moves(env), 70)
    assert (np.flatnonzero(np.diff(best, prepend=0)) + 1).tolist() == [34, 68]
    assert best[-1] == 40
    monkeypatch.setattr(optimum.cogrid, "make", lambda *_, **__: env)
    main("Booth-V0")
    assert (
        "at most 40 points in 70 steps, with points\nat the earliest in the steps 34, 68\n"
        in capsys.readouterr().out
    )


def test_what_lays_something_down_is_forbidden() -> None:
    """With a counter in the place of the serving nothing can be earned, and nothing laid on it."""
    env = cogrid.make("Overcooked-CrampedRoom-SingleAgent-V0", layout=BOOTH.replace("1S", "1X"))
    found = moves(env)
    assert (found.points == FORBIDDEN).any()
    assert best_returns(found, 70)[-1] == 0
