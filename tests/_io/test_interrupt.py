"""Commands that are stopped, or whose reader goes away."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cogrid._io import interrupt
from tests._io.interrupts import stopped_at, unread
from tests.episodes import ROOT

ROOM = "Overcooked-CrampedRoom-V0"


@pytest.mark.parametrize(
    "where",
    [
        *("cogrid.cogrid_env", "numpy", "gymnasium", "pettingzoo", "cogrid._core.rules", "cogrid.vector"),
        *("asyncio", "cogrid._apps.play.server", "cogrid.replay.recording"),
        *("cogrid.render.film:picture", "PIL.Image", "PIL.GifImagePlugin"),
    ],
)
def test_ctrl_c_is_one_line(where, tmp_path) -> None:
    (tmp_path / "out").mkdir()
    path = tmp_path / "out" / "a.gif"
    path.write_bytes(b"before")
    command = ("-m", "cogrid", "render", ROOM, "--out", str(path), "--steps", "3")
    done = stopped_at(tmp_path, where, *command)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", interrupt.LINE.decode())
    assert path.read_bytes() == b"before"
    assert os.listdir(path.parent) == ["a.gif"]


def test_the_moment_is_what_stops_it(tmp_path) -> None:
    path = tmp_path / "a.gif"
    command = ("-m", "cogrid", "render", ROOM, "--out", str(path), "--steps", "3")
    assert stopped_at(tmp_path, "no.such.module", *command).returncode == 0
    assert path.is_file()


HANDLER = """
import signal, cogrid
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


def test_a_program_that_imports_it_keeps_its_signals(tmp_path) -> None:
    done = stopped_at(tmp_path, "no.such.module", "-c", HANDLER)
    assert done.stdout == "True\n"


TWICE = """
import os, signal, sys
from cogrid._io import interrupt
def main():
    try:
        os.kill(os.getpid(), signal.SIGINT)
    finally:
        os.kill(os.getpid(), signal.SIGINT)
        print("never")
sys.exit(interrupt.run(main))
"""
IGNORED = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
from cogrid._io import interrupt
def main():
    os.kill(os.getpid(), signal.SIGINT)
    print("goes on")
    return 5
code = interrupt.run(main)
os.kill(os.getpid(), signal.SIGINT)
sys.exit(code)
"""


@pytest.mark.parametrize(("source", "code", "out"), [(TWICE, 130, ""), (IGNORED, 5, "goes on\n")])
def test_a_second_one_ends_it_and_an_ignored_one_does_not(source, code, out) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", source]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, encoding="utf-8")
    assert (done.returncode, done.stdout) == (code, out)
    assert done.stderr == (interrupt.LINE.decode() if code == 130 else "")


@pytest.mark.parametrize("arguments", [("list",), ("info", ROOM), ("bench",)], ids=str)
def test_a_closed_pipe_is_silent(arguments) -> None:
    assert unread("-m", "cogrid", *arguments) == (interrupt.CLOSED, "")


@pytest.mark.parametrize("arguments", [("--help",), ("render", "--help")], ids=str)
def test_help_that_nobody_reads_is_silent(arguments) -> None:
    assert unread("-m", "cogrid", *arguments)[1] == ""  # argparse sees to it, and says 0


def test_a_pipe_with_a_name_is_a_file_of_ours() -> None:
    assert interrupt.is_closed_output(BrokenPipeError(32, "Broken pipe"))
    assert not interrupt.is_closed_output(BrokenPipeError(32, "Broken pipe", "a.gif"))
