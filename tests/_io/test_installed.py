"""What cogrid says of its installation: from a checkout, from a wheel, over another project."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from cogrid._io import installed

ROOT = Path(__file__).parents[2]
SAID = """
import cogrid
from cogrid._io import installed
print(cogrid.__version__, installed.remedy("jax"), sep="; ")
"""
CONFLICT = (
    "cogrid 0.3.2, another project, is installed in the same environment, and its files and those of "
    "cogrid-worlds overwrite each other: run pip uninstall cogrid cogrid-worlds, "
    "then install the one that you want."
)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with the package and what a wheel's installation leaves beside it."""
    shutil.copytree(ROOT / "cogrid", tmp_path / "cogrid", ignore=shutil.ignore_patterns("__pycache__"))
    record(tmp_path, "cogrid-worlds", "7.8.9")
    return tmp_path


def record(site: Path, name: str, version: str) -> None:
    folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir()
    text = f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n"
    (folder / "METADATA").write_text(text, encoding="utf-8")


def run(arguments: list[str], *path: Path) -> tuple[int, str]:
    """The exit code and the output of a Python that finds packages in these folders first."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=path[0],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))},
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )
    return done.returncode, done.stdout + done.stderr


def said(*path: Path) -> tuple[int, str]:
    """The exit code and the last line of a program that imports the package from these folders."""
    code, output = run(["-c", SAID], *path)
    return code, output.splitlines()[-1]


def test_a_wheel_has_its_version_and_names_the_distribution(site: Path) -> None:
    assert said(site) == (0, "7.8.9; run pip install 'cogrid-worlds[jax]'")


def test_a_checkout_names_itself() -> None:
    assert installed.remedy("jax") == "run pip install '.[jax]' in the checkout"


def test_installed_over_the_other_project_is_one_sentence(site: Path) -> None:
    record(site, "cogrid", "0.3.2")
    assert said(site) == (1, f"ImportError: {CONFLICT}")
    assert run(["-m", "cogrid", "list"], site) == (2, f"python -m cogrid: {CONFLICT}\n")


def test_the_other_project_installed_over_it_is_one_sentence_of_the_command(site: Path) -> None:
    """Their files replaced ours where both have one."""
    record(site, "cogrid", "0.3.2")
    (site / "cogrid/__init__.py").write_text('__version__ = "0.3.2"\n', encoding="utf-8")
    (site / "cogrid/envs/registry.py").write_text("", encoding="utf-8")
    assert run(["-m", "cogrid", "list"], site) == (2, f"python -m cogrid: {CONFLICT}\n")


def test_the_other_project_elsewhere_on_the_path_is_no_conflict(site: Path, tmp_path: Path) -> None:
    """As where a checkout is used in an environment that has it."""
    theirs = tmp_path / "theirs"
    (theirs / "cogrid").mkdir(parents=True)
    record(theirs, "cogrid", "0.3.2")
    assert said(site, theirs)[0] == 0


def test_the_name_is_that_of_the_project_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == installed.DISTRIBUTION


LICENCES = "from cogrid._io import installed; print(sorted(installed.licences()))"


def test_a_wheel_has_the_licences_or_says_that_they_are_missing(site: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": str(site)}
    command = [sys.executable, "-c", LICENCES]
    options: Any = {"cwd": site, "env": environ, "capture_output": True, "encoding": "utf-8"}
    gone = subprocess.run(command, **options)
    assert gone.stderr.endswith("the licences that come with cogrid are missing: install cogrid-worlds.\n")
    (folder,) = site.glob("*.dist-info")
    shutil.copytree(ROOT / "licenses", folder / "licenses/licenses")
    shutil.copy(ROOT / "LICENSE", folder / "licenses")
    texts = [path for path in folder.rglob("*") if path.is_file()]
    names = "".join(f"{path.relative_to(site).as_posix()},,\n" for path in texts)
    (folder / "RECORD").write_text(names, encoding="utf-8")
    assert subprocess.run(command, **options).stdout == f"{sorted(installed.licences())}\n"
