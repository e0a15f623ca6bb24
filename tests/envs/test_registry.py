"""Worlds of one's own by module or file: in make, make_vec and the command line."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest

import cogrid
from cogrid.__main__ import main
from cogrid._apps.play.session import Session
from cogrid.envs import registry
from cogrid.replay.recording import Recorder, Replay

OWN = Path(__file__).parents[2] / "examples/own_environment.py"
LAMPS = '''
from dataclasses import dataclass
from typing import ClassVar

import cogrid
from cogrid.author import Game, Outcome


@dataclass(frozen=True)
class Lamps(Game):
    """Light the lamps."""

    legend: ClassVar = {" ": "floor", "#": "wall", "L": "dark"}

    def interact(self, held, thing):
        if thing == "dark":
            return Outcome(held, "lit", "light", 1.0)


cogrid.register("Lamps-V0", cogrid.Spec(Lamps(), "#####\\n#1 L#\\n#2  #\\n#####", observation="lossless"))
'''


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch):
    monkeypatch.setattr(registry, "_SPECS", dict(registry._SPECS))
    known = {*sys.modules}
    yield
    for name in {*sys.modules} - known:
        if name.startswith(("cogrid_world_", "lamps", "broken")):
            del sys.modules[name]


def test_a_spec_of_a_file() -> None:
    named = f"{OWN}:SPEC"
    env = cogrid.make(named, growth=2)
    assert (env.spec.game.growth, env.config["layout"]) == (2, "mine")
    assert cogrid.make(named).spec == cogrid.make(str(OWN)).spec, "a file is run once"
    assert cogrid.make_vec(str(OWN), 3).reset(seed=0)[0].shape == (3, 2, 25)
    assert registry.find(named) in cogrid.registered()
    assert cogrid.options(named)["growth"] == 5


def test_an_id_that_a_module_registers(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "lamps.py").write_text(LAMPS, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert cogrid.make("lamps:Lamps-V0").verbs[1:] == ("light",)
    assert registry.find("lamps:Lamps-V0") == "Lamps-V0"
    assert cogrid.make("Lamps-V0").spec.num_agents == 2


def test_replays_of_own_worlds_never_import(tmp_path: Path) -> None:
    """A replay comes from anywhere: its id is looked up, not followed."""
    env = Recorder(cogrid.make(str(OWN)))
    env.reset(seed=0)
    env.step({0: 3, 1: 6})
    replay = env.replay()
    assert replay.id == f"{OWN}"
    replay.verify("numpy")
    foreign = Replay.parse(dataclasses.replace(replay, id=str(tmp_path / "evil.py")).text())
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')", encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"recorded in '.*evil.py', .*: call cogrid.make\('.*evil.py'\) first"
    ):
        foreign.verify()
    foreign.verify(env=cogrid.make(str(OWN)))
    with pytest.raises(ValueError, match=r"recorded in '.*evil.py', .* with the file and --world"):
        Session("Arena-V0").do({"do": "show", "text": foreign.text()})
    other = dataclasses.replace(replay, id="Lamps-V7")
    with pytest.raises(ValueError, match=r"recorded in 'Lamps-V7', .*: import the module that registers it"):
        other.verify()
    with pytest.raises(ValueError, match="unknown environment id"):
        Session(str(tmp_path / "evil.py"))


def test_a_base_is_not_the_files_own_world(tmp_path: Path) -> None:
    based = "from cogrid.envs.goals.specs import SPECS\nBASE = SPECS['Goals-V0']\n"
    file = tmp_path / "based.py"
    file.write_text(based + "SPEC = BASE.override(max_steps=7)\n", encoding="utf-8")
    assert cogrid.make(str(file)).spec.max_steps == 7
    assert registry.find(f"{file}:BASE") == "Goals-V0"
    alone = tmp_path / "alone.py"
    alone.write_text(based, encoding="utf-8")
    assert registry.find(str(alone)) == "Goals-V0"


def test_a_registered_world_is_one_of_several(tmp_path: Path) -> None:
    (tmp_path / "lamps.py").write_text(
        LAMPS + "OTHER = cogrid.make('Lamps-V0', max_steps=3).spec\n", encoding="utf-8"
    )
    with pytest.raises(ValueError, match="has several worlds: choose one of Lamps-V0, OTHER"):
        cogrid.make(str(tmp_path / "lamps.py"))


def test_a_name_that_is_taken_by_another_world(tmp_path: Path) -> None:
    file = tmp_path / "changed.py"
    file.write_text("import cogrid\nSPEC = cogrid.make('Arena-V0', max_steps=3).spec\n", encoding="utf-8")
    cogrid.register(f"{file}:SPEC", cogrid.make("Arena-V0", max_steps=4).spec)
    with pytest.raises(ValueError, match=r"changed.py:SPEC' already names another world: register this one"):
        cogrid.make(f"{file}:SPEC")


def test_files_of_one_name_in_two_folders(tmp_path: Path, monkeypatch) -> None:
    for steps in (10, 20):
        (folder := tmp_path / str(steps)).mkdir()
        text = f"import cogrid\nSPEC = cogrid.make('Arena-V0', max_steps={steps}).spec\n"
        (folder / "same_name.py").write_text(text, encoding="utf-8")
    for steps in (10, 20, 10):
        monkeypatch.chdir(tmp_path / str(steps))
        assert cogrid.make("same_name.py:SPEC").spec.max_steps == steps
        assert cogrid.make("same_name.py").spec.max_steps == steps
        assert registry.spec_of(registry.adopt("same_name.py"), {}).max_steps == steps


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("{folder}/none.py", "none.py cannot be imported: FileNotFoundError: there is no such file"),
        ("no_such_module:Id", "no_such_module cannot be imported: ModuleNotFoundError"),
        ("{folder}/broken.py", "broken.py cannot be imported: ZeroDivisionError"),
        ("{folder}/keyword.py", r"'agnt' \(.*Act takes name, thing, agent, aim: did you mean 'agent'\?\)\.$"),
        ("{folder}/two.py", r"two.py has several worlds: choose one of A, B"),
        ("{folder}/two.py:C", r"two.py has no world 'C': choose one of A, B"),
        ("math:Id", "math has no world 'Id': make a cogrid.Spec in it"),
    ],
)
def test_mistakes_raise_clear_errors(name, words, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("1 / 0", encoding="utf-8")
    game = "class Zap(Game):\n    def parts(self):\n        return (Act('zap', agnt=None),)\n"
    keyword = f"from cogrid.author import *\n{game}SPEC = Spec(Zap(), '####\\n#12#\\n####')\n"
    (tmp_path / "keyword.py").write_text(keyword, encoding="utf-8")
    two = "import cogrid\nA = cogrid.make('Arena-V0', max_steps=3).spec\nB = A.override(max_steps=4)\n"
    (tmp_path / "two.py").write_text(two, encoding="utf-8")
    with pytest.raises(ValueError, match=words):
        cogrid.make(name.format(folder=tmp_path))


def test_the_command_line(tmp_path: Path, capsys) -> None:
    (tmp_path / "lamps.py").write_text(LAMPS, encoding="utf-8")
    world, out = str(tmp_path / "lamps.py"), tmp_path / "lamps.gif"
    assert main(["info", world]) == 0
    assert "lossless: (4, 5, " in capsys.readouterr().out
    assert main(["render", f"{world}:Lamps-V0", "--steps", "2", "--out", str(out)]) == 0
    assert out.stat().st_size > 500
    assert Session(registry.find(world)).id == "Lamps-V0"


def test_an_authors_mistake_is_reported_with_hand_and_thing(tmp_path: Path, capsys) -> None:
    broken = LAMPS.replace('if thing == "dark":', "if int(thing):")
    (tmp_path / "lamps.py").write_text(broken, encoding="utf-8")
    assert main(["info", str(tmp_path / "lamps.py")]) == 2
    told = capsys.readouterr().err
    assert "invalid literal for int()" in told
    assert "Lamps.interact was called with held None and thing 'floor'" in told


def test_a_term_that_never_pays_is_a_warning(tmp_path: Path, capsys) -> None:
    terms = """
    def rewards(self):
        sung = Reward("sung", lambda event: 2.0 * (event.verb == "sing"))
        return Reward("lit", lambda event: event.value), sung


cogrid.register("""
    text = LAMPS.replace("import Game, Outcome", "import Game, Outcome, Reward").replace(
        "\n\ncogrid.register(", terms
    )
    (tmp_path / "lamps.py").write_text(text, encoding="utf-8")
    with pytest.warns(UserWarning, match="the reward term 'sung' of Lamps-V0 can never be paid"):
        cogrid.make(str(tmp_path / "lamps.py"))
    with pytest.warns(UserWarning, match="the reward term 'sung' of Lamps-V0 can never be paid"):
        assert main(["info", "Lamps-V0"]) == 0
    assert "rewards      lit, sung (never paid)" in capsys.readouterr().out
