"""Behaviour cloning with games of any layout and options."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

import cogrid
from cogrid.__main__ import main
from cogrid.envs.overcooked.policies import ScriptedCooks
from cogrid.policies import policy_file
from cogrid.policies.named import options_of
from cogrid.replay.recording import Recorder
from tests.episodes import ROOT

jax: Any = pytest.importorskip("jax")
ROOM = "Overcooked-CrampedRoom-V0"
LAYOUT = """\
XXPXXX
O 1  O
X  2 X
XDXSXX
"""


@pytest.mark.parametrize("observation", ["features", "window"])
def test_games_of_a_layout_of_your_own_are_cloned(
    observation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    env = cogrid.make(ROOM, layout=LAYOUT, num_agents=2, max_steps=40, cook_time=5)
    recorder, cooks = Recorder(env), ScriptedCooks(env.rules)
    recorder.reset(seed=0)
    while env.agents:
        recorder.step(cooks.act(env.env_state))
    recorder.replay().save(tmp_path / "game.replay.json")
    humans = ["humans", str(tmp_path / "game.replay.json"), "--out", str(tmp_path)]
    assert main([*humans, "--observation", observation]) == 0
    data = tmp_path / f"{ROOM}.npz"
    clone = tmp_path / "clones" / data.name
    small = ["--epochs", "1", "--hidden", "8", "--episodes", "1", "--held-out", "0"]
    monkeypatch.setattr(sys, "argv", ["behaviour_cloning.py", str(data), "--out", str(tmp_path), *small])
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        runpy.run_path(str(ROOT / "examples" / "behaviour_cloning.py"), run_name="__main__")
    assert "self-play" in capsys.readouterr().out
    chosen = options_of(clone, ROOM)
    assert chosen["cook_time"] == 5
    assert policy_file.load(clone).observation == observation
    render = ["render", ROOM, "--policy", str(clone), "--out", str(tmp_path / "a.png")]
    assert main(render) == 0  # with the layout from the file
