"""Exported folders: strict compilers take them, they play as NumPy does, and mistakes are one sentence."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest

import cogrid
from cogrid.__main__ import main
from cogrid._apps.export.command import c_name
from cogrid._io.reading import setting
from cogrid._native import compiling
from cogrid.envs import registry
from tests.episodes import ROOT
from tests.support import EVERY_ID

ROOM = "Overcooked-CrampedRoom-V0"
KITCHEN, NAME = "Overcooked-CounterCircuit-V0", "overcooked_countercircuit_v0"
STRICT = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsanitize=address,undefined")
STRICT = (*STRICT, "-fno-sanitize-recover=all")
#: One or more of every family; the others are tested at night.
SAMPLE = (
    "Arena-V0",
    "Foraging-8x8-2p-3f-V0",
    "Goals-V0",
    KITCHEN,
    "OvercookedAI-BonusOrderTest-V0",
    "OvercookedV2-GroundedCoordSimple-V0",
    "SearchRescue-Ruins-V0",
)
OPTIONS = (
    (ROOM, ["observation=lossless", "shaping=0.5", "random_start=true"]),
    (ROOM, ["observation=none", 'layout=["cramped_room", "coordination_ring"]']),
    (ROOM, ["observation=window", "window=3", "cook_time=3", "max_steps=60"]),
    ("CleanUp-V0", ["layout=########\n#1ad.2a#\n#wdw.aP#\n########", "river=4", "num_agents=2"]),
)


@functools.cache
def compiler() -> str | None:
    """A compiler that has the sanitizers."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "main.c")
        source.write_text("int main(void) { return 0; }\n", encoding="utf-8")
        for program in compiling._system():
            done = subprocess.run(
                [program, *STRICT, str(source), "-o", f"{folder}/main"], capture_output=True
            )
            if not done.returncode and not subprocess.run([f"{folder}/main"]).returncode:
                return program
    return None


needs_compiler = pytest.mark.skipif(
    compiler() is None, reason="there is no C compiler with -fsanitize=address,undefined"
)


def export(id: str, folder: Path, *settings: str) -> None:
    words = [word for text in settings for word in ("--set", text)]
    assert main(["export", id, "--to", "c", "--out", str(folder), *words]) == 0


def compiled(*sources: Path, folder: Path) -> Path:
    program = folder / "play"
    command = [str(compiler()), *STRICT, "-I", str(folder), *map(str, sources), "-o", str(program)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert not done.returncode, done.stderr[:3000]
    return program


def played(program: Path, tape: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(program), str(tape)], capture_output=True, encoding="utf-8")


def returns_on_numpy(env: cogrid.CoGridEnv, tape: str) -> tuple[int, list[float]]:
    """The steps of a tape and what they pay, through the environment that users step."""
    returns, steps = np.zeros(env.spec.num_agents), 0
    state = None
    for line in tape.splitlines():
        kind, *words, _ = line.split()
        if kind == "reset":
            state, _ = env.reset_fn(np.array(words, np.uint32))
        else:
            state, _, rewards, _, _ = env.step_fn(state, np.array(words, np.int32))
            returns, steps = returns + rewards.astype(np.float64), steps + 1
    return steps, returns.tolist()


def check(id: str, folder: Path, *settings: str) -> list[float]:
    """Export, compile and play; the returns, which are also those of NumPy."""
    export(id, folder, *settings)
    done = played(compiled(*folder.glob("*.c"), folder=folder), folder / "tape.txt")
    assert (done.returncode, done.stderr) == (0, "")
    tape = (folder / "tape.txt").read_text(encoding="utf-8")
    steps, returns = returns_on_numpy(cogrid.make(id, **dict(map(setting, settings))), tape)
    told = re.fullmatch(r"(\d+) steps, returns (.*), checksum (\w{8})\n", done.stdout)
    assert told is not None
    assert int(told[1]) == steps == tape.count("step")
    np.testing.assert_allclose([float(word) for word in told[2].split()], returns, rtol=1e-5)
    assert told[3] == tape.split()[-1]
    return returns


