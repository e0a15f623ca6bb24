"""The command line: every command, and mistakes in one sentence."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname, urlopen

import numpy as np
import pytest
from PIL import Image

from cogrid.__main__ import main
from cogrid._apps.play.server import Server
from cogrid._apps.play.session import Session
from cogrid.envs import registry
from cogrid.envs.registry import make
from cogrid.policies import policy_file
from cogrid.policies.policy_file import PolicyFile
from cogrid.replay.recording import Recorder, record
from tests._apps.play.support import frozen_page
from tests.episodes import ROOT, shared
from tests.support import EVERY_ID, IDS, posix, with_dev_full

ROOM = "Overcooked-CrampedRoom-V0"


def test_alone_it_prints_its_help(capsys) -> None:
    assert main([]) == 0
    told = capsys.readouterr()
    assert "usage: python -m cogrid" in told.out
    assert "print every environment id" in told.out
    assert told.err == ""


def test_list_has_every_id(capsys) -> None:
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sorted(line.split()[0] for line in lines if line.startswith("  ")) == list(EVERY_ID)
    families = [line for line in lines if not line.startswith("  ")]
    folders = (ROOT / "cogrid/envs").glob("*/specs.py")
    assert families == sorted(file.parent.name for file in folders)
    commons = lines[lines.index("commons") + 1 : lines.index("foraging")]
    assert [line.split()[0] for line in commons] == [
        "CleanUp-V0",
        "CommonsHarvest-Closed-V0",
        "CommonsHarvest-Open-V0",
    ]
    assert "4 × 5 cells, 2 agents, 400 steps" in next(line for line in lines if "CrampedRoom" in line)


@pytest.mark.parametrize("id", IDS)
def test_info_tells_what_it_is_like(id, capsys) -> None:
    assert main(["info", id]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"{id}: ")
    how = registry.spec_of(id, {}).how_to_play
    for words in (f"how to play  {how}", "actions      0 up, 1 down", "observation  ", "max_steps"):
        assert words in told
    if id.startswith("Overcooked-CrampedRoom"):
        assert "    XXPXX\n    O  2O\n" in told
        assert "D dish_pile" in told
        assert "deliver" in told
        assert "cook_time" in told


@pytest.mark.parametrize(
    ("id", "parts"),
    [
        (ROOM, "none"),
        ("CleanUp-V0", "Act zap, Hands, Away, Act clean, Near, OneCell"),
        ("Goals-V0", "3 × Placed, Ends"),
    ],
)
def test_info_lists_the_parts(id, parts, capsys) -> None:
    assert main(["info", id]) == 0
    (row,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("parts")]
    assert row.split(maxsplit=1)[1] == parts


def test_render_writes_films_and_pictures(tmp_path, capsys) -> None:
    gif, png = str(tmp_path / "a.gif"), str(tmp_path / "a.png")
    assert main(["render", ROOM, "--out", gif, "--steps", "6", "--tile", "8"]) == 0
    with Image.open(gif) as image:
        assert image.n_frames == 7
    assert "7 pictures of 40 × 43 pixels" in capsys.readouterr().out
    assert (
        main(["render", "Arena-V0", "--out", png, "--batch", "4", "--tile", "4", "--policy", "random"]) == 0
    )
    with Image.open(png) as image:
        assert image.size == (2 * 48 + 8, 2 * 59 + 8)
    assert "a picture of" in capsys.readouterr().out


def test_a_world_of_ones_own_goes_by_its_file(monkeypatch, tmp_path, capsys) -> None:
    own, served = str(ROOT / "examples/own_environment.py"), []

    async def run(server, ready) -> None:
        server._socket.close()
        served.append(server.session)

    monkeypatch.setattr(Server, "run", run)
    assert main(["info", own]) == 0
    assert capsys.readouterr().out.startswith(f"{own}: ")
    assert main(["render", f"{own}:SPEC", "--out", str(tmp_path / "a.png")]) == 0
    assert main(["crossplay", own, "--players", "random", "--episodes", "1"]) == 0
    assert main(["play", own, "--no-open", "--set", "growth=9"]) == 0
    assert served[0].id == own
    assert served[0].env.spec.game.growth == 9


def test_replays_of_a_world_of_your_own(monkeypatch, tmp_path, capsys) -> None:
    """What a file names is not imported; what the user names is."""
    monkeypatch.setattr(registry, "_SPECS", dict(registry._SPECS))
    own = tmp_path / "another_world.py"
    own.write_text((ROOT / "examples/own_environment.py").read_text(encoding="utf-8"), encoding="utf-8")
    env = Recorder(make(str(own)))
    env.reset(seed=0)
    env.step({0: 3, 1: 6})
    file, png = str(tmp_path / "a.replay.json.gz"), str(tmp_path / "a.png")
    env.replay().save(file)
    del registry._SPECS[str(own)]
    assert main(["render", file, "--out", png]) == 2
    assert f"{file} was recorded in '{own}': add --world {own}\n" in capsys.readouterr().err
    assert main(["humans", file]) == 2
    assert "this command can only replay registered ids" in capsys.readouterr().err
    served = []

    async def run(server, ready) -> None:
        server._socket.close()
        served.append(server.session.id)

    monkeypatch.setattr(Server, "run", run)
    for command in (["render", "--out", png], ["play", "--no-open"]):
        assert main([*command, file, "--world", str(own)]) == 0
        del registry._SPECS[str(own)]
    assert served == [str(own)]
    assert main(["render", ROOM, "--out", png, "--world", str(own)]) == 2
    assert "is not a replay: leave --world out" in capsys.readouterr().err
    known = Recorder(make(ROOM))
    known.reset(seed=0)
    known.step({0: 3, 1: 6})
    known.replay().save(file)
    assert main(["render", file, "--out", png, "--world", str(own)]) == 2
    assert f"is of {ROOM}, which needs no --world: leave it out" in capsys.readouterr().err


def test_the_id_in_a_replay_is_never_imported(monkeypatch, tmp_path, capsys) -> None:
    """Not even after --world has registered it."""
    monkeypatch.setattr(registry, "_SPECS", dict(registry._SPECS))
    safe, foreign = tmp_path / "safe.py", tmp_path / "foreign.py"
    safe.write_text((ROOT / "examples/own_environment.py").read_text(encoding="utf-8"), encoding="utf-8")
    foreign.write_text("raise SystemExit('imported')", encoding="utf-8")
    recorder = Recorder(make(str(safe)))
    recorder.reset(seed=0)
    recorder.step({0: 3, 1: 6})
    file = tmp_path / "a.replay.json"
    file.write_text(recorder.replay().text().replace("safe.py", "foreign.py"), encoding="utf-8")
    served = []

    async def run(server, ready) -> None:
        server._socket.close()
        server.session.do({"do": "choose"})
        served.append(server.session.id)

    monkeypatch.setattr(Server, "run", run)
    assert main(["play", str(file), "--world", str(safe), "--no-open"]) == 0
    assert served == [str(foreign)]


def test_check_tells_what_came_into_play(capsys) -> None:
    assert main(["check", "Goals-V0", "--steps", "40"]) == 0
    out = capsys.readouterr().out
    assert "rule enter: " in out
    assert "Goals-V0 passed every check." in out
    assert "Never happened" not in out


def test_numbers_may_have_an_exponent(capsys) -> None:
    assert main(["check", "Goals-V0", "--steps", "1e1"]) == 0
    assert "passed every check" in capsys.readouterr().out


def test_check_names_the_verbs_that_never_happened(capsys) -> None:
    assert main(["check", "Goals-V0", "--steps", "1"]) == 0
    told = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("Never happened"))
    assert told.startswith("Never happened in 1 step of random play: ")
    assert told.endswith(". Try more --steps.")
    assert "reach" in told


def test_check_names_the_promise_that_is_broken(tmp_path, capsys) -> None:
    own = (ROOT / "examples/own_environment.py").read_text(encoding="utf-8")
    file = tmp_path / "impure_world.py"
    rule = "    def tick(self, thing):\n"
    assert rule in own
    file.write_text(own.replace(rule, f"{rule}        import random; random.random()\n"), encoding="utf-8")
    assert main(["check", str(file)]) == 2
    assert "calls Random.random" in capsys.readouterr().err


def test_options_of_the_environment(tmp_path, capsys) -> None:
    assert main(["info", ROOM, "--set", "cook_time=5", "--set", "observation=lossless"]) == 0
    out = capsys.readouterr().out
    assert "cook_time=5" in out
    assert "lossless: (4, 5, 26)" in out
    png = str(tmp_path / "a.png")
    assert main(["render", ROOM, "--out", png, "--set", "layout=CounterCircuit", "--tile", "8"]) == 0
    with Image.open(png) as image:
        assert image.size[0] == 8 * 8
    assert main(["info", ROOM, "--set", "cook_tim=5"]) == 2
    assert "cook_time" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["info", ROOM, "--set", "cook_time"])
    assert "is not of the form NAME=VALUE" in capsys.readouterr().err


def trained(path: Path, chosen: dict[str, Any], score: float = 0.0) -> str:
    """A policy as `train --set` saves it in CrampedRoom."""
    env = shared(ROOM, "numpy", **{name: value for name, value in chosen.items() if name != "max_steps"})
    layers = [(np.zeros((len(env.feature_names), 7), np.float32), np.zeros(7, np.float32))]
    about = {"score": score, "options": {"set": chosen, "steps": 10}}
    policy_file.save(path, PolicyFile(ROOM, "features", layers, about))
    return str(path)


def test_a_policy_is_played_with_the_options_that_it_was_trained_with(monkeypatch, tmp_path, capsys) -> None:
    async def run(server, ready) -> None:
        server._socket.close()
        served.append(server.session)

    served: list[Session] = []
    monkeypatch.setattr(Server, "run", run)
    file = trained(tmp_path / "a.npz", {"num_agents": 3, "cook_time": 5, "max_steps": 50})
    play = ["play", ROOM, "--no-open", "--partner", file]
    assert main(play) == 0
    assert capsys.readouterr().err == (
        f"With num_agents=3, cook_time=5, as {file} was trained; --set changes it.\n"
    )
    assert main([*play, "--set", "cook_time=7"]) == 0
    notes = capsys.readouterr().err
    assert f"With num_agents=3, as {file} was trained" in notes
    assert f"{file} was trained with cook_time=5, not cook_time=7.\n" in notes
    specs = [session.env.spec for session in served]
    assert [spec.num_agents for spec in specs] == [3, 3]
    assert [spec.game.cook_time for spec in specs] == [5, 7]
    assert [spec.max_steps for spec in specs] == [400, 400]  # of training episodes only
    assert main([*play, "--set", "num_agents=2"]) == 2  # what is given counts
    sentence = (
        f"{file} was trained in {ROOM} with num_agents=3, cook_time=5, which has different observations."
    )
    assert sentence in capsys.readouterr().err
    png = str(tmp_path / "a.png")
    assert main(["render", ROOM, "--policy", f"greedy:{file}", "--out", png, "--tile", "8"]) == 0


def test_the_options_of_a_policy_file_are_checked(tmp_path, capsys) -> None:
    file = tmp_path / "a.npz"
    trained(file, {})
    policy = policy_file.load(file)
    for chosen in ({"backend": "jax"}, {"render_mode": "human"}, {"cook_time": -1}, {"layout": [[]]}):
        policy_file.save(file, policy._replace(about={"options": {"set": chosen}}))
        assert main(["render", ROOM, "--policy", str(file), "--out", str(tmp_path / "a.png")]) == 2
        told = capsys.readouterr().err
        assert f"{file} was trained with options that {ROOM} does not have: " in told
        assert told.count("\n") == 1


def test_the_folder_of_a_run_stands_for_its_best_seed(monkeypatch, tmp_path, capsys) -> None:
    for seed, score in enumerate((2.6, 218.0, 30.0)):
        trained(tmp_path / f"policy-{seed}.npz", {}, score)
    render = ["render", ROOM, "--out", str(tmp_path / "a.png"), "--policy"]
    assert main([*render, str(tmp_path)]) == 0
    assert f"The best policy in {tmp_path} is policy-1.npz." in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert main([*render, f"greedy:{tmp_path / 'empty'}"]) == 2
    assert "empty has no policy-SEED.npz with a score" in capsys.readouterr().err


def test_a_replay_has_its_own_options(tmp_path, capsys) -> None:
    file = tmp_path / "a.json"
    record(shared(ROOM, "numpy"), np.zeros((2, 2), int), 0).save(file)
    assert main(["render", str(file), "--out", str(tmp_path / "a.png"), "--set", "cook_time=5"]) == 2
    assert "leave --set out" in capsys.readouterr().err


def test_render_plays_replays_again(tmp_path, capsys) -> None:
    file, gif = tmp_path / "a.json", str(tmp_path / "a.gif")
    record(shared(ROOM, "numpy"), np.zeros((5, 2), int), 0).save(file)
    assert main(["render", str(file), "--out", gif, "--tile", "8"]) == 0
    with Image.open(gif) as image:
        assert image.n_frames == 6
    assert main(["render", str(file), "--out", gif, "--tile", "8", "--steps", "2"]) == 0
    assert "3 pictures" in capsys.readouterr().out
    for name, steps in (("last", ()), ("fifth", ("--steps", "5")), ("first", ("--steps", "0"))):
        assert main(["render", str(file), "--out", str(tmp_path / f"{name}.png"), "--tile", "8", *steps]) == 0
    last, fifth, first = ((tmp_path / f"{name}.png").read_bytes() for name in ("last", "fifth", "first"))
    assert last == fifth != first
    assert main(["render", str(file), "--out", gif, "--seed", "2"]) == 2
    assert "leave --seed out" in capsys.readouterr().err


def test_a_replay_without_steps_is_a_picture_of_its_start(tmp_path, capsys) -> None:
    file = str(tmp_path / "a.replay.json")
    record(shared(ROOM, "numpy"), np.zeros((0, 2), int), 0).save(file)
    assert main(["render", file, "--out", str(tmp_path / "a.gif")]) == 0
    assert f"1 picture of 160 × 148 pixels, replay {file}" in capsys.readouterr().out


def test_play_serves_a_page_and_opens_it(monkeypatch, capsys, tmp_path) -> None:
    opened, served, there = [], [], threading.Event()

    def browse(url: str) -> None:
        file = Path(url2pathname(urlsplit(url).path))
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (file.parent, file)]
        opened.append((url, file.read_text(encoding="utf-8"), modes))
        there.set()

    async def run(server, ready) -> None:
        ready()
        if not served:
            await asyncio.to_thread(there.wait, 60)
        server._socket.close()
        served.append(server.session)

    monkeypatch.setattr(Server, "run", run)
    monkeypatch.setattr("webbrowser.open", browse)
    assert main(["play", ROOM, "--seed", "3", "--partner", "random"]) == 0
    address = capsys.readouterr().out.splitlines()[0]
    ((url, text, modes),) = opened
    assert f"url={address}" in text
    assert urlsplit(address).path not in url  # others can read it where it is a command line
    assert modes == [0o700, 0o600]
    assert not Path(url2pathname(urlsplit(url).path)).exists()
    assert (served[0].id, served[0].partner, served[0].replay().seed) == (ROOM, "random", 3)
    record(shared(ROOM, "numpy"), np.zeros((5, 2), int), 0).save(tmp_path / "a.json.gz")
    assert main(["play", str(tmp_path / "a.json.gz"), "--no-open"]) == 0
    assert len(opened) == 1
    assert served[1].greet()[1]["kind"] == "film"


# The command in a process of its own, with a library that would wait for ever where it may.
PLAYING = """
import runpy, sys
import websockets.asyncio.server as library
from tests._apps.play.support import without_limits
library.serve = without_limits(library.serve)
sys.argv = ["cogrid", *sys.argv[1:]]
runpy.run_module("cogrid", run_name="__main__")
"""


@posix
@pytest.mark.parametrize("kind", ["nobody", "idle", "frozen"])
@pytest.mark.parametrize(
    ("number", "code", "told"), [(signal.SIGINT, 130, "\nInterrupted.\n"), (signal.SIGTERM, 143, "")]
)
def test_a_signal_ends_playing_at_once_and_leaves_nothing(kind, number, code, told, tmp_path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path), "BROWSER": "true"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = [sys.executable, "-c", PLAYING, "play", ROOM, "--seed", "0"]
    with contextlib.ExitStack() as held, subprocess.Popen(command, env=env, **pipes) as process:
        place = urlsplit(process.stdout.readline().strip())
        assert "press Ctrl-C to stop" in process.stdout.readline()
        if kind == "idle":
            held.enter_context(socket.create_connection((place.hostname, place.port)))
        if kind == "frozen":
            held.enter_context(frozen_page(place.netloc, place.path))
        else:
            with urlopen(place.geturl()) as page:  # it serves
                assert page.status == 200
        assert [path.name for path in tmp_path.glob("*/*")] == ["play.html"]
        process.send_signal(number)
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, out, err) == (code, "", told)
    assert list(tmp_path.iterdir()) == []


def test_play_needs_its_extra(monkeypatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, "websockets.asyncio.server", None)
    assert main(["play", ROOM]) == 2
    assert "[play]" in capsys.readouterr().err


def test_bench_points_to_the_suite(capsys) -> None:
    assert main(["bench"]) == 0
    assert "nox -s bench" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["play", "Chess-V0"], "'Chess-V0'"),
        (["play", ROOM, "--partner", "clever"], "'clever'"),
        (["play", "Arena-V0", "--partner", "scripted"], "no partner 'scripted'"),
        (["play", ROOM, "--port", "70000"], "70000"),
        (["zoo", "Overcooked-CrampedRom-V0"], "did you mean 'Overcooked-CrampedRoom-V0'"),
        (["zoo", "Arena-V0"], "the zoo has no policies for Arena-V0"),
        (["info", "Overcooked-CrampedRom-V0"], "did you mean 'Overcooked-CrampedRoom-V0'"),
        (["render", "Arena-V0", "--out", "a.txt"], "'a.txt'"),
        (["render", "Arena-V0", "--out", "a.gif", "--policy", "scripted"], "Arena has no script"),
        (["render", "Arena-V0", "--out", "a.gif", "--tile", "1"], "tile_size=1"),
        (["render", "Arena-V0", "--out", "no/such/place/a.png"], "no/such/place/a.png: there is no folder "),
        pytest.param(
            ["render", "Arena-V0", "--out", "/dev/full/a.png"],
            "/dev/full/a.png: Not a directory.",
            marks=with_dev_full,
        ),
        (["humans", "no/such/games.pickle"], "no/such/games.pickle: No such file or directory."),
        (["render", "Arena-V0", "--out", "a.gif", "--fps", "1e-300"], "fps=1e-300 is out of range"),
        (["render", "Arena-V0", "--out", "a.gif", "--fps", "nan"], "it must be from 0.02 to 100"),
        (["render", "Arena-V0", "--out", "a.png", "--fps", "inf"], "it must be from 0.02 to 100"),
        (
            ["render", "Arena-V0", "--out", "a.gif", "--batch", "1000", "--tile", "512"],
            "at most 67,108,864 fit",
        ),
    ],
)
def test_a_mistake_is_one_sentence(arguments, words, capsys) -> None:
    assert main(arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert words in told.err
    assert told.err.count("\n") == 1
    assert "Errno" not in told.err


def test_a_port_that_is_taken_is_one_sentence(capsys) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["play", ROOM, "--no-open", "--port", str(port)]) == 2
    assert f"port {port} cannot be used (Address already in use): leave it out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["dance"], "dance"),
        (["render", "Arena-V0"], "--out"),
        (["render", "Arena-V0", "--out", "a.gif", "--steps", "-1"], "whole number"),
        (["render", "Arena-V0", "--out", "a.gif", "--batch", "0"], "whole number from 1 to 1,000"),
        (["render", "Arena-V0", "--out", "a.gif", "--batch", "1000000000"], "whole number from 1 to 1,000"),
        (["render", "Arena-V0", "--out", "a.gif", "--batch", "9" * 5000], "whole number from 1 to 1,000"),
        (["render", "Arena-V0", "--out", "a.gif", "--steps", "100001"], "whole number from 0 to 100,000"),
    ],
)
def test_wrong_options_raise_clear_errors(arguments, words, capsys) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    told = capsys.readouterr().err
    assert words in told
    assert told.count("\n") == 1  # without the usage
    assert told.endswith("(see --help)\n")


def test_train_needs_its_extra(monkeypatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, "cogrid._apps.train.command", None)
    monkeypatch.delattr("cogrid._apps.train.command", raising=False)
    with pytest.raises(SystemExit):
        main(["train", ROOM])
    assert "which is not installed: run pip install '.[train]' in the checkout.\n" in capsys.readouterr().err
