"""Cross-play: pairs, seats and figures, and that a pair plays as it would alone."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import cogrid
from cogrid.__main__ import main
from cogrid.backend import rng
from cogrid.envs.overcooked.policies import ScriptedCooks
from cogrid.policies import policy_file
from cogrid.policies.pairs import CrossPlay, crossplay
from cogrid.policies.policy_file import PolicyFile

ROOM = "Overcooked-CrampedRoom-V0"


def constant(path: Path, action: int, **options: int) -> str:
    """A policy that always takes one action."""
    env = cogrid.make(ROOM, **options)
    bias = np.where(np.arange(7) == action, 50, 0)
    layers = [(np.zeros((len(env.feature_names), 7), np.float32), bias.astype(np.float32))]
    policy_file.save(path, PolicyFile(ROOM, "features", layers, {"score": 0, "options": {"set": options}}))
    return str(path)


def test_scripted_cooks_score_in_a_batch_what_they_score_alone() -> None:
    env = cogrid.make(ROOM, max_steps=80)
    result = crossplay(env, {"scripted": "scripted"}, episodes=2, seed=5)
    alone = []
    for seed in (5, 6):
        cooks, total = ScriptedCooks(env.rules, seed=seed - 5), 0.0
        env.reset(seed=seed)
        while env.agents:
            total += env.step(cooks.act(env.env_state))[1][0]
        alone.append(total)
    assert min(alone) > 0
    assert result.points.tolist() == [[alone]]


def test_who_sits_where(tmp_path: Path) -> None:
    """The first player is agent 0: only then does the one that walks left get out of the other's way."""
    env = cogrid.make(ROOM, max_steps=5)
    left, up = (constant(tmp_path / f"{action}.npz", action) for action in (2, 0))
    seen = []

    def watched(state, actions):
        seen.append(actions)
        return functional(state, actions)

    functional = env.step_fn
    env._functions = env._functions._replace(step=watched)
    crossplay(env, {"left": left, "up": up}, episodes=2)
    assert seen[0].tolist() == [[2, 2]] * 2 + [[2, 0]] * 2 + [[0, 2]] * 2 + [[0, 0]] * 2


