"""Worlds of your own, in a file: the smallest works with every command, and scores leave shaping out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid.__main__ import main
from cogrid._apps.play.session import Session
from cogrid._core.author.game import Game
from cogrid.envs import registry

RIGHT, INTERACT, NOOP = 3, 4, 6

# A legend and one rule, nothing else.
SMALLEST = '''
from dataclasses import dataclass
from typing import ClassVar

import cogrid
from cogrid.author import Game, Outcome, Reward


@dataclass(frozen=True)
class Bells(Game):
    """A bell that everybody rings."""

    legend: ClassVar = {" ": "floor", "#": "wall", "b": "bell"}

    def interact(self, held, thing):
        return Outcome(held, thing, "ring", 1.0) if thing == "bell" else None
'''
SHAPED = """
    def rewards(self):
        ring = lambda event: event.verb == "ring"
        return Reward("score", ring), Reward("hint", lambda event: 100 * ring(event), shaping=True)
"""
SPEC = '\n\nSPEC = cogrid.Spec(Bells(), "##b##\\n#1b2#\\n#####", max_steps=20{})\n'


@pytest.fixture
def smallest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The file of the smallest world."""
    monkeypatch.setattr(registry, "_SPECS", dict(registry._SPECS))
    file = tmp_path / "smallest.py"
    file.write_text(SMALLEST + SPEC.format(""), encoding="utf-8")
    return str(file)


@pytest.fixture
def shaped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The file of a world whose spec has a weight for shaping."""
    monkeypatch.setattr(registry, "_SPECS", dict(registry._SPECS))
    file = tmp_path / "shaped.py"
    file.write_text(SMALLEST + SHAPED + SPEC.format(", shaping=1.0"), encoding="utf-8")
    return str(file)


def test_the_smallest_world_works_with_every_command(smallest: str, tmp_path: Path, capsys: Any) -> None:
    for command in (
        ["info", smallest],
        ["check", smallest, "--steps", "20"],
        ["render", smallest, "--out", str(tmp_path / "a.png")],
        ["crossplay", smallest, "--players", "random", "--episodes", "1"],
    ):
        assert main(command) == 0, capsys.readouterr().err
    assert Session(smallest).env.spec.observation == "lossless"


def test_the_usual_observation(smallest: str) -> None:
    """The whole grid for a game without features; a request for features is still an error."""
    env = cogrid.make(smallest)
    obs, _ = env.reset(seed=0)
    assert obs[0].shape == (3, 5, len(env.feature_names))
    assert obs[0][0, 2, env.feature_names.index("bell")] == 1
    assert cogrid.make_vec(smallest, 2, observation="window").reset(seed=0)[0].shape[2:4] == (5, 5)
    with pytest.raises(ValueError, match="Bells has no features: write features"):
        cogrid.make(smallest, observation="features")
    assert cogrid.make("Goals-V0").spec.observation == "features"


def test_scores_leave_shaping_out(shaped: str, tmp_path: Path) -> None:
    """A ring is worth 1, and a hint to a learner of 100 more, which no score may have."""
    env = cogrid.make(shaped)
    env.reset(seed=0)
    env.step({0: RIGHT, 1: NOOP})
    assert env.step({0: INTERACT, 1: NOOP})[1][0] == 101
    session = Session(shaped, people=(0,), partner="random")
    assert session.env.spec.shaping == 0
    assert Session(shaped, overrides={"shaping": 0.5}).env.spec.shaping == 0.5
    assert main(["crossplay", shaped, "--players", "random", "--episodes", "8", "--out", str(tmp_path)]) == 0
    scores = np.array(json.loads((tmp_path / "crossplay.json").read_text(encoding="utf-8"))["mean"])
    assert 0 < scores.max() <= 40  # of twenty steps of two agents


@pytest.mark.parametrize("name", ["max_steps", "observation", "window"])
def test_options_of_every_environment_are_taken(name: str) -> None:
    taken = dataclass(frozen=True)(type("Taken", (Game,), {"__annotations__": {name: int}, name: 3}))
    with pytest.raises(TypeError, match=f"Taken has the option {name!r}, which every environment has"):
        cogrid.Spec(taken(), "####\n#12#\n####")


def test_keywords_of_make_are_taken() -> None:
    taken = dataclass(frozen=True)(type("Taken", (Game,), {"__annotations__": {"pool": int}, "pool": 3}))
    with pytest.raises(ValueError, match="Taken has the option 'pool', which make has: rename it"):
        cogrid.register("Taken-V0", cogrid.Spec(taken(), "####\n#12#\n####"))
