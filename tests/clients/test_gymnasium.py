"""Gymnasium's vector wrappers that need further packages: films and windows."""

from __future__ import annotations

from pathlib import Path

import pytest
from gymnasium.wrappers import vector as wrappers

pytest.importorskip("moviepy")
pytest.importorskip("pygame")

import cogrid
from cogrid.adapters.gymnasium import AgentVectorEnv
from tests.clients.support import run_section


def agents(mode: str) -> AgentVectorEnv:
    return AgentVectorEnv(
        cogrid.make_vec("Overcooked-CrampedRoom-V0", 2, max_steps=6, autoreset=mode, render_mode="rgb_array")
    )


@pytest.mark.parametrize("mode", ["same-step", "next-step"])
def test_record_video(mode, tmp_path: Path) -> None:
    env = wrappers.RecordVideo(agents(mode), str(tmp_path / "films"), episode_trigger=lambda k: k == 0)
    env.reset(seed=0)
    for _ in range(10):
        env.step(env.action_space.sample())
    env.close()
    (film,) = (tmp_path / "films").iterdir()
    assert film.suffix == ".mp4"
    assert film.stat().st_size > 1000


def test_human_rendering(monkeypatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = wrappers.HumanRendering(agents("same-step"), screen_size=(320, 296))
    env.reset(seed=0)
    env.step(env.action_space.sample())
    assert env.window.get_size() == (320, 296)
    env.close()


def test_the_page(tmp_path: Path) -> None:
    assert "episodes ended, mean return" in run_section("Gymnasium", tmp_path)
    assert [path.suffix for path in (tmp_path / "videos").iterdir()] == [".mp4"]
