"""The window, with a tkinter that only takes notes."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid.render import window

ROOM = "Overcooked-CrampedRoom-V0"


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Screen:
    """What stands for the module tkinter."""

    class TclError(Exception):
        pass

    def __init__(self, display: bool = True) -> None:
        self.display, self.shown, self.gone = display, [], False

    def Tk(self) -> Any:
        if not self.display:
            raise self.TclError("no display name")
        return SimpleNamespace(
            title=lambda words: None,
            resizable=lambda *sides: None,
            protocol=lambda *pair: None,
            update=self._update,
            destroy=self._destroy,
        )

    def _update(self) -> None:
        if self.gone:
            raise self.TclError("application has been destroyed")

    def _destroy(self) -> None:
        self.gone = True

    def PhotoImage(self, master: Any, data: bytes, format: str) -> bytes:
        assert format == "PPM"
        return data

    def Label(self, master: Any, borderwidth: int) -> Any:
        return SimpleNamespace(configure=lambda image: self.shown.append(image), pack=lambda: None)


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(window, "time", clock)
    return clock


def human(monkeypatch, screen: Screen | None) -> cogrid.CoGridEnv:
    monkeypatch.setitem(sys.modules, "tkinter", screen)
    return cogrid.make(ROOM, render_mode="human", max_steps=20)


def test_the_window_follows_the_episode(monkeypatch, clock) -> None:
    screen = Screen()
    env = human(monkeypatch, screen)
    env.reset(seed=0)
    for _ in range(5):
        env.step({0: 0, 1: 2})
    assert len(screen.shown) == 6
    assert env.render() is None
    head, pixels = screen.shown[-1].split(b"\n", 1)
    assert head == b"P6 320 296 255"
    assert len(pixels) == 320 * 296 * 3
    assert clock.now - 100 == pytest.approx(6 / env.metadata["render_fps"])
    env.close()
    assert screen.gone


def test_a_closed_window_stays_closed_and_the_game_goes_on(monkeypatch, clock) -> None:
    screen = Screen()
    env = human(monkeypatch, screen)
    env.reset(seed=0)
    screen.gone = True  # by its user
    env.step({0: 0, 1: 2})
    shown = len(screen.shown)
    env.step({0: 0, 1: 2})
    assert len(screen.shown) == shown
    assert int(np.asarray(env.env_state.time)) == 2


def test_what_is_missing_is_reported(monkeypatch) -> None:
    with pytest.raises(ValueError, match=r"tkinter.*rgb_array"):
        human(monkeypatch, None)
    env = human(monkeypatch, Screen(display=False))
    with pytest.raises(ValueError, match=r"no display name.*rgb_array"):
        env.reset(seed=0)
