"""Planting one wrong line in a copy of the project, and running the tests of its topic there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("cogrid", "tests", "pyproject.toml")
PYTEST = """
import sys
if sys.argv.pop(1) == "without jax":
    sys.modules["jax"] = None  # as if it were not installed
import cogrid, pytest
if not cogrid.__file__.startswith(sys.argv.pop(1)):
    sys.exit(f"the copy was not imported, but {cogrid.__file__}")
sys.exit(pytest.main(sys.argv[1:]))
"""


class Mutant(NamedTuple):
    """One wrong line: `old` becomes `new` in `file`."""

    name: str
    file: str
    old: str
    new: str


class Topic(NamedTuple):
    """Mutants, and the tests that must catch them; on NumPy alone if both backends are wrong."""

    tests: tuple[str, ...]
    mutants: tuple[Mutant, ...]
    one_backend: bool = False  # wrong on one backend only, which parity tests show


def wrong_text(mutant: Mutant) -> str:
    """The text of the mutant's file with the wrong line in it."""
    text = (ROOT / mutant.file).read_text(encoding="utf-8")
    if (count := text.count(mutant.old)) != 1:
        raise SystemExit(f"mutant {mutant.name!r}: its line stands {count} times in {mutant.file}, not once.")
    return text.replace(mutant.old, mutant.new)


def run_tests(mutant: Mutant | None, topic: Topic) -> tuple[bool, str]:
    """Whether all tests of the topic passed on a copy, and the last lines that pytest printed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        _plant(mutant, folder)
        options = ("-x", "-q", "-p", "no:cacheprovider", "--no-header")
        backends = "with jax" if topic.one_backend else "without jax"
        done = subprocess.run(
            [sys.executable, "-c", PYTEST, backends, str(folder), *options, *topic.tests],
            cwd=folder, env=os.environ | {"PYTHONPATH": str(folder)}, capture_output=True, text=True,
        encoding="utf-8",)  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if done.returncode not in (0, 1) or not done.stdout:  # a copy that cannot be imported proves nothing
        raise SystemExit(f"pytest could not run: {done.stdout[-500:]}{done.stderr[-500:]}")
    return done.returncode == 0, lines[0] if lines else done.stdout.strip().splitlines()[-1]


def _plant(mutant: Mutant | None, folder: Path) -> None:
    """Copy the project into the folder, with the wrong line in it; compiled files too, to save time."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name)
        else:
            shutil.copy(source, folder / name)
    if mutant is not None:
        (folder / mutant.file).write_text(wrong_text(mutant), encoding="utf-8")