def test_the_same_seed_plays_the_same_games() -> None:
    env = cogrid.make(ROOM, max_steps=40, random_start=True)
    players = {"a": "random", "b": "scripted"}
    first, again, other = (crossplay(env, players, 3, seed).points for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert rng.seed(1) != rng.seed(2)
    assert other.shape == (2, 2, 3)


def test_the_result_names_its_environment(tmp_path: Path) -> None:
    result = crossplay(cogrid.make(ROOM, cook_time=3, max_steps=2), {"a": "random"}, episodes=1)
    assert (result.id, result.options) == (ROOM, {"cook_time": 3, "max_steps": 2})
    result.save(tmp_path)
    content = json.loads((tmp_path / "crossplay.json").read_text(encoding="utf-8"))
    assert (content["id"], content["options"]) == (ROOM, {"cook_time": 3, "max_steps": 2})


def test_figures() -> None:
    points = np.array([[[9.0, 11.0], [2.0, 4.0]], [[6.0, 6.0], [20.0, 20.0]]])
    result = CrossPlay("world", ("a", "b"), points)
    found = result.figures()
    assert found == {"self-play": 15.0, "cross-play": 4.5, "gap": 10.5, "worst pair": ["a", "b", 3.0]}
    assert "worst pair: a with b: 3.0" in result.text()
    assert result.text().splitlines()[0].endswith("the row is agent 0, that of the column all others")
    assert "-0" not in CrossPlay("world", ("a",), np.full((1, 1, 2), -0.04)).text().splitlines()[2]
    assert CrossPlay("world", ("a",), points[:1, :1]).figures() == {"self-play": 10.0}


def test_the_command_writes_table_and_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = constant(tmp_path / "still.npz", 6)
    players = ["random", f"still={file}"]
    assert main(["crossplay", ROOM, "--players", *players, "--episodes", "2", "--out", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert "self-play: 0.0" in out
    assert "step 400 of 400" in err
    content = json.loads((tmp_path / "crossplay.json").read_text(encoding="utf-8"))
    assert content["players"] == ["random", "still"]
    assert np.shape(content["mean"]) == np.shape(content["deviation"]) == (2, 2)
    assert (content["id"], content["episodes"]) == (ROOM, 2)


def test_the_command_takes_options_of_the_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ["crossplay", ROOM, "--players", "random", "--episodes", "1", "--out", str(tmp_path)]
    assert main([*run, "--set", "max_steps=7", "--set", "cook_time=5"]) == 0
    assert "step 7 of 7" in capsys.readouterr().err
    content = json.loads((tmp_path / "crossplay.json").read_text(encoding="utf-8"))
    assert content["options"] == {"max_steps": 7, "cook_time": 5}
    assert main([*run, "--set", "cook_tim=5"]) == 2
    assert "cook_time" in capsys.readouterr().err


def test_a_policy_of_other_options_says_which(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = constant(tmp_path / "policy-0.npz", 6, num_agents=3)
    run = ["crossplay", ROOM, "--players", f"best={tmp_path}", "--episodes", "1"]
    assert main(run) == 2
    assert f"{file} was trained in {ROOM} with num_agents=3, which has" in capsys.readouterr().err
    assert main([*run, "--set", "num_agents=3"]) == 0


def test_a_player_trained_in_another_game_is_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [tmp_path / name for name in ("fast", "usual")]
    for run, options in zip(runs, ({"cook_time": 5}, {}), strict=True):
        run.mkdir()
        constant(run / "policy-4.npz", 6, **options)
    fast, usual = map(str, runs)
    command = ["crossplay", ROOM, "--players", fast, f"greedy:{usual}", "random", "--episodes", "1"]
    assert main([*command, "--out", str(tmp_path)]) == 0
    notes = capsys.readouterr().err
    assert f"The best policy in {fast} is policy-4.npz.\n" in notes
    assert f"{fast} was trained with cook_time=5; add --set cook_time=5\n" in notes
    assert f"{usual} was trained" not in notes
    assert json.loads((tmp_path / "crossplay.json").read_text(encoding="utf-8"))["policies"] == [
        {"policy": fast, "file": "policy-4.npz", "id": ROOM, "options": {"cook_time": 5}},
        {"policy": f"greedy:{usual}", "file": "policy-4.npz", "id": ROOM, "options": {}},
        {"policy": "random"},
    ]
    assert main([*command, "--set", "cook_time=5", "--set", "max_steps=9"]) == 0
    notes = capsys.readouterr().err
    assert f"{usual} was trained with cook_time=20, not cook_time=5.\n" in notes
    assert f"{fast} was trained" not in notes


def test_the_zoo_plays_under_short_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("3", "4"):
        constant(tmp_path / f"Overcooked-CrampedRoom-{name}.npz", 6)
    constant(tmp_path / "Overcooked-CounterCircuit-3.npz", 6)
    monkeypatch.setattr("cogrid.policies.zoo.FOLDER", tmp_path)
    assert main(["crossplay", ROOM, "--players", "zoo", "random", "--episodes", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["zoo-3", "zoo-4", "random"]
    assert main(["crossplay", ROOM, "--players", "greedy:zoo", "a=greedy:zoo", "--episodes", "1"]) == 2
    assert "'greedy:zoo' is neither a policy" in capsys.readouterr().err
    assert main(["crossplay", "Foraging-8x8-2p-3f-V0", "--players", "zoo"]) == 2
    assert "the zoo has no policies for Foraging-8x8-2p-3f-V0" in capsys.readouterr().err


def test_greedy_players_have_names_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "runs").mkdir()
    file = constant(tmp_path / "runs" / "still.npz", 6)
    players = [file, f"greedy:{file}", f"mine=greedy:{file}"]
    assert main(["crossplay", ROOM, "--players", *players, "--episodes", "1"]) == 0
    names = ["runs/still", "greedy:runs/still", "mine"]
    assert capsys.readouterr().out.splitlines()[1].split() == names


def test_a_file_may_have_an_equals_sign_in_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder := tmp_path / "lr=0.1").mkdir()
    file = constant(folder / "still.npz", 6)
    players = [file, f"greedy:{file}", f"mine={file}", f"lr=1=greedy:{file}", "a=b=random"]
    assert main(["crossplay", ROOM, "--players", *players, "--episodes", "1"]) == 0
    names = ["lr=0.1/still", "greedy:lr=0.1/still", "mine", "lr=1", "a=b"]
    assert capsys.readouterr().out.splitlines()[1].split() == names


def test_a_greedy_player_plays_one_game_from_one_start() -> None:
    """It draws nothing, so that its games differ by their starts alone."""
    env = cogrid.make(ROOM, max_steps=60)
    name = "Overcooked-CrampedRoom-5"
    points = crossplay(env, {"draws": name, "greedy": f"greedy:{name}"}, episodes=3).points
    assert points[1, 1].min() == points[1, 1].max() > 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--players", "clever"), "'clever' is neither a policy nor a policy file"),
        (("--players", "random", "random"), "two players are called 'random': write NAME=POLICY"),
        (("--players", "random", "--episodes", "0"), "1 player and 0 episodes make 0 games, but"),
        (
            ("--players", "a=random", "b=random", "--episodes", "65536"),
            "make 262144 games, but",
        ),
    ],
)
def test_mistakes(arguments: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.suppress(SystemExit):  # the parser's way to end
        assert main(["crossplay", ROOM, *arguments]) == 2
    assert sentence in capsys.readouterr().err


def test_one_agent_alone_has_no_partner() -> None:
    with pytest.raises(ValueError, match="at least two agents"):
        crossplay(cogrid.make(ROOM, num_agents=1), {"a": "random"})


def test_odd_names_of_players(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["crossplay", ROOM, "--episodes", "1", "--out", str(tmp_path)]
    assert main([*options, "--players", r"a$\foo$=random"]) == 0
    assert (tmp_path / "crossplay.json").is_file()
    assert main([*options, "--players", "a\udcff=random"]) == 2
    assert "a player cannot be called" in capsys.readouterr().err
    assert main([*options, "--players", "."]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_the_heat_map_has_room_for_long_names(tmp_path: Path) -> None:
    """Else its layout gives up, with a warning, and cuts off the labels."""
    pytest.importorskip("matplotlib")
    names = ("greedy:Overcooked-CrampedRoom-with-a-long-name-1", "scripted")
    CrossPlay(ROOM, names, np.full((2, 2, 1), -0.3)).save(tmp_path)
    with Image.open(tmp_path / "crossplay.png") as image:
        pixels = np.asarray(image.convert("L"))
    for edge in (pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]):
        assert (edge == 255).all()
