"""Rules that depend on more than their arguments are found by `check_env`."""

from __future__ import annotations

import datetime
import itertools
import random
import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from cogrid.core.game import Game, Outcome
from cogrid.core.spec import Spec
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
    spec = Spec(Impure(source), "abcdefgh\n#1    2#\n########", observation="none")
    with pytest.raises(AssertionError, match=r"Impure\.\w+ (calls|answered the same question in two ways)"):
        check_env(spec, ["numpy"], steps=3)


def test_pure_rules_pass() -> None:
    """The world of all hooks is asked again and again; nothing is found."""
    assert check_env(everything.SPEC, ["numpy"], steps=3) is not None
