"""cogrid 0.3.2 runs in another Python: what is said of a wrong one, and that our own cogrid stays out."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from bench import ROOT
from bench.peers.libraries import cogrid_0_3
from bench.peers.libraries.cogrid_0_3 import COGRID_0_3
from bench.peers.run import exit_code, measure
from bench.peers.start import Resources
from bench.peers.target import PeerCase
from bench.processes.worker import WorkerFailed
from tests.bench.peers.support import BATCH, cogrid, target
from tests.support import HAS_JAX

CASE = PeerCase(COGRID_0_3, "numpy", BATCH)


def test_no_python_was_named(tmp_path: Path) -> None:
    with pytest.raises(WorkerFailed, match=r"no Python that has cogrid 0\.3\.2 was named: --older PYTHON"):
        CASE.start(Resources(tmp_path))


def test_a_python_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(WorkerFailed, match="nowhere/python cannot be started: No such file or directory"):
        CASE.start(Resources(tmp_path, "nowhere/python"))


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python that has nothing installed."""
    place = tmp_path_factory.mktemp("bare") / "venv"
    venv.create(place, symlinks=True)
    return str(place / "bin" / "python")


def installed(python: str, version: str) -> Path:
    """Let the Python have a cogrid of this version, which says where it is."""
    found = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    place = Path(found.stdout.strip())
    for old in place.glob("cogrid-*.dist-info/METADATA"):
        old.unlink()
        old.parent.rmdir()
    metadata = place / f"cogrid-{version}.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text(f"Metadata-Version: 2.1\nName: cogrid\nVersion: {version}\n", encoding="utf-8")
    return place


def test_a_python_without_cogrid_is_a_row_with_a_sentence(tmp_path: Path, bare: str) -> None:
    found = measure(target(cogrid(), COGRID_0_3), Resources(tmp_path, bare), 3)
    own, theirs = found.rows
    assert (own.status, theirs.status, theirs.library) == ("ok", "failed", "cogrid 0.3.2")
    expected = f"ImportError: {bare} has no cogrid: name a Python that has cogrid 0.3.2 by --older."
    assert theirs.error == expected
    assert exit_code([found]) == 0


def test_a_python_with_another_cogrid_says_which(tmp_path: Path, bare: str) -> None:
    installed(bare, "1.0.0")
    with pytest.raises(WorkerFailed, match=r"has cogrid 1\.0\.0: name a Python that has cogrid 0\.3\.2"):
        CASE.start(Resources(tmp_path, bare))


def test_the_cogrid_that_is_installed_there_is_used_whatever_the_path_says(
    tmp_path: Path, bare: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = installed(bare, "0.3.2")
    (place / "numpy.py").write_text("raise ImportError(__import__('cogrid').__file__)\n", encoding="utf-8")
    (place / "cogrid.py").write_text("", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    with pytest.raises(WorkerFailed, match=f"ImportError: {place / 'cogrid.py'}"):
        CASE.start(Resources(tmp_path, bare))


def test_a_relative_python_is_one_of_where_the_command_runs(
    tmp_path: Path, bare: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(bare).parent)
    process = cogrid_0_3.process("numpy", BATCH, Resources(tmp_path, "./python"))
    assert process.command[0] == bare
    assert os.path.samefile(process.cwd, tmp_path)


@pytest.mark.parametrize("more", ["", *["import bench.peers.compiled; "] * HAS_JAX])
def test_the_worker_imports_nothing_of_our_cogrid(more: str) -> None:
    """Nor anything that its Python lacks: it has JAX and NumPy, and none of bench's dependencies."""
    program = (
        "import sys; sys.modules |= dict.fromkeys(('msgspec', 'psutil', 'rich', 'tabulate', 'matplotlib')); "
        "import bench.peers.libraries.cogrid_0_3_worker as worker; clock = worker.todays_clock(); "
        f"assert clock.take; {more}"
        "print(sorted(name for name in sys.modules if name.partition('.')[0] == 'cogrid'))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        encoding="utf-8",
    )
    assert run.stdout == "[]\n"
