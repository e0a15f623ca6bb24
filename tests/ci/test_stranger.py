"""ci/stranger.sh: a clean environment, another user, a fresh clone in an awkward folder; nothing stays."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ci.support import ROOT, Done

# Instead of a Python: it makes an environment without a download.
PYTHON = """#!/bin/sh
if [ "$2" = venv ]; then
    mkdir -p "$3/bin"
    cp "$0" "$3/bin/python"
    echo 'PATH="$HOME/nox/bin:$PATH"' > "$3/bin/activate"
fi
"""
IS_ROOT = hasattr(os, "getuid") and os.getuid() == 0
UNPRIVILEGED = ("setpriv", "--reuid", "nobody", "--regid", "65534", "--clear-groups")
AS = [
    pytest.param((), id="directly"),
    pytest.param(UNPRIVILEGED, id="unprivileged", marks=pytest.mark.skipif(not IS_ROOT, reason="needs root")),
]


def run(*command: str, cwd: Path) -> str:
    git = {"GIT_CONFIG_GLOBAL": "/dev/null", "HOME": str(cwd)}
    done = subprocess.run(
        command, cwd=cwd, env=os.environ | git, capture_output=True, text=True, check=True, encoding="utf-8"
    )
    return done.stdout.strip()


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user can enter, unlike pytest's."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def project(folder: Path) -> Path:
    """A repository with two commits and the script."""
    project = folder / "project"
    (project / "ci").mkdir(parents=True)
    shutil.copy(ROOT / "ci/stranger.sh", project / "ci")
    run("git", "init", "--quiet", cwd=project)
    for name in ("one", "two"):
        (project / name).write_text(name, encoding="utf-8")
        run("git", "add", ".", cwd=project)
        who = ("-c", "user.name=me", "-c", "user.email=me@localhost")
        run("git", *who, "commit", "--quiet", "--message", name, cwd=project)
    return project


def stranger(project: Path, *commands: str, how: tuple[str, ...] = (), **environment: str) -> Done:
    """The script with a TMPDIR of its own, which must be empty afterwards."""
    tools, temporary = project.parent / "bin", project.parent / "tmp"
    tools.mkdir()
    (tools / "python3").write_text(PYTHON, encoding="utf-8")
    (tools / "python3").chmod(0o755)
    temporary.mkdir()
    temporary.chmod(0o777)
    env = {
        "PATH": os.pathsep.join([str(tools), os.environ["PATH"]]),
        "HOME": os.environ.get("HOME", "/"),
        "TMPDIR": str(temporary),
        **environment,
    }
    script = ("bash", str(project / "ci/stranger.sh"))
    done = subprocess.run(
        [*how, *script, *commands], env=env, capture_output=True, text=True, check=False, encoding="utf-8"
    )
    assert not list(temporary.iterdir())
    return done


@pytest.mark.parametrize("how", AS)
def test_nothing_of_this_machine_gets_through(project: Path, how: tuple[str, ...]) -> None:
    lost = {
        "PYTHONPATH": "/x",
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "",
        "CI": "true",
        "LC_ALL": "C",
        "TZ": "UTC",
        "PIP_CACHE_DIR": "/closed",
    }
    kept = {"PIP_TIMEOUT": "a b", "SSL_CERT_FILE": "/c", "https_proxy": "http://127.0.0.1:9"}
    done = stranger(project, "env", "id -u", "pwd", "git status --porcelain", how=how, **lost, **kept)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    names = {line.partition("=")[0] for line in lines if "=" in line and not line.startswith("=")}
    assert names - {"PWD", "OLDPWD", "SHLVL", "_"} == {"HOME", "PATH", "LANG", *kept}  # bash sets those
    assert "PIP_TIMEOUT=a b" in lines
    user, place = lines[lines.index("=== id -u") + 1], lines[lines.index("=== pwd") + 1]
    assert user != "0"
    assert place.endswith("/a földer/cogrid")
    assert done.stderr == ""


def test_the_git_configuration_of_the_user_stays_as_it_is(project: Path) -> None:
    own = project.parent / "config/git/config"
    own.parent.mkdir(parents=True)
    own.write_text("[user]\n\tname = me\n", encoding="utf-8")
    done = stranger(project, "true", XDG_CONFIG_HOME=str(own.parents[1]))
    assert done.returncode == 0, done.stderr
    assert own.read_text(encoding="utf-8") == "[user]\n\tname = me\n"


@pytest.mark.parametrize("how", AS)
def test_the_first_failure_ends_it_with_its_code(project: Path, how: tuple[str, ...]) -> None:
    done = stranger(project, "echo one", "exit 7", "echo never", how=how)
    assert done.returncode == 7
    assert "=== echo one: exit 0, " in done.stdout
    assert "=== exit 7: exit 7, " in done.stdout
    assert "never" not in done.stdout


def test_a_shallow_clone_without_a_branch(project: Path, folder: Path) -> None:
    shallow = folder / "shallow" / "clone"
    run("git", "clone", "--quiet", "--depth=1", f"file://{project}", str(shallow), cwd=folder)
    run("git", "checkout", "--quiet", "--detach", cwd=shallow)
    done = stranger(shallow, "git rev-parse HEAD", "cat two")
    assert done.returncode == 0, done.stderr
    assert run("git", "rev-parse", "HEAD", cwd=project) in done.stdout


def test_the_checkout_stays_as_it_is_and_changes_are_mentioned(project: Path) -> None:
    (project / "one").write_text("changed", encoding="utf-8")

    def owners() -> dict[str, int]:
        return {str(path): path.stat().st_uid for path in project.rglob("*")}

    before = owners()
    done = stranger(project, "cat one", "chmod -R a-w .")
    assert done.returncode == 0
    assert "\none=== cat one: exit 0" in done.stdout
    assert "there are uncommitted changes, which a clone does not have" in done.stderr
    assert owners() == before


@pytest.mark.parametrize(("arguments", "code"), [([], 2), (["--help"], 0)])
def test_it_explains_itself(arguments: list[str], code: int) -> None:
    command = ["bash", str(ROOT / "ci/stranger.sh"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, encoding="utf-8")
    assert done.returncode == code
    assert done.stdout.startswith("Runs commands as on a stranger's machine")


def test_every_check_of_ci_runs_as_a_stranger(tmp_path: Path) -> None:
    for folder in (".ci", "ci"):
        (tmp_path / folder).mkdir()
    shutil.copy(ROOT / ".ci/run", tmp_path / ".ci")
    (tmp_path / "ci/stranger.sh").write_text('printf "%s\\n" "$@"\nexit 5\n', encoding="utf-8")
    command = ["bash", str(tmp_path / ".ci/run")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, encoding="utf-8")
    assert done.returncode == 5
    lines = done.stdout.splitlines()
    named = {re.split(r"nox -s | -- ", line)[1] for line in lines}
    quick = {"lint", "workflows", "docs", "bench-counters", "examples", 'lint "examples(numpy)"'}
    assert named == quick | {"tests", "oracles"}
    assert 'LANG=C nox -s lint "examples(numpy)"' in lines