@needs_compiler
@pytest.mark.parametrize(
    "id", [pytest.param(id, marks=[pytest.mark.slow] * (id not in SAMPLE)) for id in EVERY_ID]
)
def test_the_program_plays_as_numpy_does(id, tmp_path) -> None:
    returns = check(id, tmp_path)
    if id in SAMPLE and id != "Arena-V0":
        assert any(returns), "nothing was paid, so rewards were not compared"


@needs_compiler
@pytest.mark.parametrize(("id", "settings"), OPTIONS)
def test_options_are_those_of_the_environment(id, settings, tmp_path) -> None:
    check(id, tmp_path, *settings)


@needs_compiler
def test_a_world_of_ones_own(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(registry, "_SPECS", dict(registry._SPECS))
    check(str(ROOT / "examples/own_environment.py"), tmp_path / "new" / "folder", "growth=9")
    folder = tmp_path / "new" / "folder"
    assert (folder / "own_environment_py.h").is_file()
    assert "other boards" in (folder / "NOTICE.md").read_text(encoding="utf-8")


@needs_compiler
def test_the_program_names_the_first_line_that_differs(tmp_path) -> None:
    export(KITCHEN, tmp_path)
    program, tape = compiled(*tmp_path.glob("*.c"), folder=tmp_path), tmp_path / "other.txt"
    lines = (tmp_path / "tape.txt").read_text(encoding="utf-8").splitlines()

    def run(number: int, line: str) -> tuple[int, str]:
        tape.write_text("\n".join([*lines[:number], line, *lines[number + 1 :]]), encoding="utf-8")
        done = played(program, tape)
        return done.returncode, done.stderr

    kind, *actions, checksum = lines[9].split()
    for other in range(7):  # what agent 1 does in this step matters
        if str(other) != actions[1]:
            code, told = run(9, f"{kind} {actions[0]} {other} 0")
            assert code == 1
            assert re.match(r"line 1[1-9]: checksum \w{8}, not \w{8}\n", told)
            break
    assert run(9, " ".join([kind, *actions, f"{int(checksum, 16) ^ 1:08x}"])) == (
        1,
        f"line 10: checksum {checksum}, not {int(checksum, 16) ^ 1:08x}\n",
    )
    for broken in (f"{kind} {actions[0]}", "jump 1 2 0", f"{kind} {actions[0]} {actions[1]} none"):
        assert run(len(lines) - 1, broken) == (2, f"line {len(lines)}: this is not a line of a tape\n")
    tape.write_text("step 0 0 0\n", encoding="utf-8")  # before any reset
    assert played(program, tape).returncode == 2
    assert "usage: " in played(program, tmp_path / "missing.txt").stderr


# As the README says, with two worlds in one program.
BOTH = """
#include <stdio.h>
#include "overcooked_countercircuit_v0.h"
#include "goals_v0.h"

int main(void)
{
    overcooked_countercircuit_v0_state state, copy;
    overcooked_countercircuit_v0_result result, again;
    const uint32_t key[2] = {0, 7};
    const int32_t actions[OVERCOOKED_COUNTERCIRCUIT_V0_AGENTS] = {3, 1};
    int steps = 0;
    overcooked_countercircuit_v0_reset(key, &state, &result);
    while (!result.done) {
        copy = state;
        overcooked_countercircuit_v0_step(actions, &state, &result);
        overcooked_countercircuit_v0_step(actions, &copy, &again);
        if (copy.clock != state.clock || copy.pos[0] != state.pos[0])
            return 1;
        steps++;
    }
    overcooked_countercircuit_v0_reset(state.words, &state, &result);
    goals_v0_state other;
    goals_v0_result seen;
    goals_v0_reset(key, &other, &seen);
    printf("%d %d %d %d\\n", steps, state.clock, state.pos[0], other.clock);
    return 0;
}
"""


@needs_compiler
def test_two_worlds_in_one_program(tmp_path) -> None:
    for id in (KITCHEN, "Goals-V0"):
        export(id, tmp_path / c_name(id))
        for file in (tmp_path / c_name(id)).glob(f"{c_name(id)}.*"):
            file.rename(tmp_path / file.name)
    (tmp_path / "both.c").write_text(BOTH, encoding="utf-8")
    program = compiled(*tmp_path.glob("*.c"), folder=tmp_path)
    state, _ = cogrid.make(KITCHEN).reset_fn(np.array([0, 7], np.uint32))
    done = subprocess.run([str(program)], capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stdout) == (0, f"400 0 {state.pos[0]} 0\n")


def test_the_folder_is_written_without_a_compiler(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv(compiling.CHOICE, "no-such-compiler")
    export(KITCHEN, tmp_path)
    names = {"README.md", "NOTICE.md", "LICENSE", "overcooked_ai.txt", "main.c", "tape.txt", "things.txt"}
    assert {path.name for path in tmp_path.iterdir()} == {*names, f"{NAME}.c", f"{NAME}.h"}
    assert capsys.readouterr().out == f"{tmp_path}: 9 files; README.md says how to compile and call them.\n"
    header = (tmp_path / f"{NAME}.h").read_text(encoding="utf-8")
    assert "float obs[2][73]; /* the observation of each agent */" in header
    assert "Actions: 0 up, 1 down" in header
    source = (tmp_path / f"{NAME}.c").read_text(encoding="utf-8")
    assert set(re.findall(r"^#include (.*)$", source, re.M)) == {f'"{NAME}.h"', "<string.h>"}
    assert re.findall(r"^(?!static)\w+ \**(\w+)\(", source, re.M) == [f"{NAME}_reset", f"{NAME}_step"]
    things = (tmp_path / "things.txt").read_text(encoding="utf-8").splitlines()
    assert any("onion" in line for line in things if line.startswith("item "))
    readme = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert f"`{NAME}.h`" in readme
    assert "{" not in re.sub(r"```.*?```|`[^`]*`", "", readme, flags=re.DOTALL)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["Overcooked-CrampedRom-V0", "--to", "c"], "Overcooked-CrampedRoom-V0"),
        ([KITCHEN, "--to", "fortran"], "argument --to: invalid choice: 'fortran'"),
        ([KITCHEN], "the following arguments are required: --to"),
        ([KITCHEN, "--to", "c", "--set", "cook_tim=5"], "cook_tim"),
    ],
)
def test_mistakes_are_one_sentence(words, sentence, tmp_path, capsys) -> None:
    command = ["export", *words, "--out", str(tmp_path / "out")]
    with contextlib.suppress(SystemExit):  # argparse's way out, with the same code
        assert main(command) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("python -m cogrid export: ")
    assert told.err.count("\n") == 1
    assert sentence in told.err
    assert not (tmp_path / "out").exists()


def test_a_folder_with_files_is_left_alone(tmp_path, capsys) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    for out, sentence in (
        (tmp_path, f"{tmp_path} is not empty: name a new folder."),
        (tmp_path / "mine.txt", f"{tmp_path / 'mine.txt'}: Not a directory."),
    ):
        assert main(["export", "Goals-V0", "--to", "c", "--out", str(out)]) == 2
        told = capsys.readouterr().err
        assert told.count("\n") == 1
        if os.name != "nt":  # whose own sentence is another
            assert told == f"python -m cogrid export: {sentence}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="this user may write everywhere")
def test_a_folder_that_may_not_be_written_to(tmp_path, capsys) -> None:
    tmp_path.chmod(0o500)
    assert main(["export", "Goals-V0", "--to", "c", "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == f"python -m cogrid export: {tmp_path / 'out'}: Permission denied.\n"


def test_names_in_c_come_from_the_id() -> None:
    assert c_name(KITCHEN) == NAME
    assert c_name("/home/me/my-world.py:SPEC") == "my_world_py_spec"
    assert c_name(r"C:\worlds\2048.py") == "world_2048_py"
    assert c_name("Ä") == "world"
