"""Functions that depend on more than their arguments are refused by `check_env` and `make`."""

from __future__ import annotations

import datetime
import itertools
import random
import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import cogrid
from cogrid.core.features import Faced
from cogrid.core.game import Game, Outcome, Reward
from cogrid.core.spec import Spec
from cogrid.envs import registry
from cogrid.testing import check_env
from tests.core import test_everything as everything

COUNT = itertools.count()
SOURCES = {
    "random": lambda: random.random() < 0.5,
    "randint": lambda: random.randint(0, 1),
    "clock": lambda: time.time() % 2 < 1,
    "date": lambda: datetime.datetime.now().second % 2,
    "numpy": lambda: np.random.default_rng().random() < 0.5,
    "global": lambda: next(COUNT) % 7 == 0,
}


FOUND = r"Impure\w*\.\w+ (calls|returned two different results for the same arguments)"
BOARD = "abcdefgh\n#1    2#\n########"


@dataclass(frozen=True)
class Impure(Game):
    """A switch that listens to the wrong thing."""

    source: str = "random"
    legend: ClassVar[Any] = {
        " ": "floor",
        "#": "wall",
        **{letter: f"switch {letter}" for letter in "abcdefgh"},
    }

    def toggle(self, held: Any, thing: Any) -> Any:
        if not thing.startswith("switch"):
            return None
        return Outcome(held, thing, "on" if SOURCES[self.source]() else "off")


@pytest.mark.parametrize("source", SOURCES)
def test_impure_rules_are_found(source: str) -> None:
    spec = Spec(Impure(source), BOARD, observation="none")
    with pytest.raises(AssertionError, match=FOUND):
        check_env(spec, ["numpy"], steps=3)


@dataclass(frozen=True)
class ImpureReward(Impure):
    """The rules are fine; what they pay is not."""

    def toggle(self, held: Any, thing: Any) -> Any:
        return Outcome(held, thing, "on") if thing.startswith("switch") else None

    def rewards(self) -> tuple[Reward, ...]:
        return (Reward("on", lambda event: 1 + SOURCES[self.source]()),)


@dataclass(frozen=True)
class ImpureFeature(Impure):
    """What agents see is not a function of the board."""

    def toggle(self, held: Any, thing: Any) -> Any:
        return None

    def features(self) -> tuple[Any, ...]:
        return (Faced(("on",), lambda thing: (float(SOURCES[self.source]()) / 2,)),)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("game", [Impure, ImpureReward, ImpureFeature])
def test_make_refuses_impure_worlds(game: type[Impure], source: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(registry, "_SPECS", dict(registry._SPECS))
    cogrid.register(f"{game.__name__}-{source}-V0", Spec(game(source), BOARD))
    with pytest.raises(ValueError, match=FOUND):
        cogrid.make(f"{game.__name__}-{source}-V0")


def test_pure_rules_pass() -> None:
    """The world of all hooks is asked again and again; nothing is found."""
    assert check_env(everything.SPEC, ["numpy"], steps=3) is not None
