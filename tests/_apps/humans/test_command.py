"""The command `humans`: recordings and replays are checked, and become one dataset for each environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid.__main__ import main
from cogrid.envs import registry
from cogrid.envs.overcooked.policies import ScriptedCooks
from cogrid.replay.recording import Recorder, Replay, record
from tests._apps.humans.recordings import played, write

ROOM = "Overcooked-CrampedRoom-V0"


@pytest.fixture(scope="module")
def columns() -> dict[str, list[Any]]:
    return played(120)


def saved(
    path: Path, steps: int, layout: str = "CrampedRoom", cook_time: int = 20, **metadata: Any
) -> Replay:
    """A replay of scripted cooks, as the page saves one."""
    env = cogrid.make(ROOM, max_steps=steps, layout=layout, cook_time=cook_time)
    recorder, cooks = Recorder(env), ScriptedCooks(env.rules)
    recorder.reset(seed=3)
    while env.agents:
        recorder.step(cooks.act(env.env_state))
    replay = recorder.replay(metadata)
    replay.save(path)
    return replay


def test_a_recording_becomes_replays_and_a_dataset(
    columns: dict[str, list[Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / "a.pickle", columns)
    assert main(["humans", str(file), "--out", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == [ROOM, "1", "120", "0"]
    with np.load(tmp_path / "out" / f"{ROOM}.npz") as data:
        assert (str(data["id"]), str(data["observation"])) == (ROOM, "features")
        assert data["obs"].shape[:2] == data["actions"].shape == data["people"].shape == (120, 2)
        assert data["returns"][0] == data["rewards"].sum() > 0
        assert data["returns"][-1] == data["rewards"][-1]
        assert (data["game"] == 0).all()
        assert data["people"].all()
    (replay,) = (tmp_path / "out" / "replays").iterdir()
    Replay.load(replay).verify("numpy")
    assert main(["humans", str(replay)]) == 0  # what was written can be read again
    assert capsys.readouterr().out.splitlines()[1].split() == [ROOM, "1", "120", "0"]


def test_a_game_that_differs_is_reported_and_left_out(
    columns: dict[str, list[Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / "b.pickle", columns | {"reward": [1.0] * 120})
    assert main(["humans", str(file), "--out", str(tmp_path / "out")]) == 22
    assert "step 0: reward" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()


def test_games_of_the_page_go_the_same_way(
    columns: dict[str, list[Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside a recording of the same kitchen; agent 1 was a script, and is marked as none of the people."""
    (tmp_path / "games").mkdir()
    replay = saved(tmp_path / "games" / "mine.replay.json.gz", 60, people=[0])
    file = write(tmp_path / "a.pickle", columns)
    command = ["humans", str(file), str(tmp_path / "games"), "--out", str(tmp_path / "out")]
    assert main([*command, "--observation", "lossless"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == [ROOM, "2", "180", "0"]
    with np.load(tmp_path / "out" / f"{ROOM}.npz") as data:
        mine = data["game"] == 1
        assert mine.sum() == 60
        np.testing.assert_array_equal(data["actions"][mine], replay.actions)
        np.testing.assert_array_equal(data["obs"][mine], replay.arrays(observation="lossless")["obs"][:-1])
        assert data["people"][mine].tolist() == [[True, False]] * 60
        assert data["people"][~mine].all()


def test_a_replay_that_plays_differently_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.replay.json"
    replay = saved(file, 40)
    tape = replay.tape.translate(str.maketrans("4", "6"))  # nobody interacts
    assert tape != replay.tape
    file.write_text(file.read_text(encoding="utf-8").replace(replay.tape, tape), encoding="utf-8")
    assert main(["humans", str(file), "--out", str(tmp_path / "out")]) == 22
    out = capsys.readouterr().out.splitlines()
    assert out[1].split() == [ROOM, "1", "40", "1"]
    assert "mine.replay.json: the replay differs after step" in out[2]
    assert not (tmp_path / "out").exists()


def test_games_by_other_rules_have_a_dataset_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    board = "XXPXX\nO  2O\nX1  X\nXDXSX"
    wide = board.replace("XXPXX", "XXPXXX").replace("  ", "   ").replace("XDXSX", "XDXSXX")
    saved(tmp_path / "a.replay.json", 10)
    saved(tmp_path / "b.replay.json", 11)
    saved(tmp_path / "c.replay.json", 12, board.replace("O  2O\nX1  X", "O1  O\nX  2X"))  # other starts
    saved(tmp_path / "d.replay.json", 13, cook_time=3)
    saved(tmp_path / "e.replay.json", 14, wide)
    command = ["humans", str(tmp_path), "--observation", "lossless", "--out", str(tmp_path / "out")]
    assert main(command) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert rows[:3] == [[ROOM, "3", "33", "0"], [f"{ROOM}-2", "1", "13", "0"], ["with", "cook_time=3"]]
    assert (rows[3], rows[4][:1]) == ([f"{ROOM}-3", "1", "14", "0"], ["with"])
    steps = {name: np.load(tmp_path / "out" / f"{name}.npz") for name in (ROOM, f"{ROOM}-2", f"{ROOM}-3")}
    assert [len(data["game"]) for data in steps.values()] == [33, 13, 14]
    assert [str(data["id"]) for data in steps.values()] == [ROOM] * 3
    assert str(steps[f"{ROOM}-2"]["options"]) == '{"cook_time": 3}'
    assert [data["obs"].shape[3] for data in steps.values()] == [5, 5, 6]


def test_windows_of_several_sizes(tmp_path: Path) -> None:
    (games := tmp_path / "games").mkdir()
    for size in (3, 5):
        env = cogrid.make(ROOM, observation="window", window=size, max_steps=4)
        record(env, np.zeros((4, 2), int), 0).save(games / f"{size}.replay.json")
    for seen, shapes in (("window", [(4, 2, 3, 3), (4, 2, 5, 5)]), ("lossless", [(8, 2, 4, 5)])):
        out = tmp_path / seen
        assert main(["humans", str(games), "--observation", seen, "--out", str(out)]) == 0
        assert sorted(np.load(file)["obs"].shape[:4] for file in out.glob("*.npz")) == shapes


def test_datasets_of_your_own_world_are_named_without_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_SPECS", dict(registry._SPECS))
    (worlds := tmp_path / "worlds").mkdir()
    own = Path(cogrid.__file__).parents[1] / "examples" / "own_environment.py"
    (worlds / "mine.py").write_text(own.read_text(encoding="utf-8"), encoding="utf-8")
    env = cogrid.make(f"{worlds}/mine.py:SPEC")
    record(env, np.zeros((4, 2), int), 0).save(tmp_path / "a.replay.json")
    assert main(["humans", str(tmp_path / "a.replay.json"), "--out", str(tmp_path / "out")]) == 0
    # Python may have cached the module beside it.
    written = sorted(file.name for file in tmp_path.rglob("*.*") if file.suffix != ".pyc")
    assert written == ["a.replay.json", "mine-SPEC-00.replay.json.gz", "mine-SPEC.npz", "mine.py"]


def test_an_observation_without_a_dataset(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved(tmp_path / "a.replay.json", 10)
    assert main(["humans", str(tmp_path), "--observation", "lossless"]) == 2
    assert "--observation is for the dataset: add --out" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["mine.replay (1).json", "mine.replay(1).json.gz"])
def test_a_second_copy_that_a_browser_saved(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved(tmp_path / name, 10)
    for given in (tmp_path / name, tmp_path):
        assert main(["humans", str(given)]) == 0
        assert capsys.readouterr().out.splitlines()[1].split() == [ROOM, "1", "10", "0"]


def test_a_folder_without_games(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["humans", str(tmp_path)]) == 2
    assert "holds no replays: their names end in .replay.json" in capsys.readouterr().err
