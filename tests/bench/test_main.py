"""How `python -m bench` ends early: Ctrl-C is one line, a reader that has gone is none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench import ROOT
from tests._io.interrupts import stopped_at, unread


@pytest.mark.parametrize("where", ["numpy", "msgspec", "bench.commands.parser", "bench.suites:quick"])
def test_ctrl_c_is_one_line_from_the_imports_on(where: str, tmp_path: Path) -> None:
    done = stopped_at(tmp_path, where, "-m", "bench", "list")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "bench: interrupted.\n")


def test_the_moment_is_what_stops_it(tmp_path: Path) -> None:
    assert stopped_at(tmp_path, "no.such.module", "-m", "bench", "list").returncode == 0


def test_an_interrupted_run_says_how_to_go_on_and_keeps_its_file(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    run = ("run", "--backend", "numpy", "--only", "CrampedRoom numpy-single cooperative", "-o", str(path))
    done = stopped_at(tmp_path, "bench.runner:row_of", "-m", "bench", *run)
    assert (done.returncode, done.stdout) == (130, "")
    *waiting, last = done.stderr.splitlines()
    assert last == f"bench: interrupted; `python -m bench run --resume -o {path}` continues."
    assert all(line.endswith(" s so far") for line in waiting)
    assert path.exists()


def test_a_reader_that_has_gone_is_no_complaint() -> None:
    assert unread("-m", "bench", "list", "--full", "--backend", "numpy") == (141, "")


@pytest.mark.parametrize("library", ["msgspec", "tabulate", "rich"])
def test_without_its_libraries_it_says_what_to_install(library: str) -> None:
    hidden = f"import sys; sys.modules[{library!r}] = None"
    command = [sys.executable, "-c", f"{hidden}; from bench.__main__ import main; sys.exit(main(['run']))"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, encoding="utf-8")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"bench: {library}")
    assert "is not installed: python -m pip install -e '.[jax]' --group bench installs" in line
    assert line.endswith("(pip 25.1 or newer).")
