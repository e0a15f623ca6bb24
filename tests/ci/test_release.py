"""What a release is made of: a wheel and an sdist from this checkout, and the texts that go with them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from email.message import Message
from pathlib import Path

import pytest
import yaml

from ci import release
from ci.readme import page
from tests.ci.support import ROOT, nox, script

pytestmark = pytest.mark.xdist_group("release")  # it is built once
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ADDRESS = PROJECT["urls"]["Repository"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
HERE = "https://github.com/me/cogrid"
CHANGES = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(folder)], cwd=ROOT, check=True)
    return folder


@pytest.fixture
def built(dist: Path) -> release.Built:
    return release.read(dist)


# What is built.


def test_the_wheel_is_complete_and_for_every_system(built: release.Built) -> None:
    assert built.wheel == f"cogrid_worlds-{PROJECT['version']}-py3-none-any.whl"
    assert release.complaints(built, None) == []
    package = {path.relative_to(ROOT).as_posix() for path in (ROOT / "cogrid").rglob("*") if path.is_file()}
    assert {name for name in package if "__pycache__" not in name} == {
        name for name in built.in_wheel if name.startswith("cogrid/")
    }


def test_the_sdist_has_all_files_of_the_commit(built: release.Built) -> None:
    """So that `nox -s quick` runs in it."""
    assert (release.tracked() or {"noxfile.py", "tests/conftest.py"}) <= built.in_sdist


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"wheel": "cogrid_worlds-1-cp311-cp311-linux_x86_64.whl"}, "is not for every Python and system"),
        ({"in_wheel": frozenset({"cogrid/py.typed"})}, "is in one of wheel and sdist only"),
        ({"in_sdist": frozenset({"PKG-INFO"})}, "noxfile.py of the commit is not in the sdist"),
    ],
)
def test_what_is_missing_is_named(built: release.Built, change: dict[str, object], words: str) -> None:
    found = release.complaints(built._replace(**change), frozenset({"noxfile.py"}))  # type: ignore[arg-type]
    assert any(words in line for line in found)


def test_a_stray_file_is_named(built: release.Built) -> None:
    found = release.complaints(built, built.in_sdist - {"noxfile.py"})
    assert found == ["noxfile.py is in the sdist and not in the commit"]


def test_one_of_each_is_needed(tmp_path: Path) -> None:
    done = script("release.py", str(tmp_path))
    assert done.returncode == 1
    assert "has 0 wheels and 0 sdists: build one of each." in done.stderr


def test_it_plays_from_the_wheel_in_an_empty_folder(dist: Path, tmp_path: Path) -> None:
    """The dependencies are those of this environment; `nox -s release-install` starts from nothing."""
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as content:
        content.extractall(tmp_path / "site")
    (tmp_path / "empty").mkdir()
    done = subprocess.run(
        [sys.executable, "-P", str(ROOT / "ci/smoke.py")],
        cwd=tmp_path / "empty",
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site"), "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"cogrid-worlds {PROJECT['version']}: good" in done.stdout
    assert re.search(r"\d\d environments: good", done.stdout)


def test_the_checkout_is_no_wheel(tmp_path: Path) -> None:
    done = script("smoke.py", PYTHONPATH=str(ROOT))
    assert done.returncode == 1
    assert "is a checkout" in done.stderr


# Whether a tag can be released.


def ready(built: release.Built, **changed: str) -> Message:
    """The metadata as if the repository had an address."""
    message = Message()
    message["Version"] = changed.get("version", built.metadata["Version"])
    message["Project-URL"] = f"Repository, {changed.get('address', HERE)}"
    return message


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a changelog and a citation that a release of 9.9 can have."""
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [9.9] - 2030-01-02\n", encoding="utf-8")
    (tmp_path / "CITATION.cff").write_text("version: 9.9\ndate-released: 2030-01-02\n", encoding="utf-8")
    monkeypatch.setattr(release, "ROOT", tmp_path)
    return tmp_path


def test_a_tag_with_its_version_address_and_dates_is_ready(built: release.Built, texts: Path) -> None:
    assert release.not_ready(ready(built, version="9.9"), "v9.9", HERE) == []


def test_a_tag_needs_its_version_and_its_address(built: release.Built, texts: Path) -> None:
    assert release.not_ready(ready(built, version="9.9"), "v9", HERE) == [
        "the tag is v9, and the version 9.9"
    ]
    for address, words in (
        ("https://github.com/OWNER/cogrid", "is not an address: write that of the repository"),
        ("https://github.com/you/cogrid", "the repository is https://github.com/me/cogrid, and pyproject"),
    ):
        (line,) = release.not_ready(ready(built, version="9.9", address=address), "v9.9", HERE)
        assert words in line


@pytest.mark.parametrize("heading", ["[9.9] - unreleased", "[9.8] - 2030-01-02", "[9.9]"])
def test_a_tag_needs_a_dated_changelog(built: release.Built, texts: Path, heading: str) -> None:
    (texts / "CHANGELOG.md").write_text(f"## {heading}\n", encoding="utf-8")
    (line,) = release.not_ready(ready(built, version="9.9"), "v9.9", HERE)
    assert line == "CHANGELOG.md has no heading ## [9.9] - YYYY-MM-DD"


def test_a_tag_needs_the_same_date_in_the_citation(built: release.Built, texts: Path) -> None:
    (texts / "CITATION.cff").write_text("version: 9.9\ndate-released: 2030-01-03\n", encoding="utf-8")
    (line,) = release.not_ready(ready(built, version="9.9"), "v9.9", HERE)
    assert line == "CITATION.cff does not have date-released: 2030-01-02, the changelog's"


@pytest.mark.parametrize("tag", ["", "refs/tags/v0.0.0"])
def test_only_for_a_tag_is_what_it_needs_an_error(dist: Path, tag: str) -> None:
    done = script("release.py", str(dist), GITHUB_REF=tag or "refs/heads/main")
    assert ("the tag is v0.0.0" in done.stderr) == bool(tag)
    assert ("Before a tag: " in done.stdout) <= (not tag)
    if tag:
        assert done.returncode == 1


# The texts that go with it.


def test_the_page_of_a_release_leads_to_the_files_of_its_tag() -> None:
    text = "![a](docs/a.png) [b](docs/b.md#c), [d](https://d.org) and [e](#e)"
    assert page(text, "https://h/o/r", "v1") == (
        "![a](https://h/o/r/raw/v1/docs/a.png) [b](https://h/o/r/blob/v1/docs/b.md#c), "
        "[d](https://d.org) and [e](#e)"
    )


def test_links_of_the_page_lead_to_files(built: release.Built) -> None:
    text = str(built.metadata.get_payload())
    tag = f"v{PROJECT['version']}"
    found = re.findall(rf"\]\({re.escape(ADDRESS)}/(?:blob|raw)/{tag}/([^)#]+)", text)
    assert len(found) > 20
    assert [path for path in found if not (ROOT / path).exists()] == []


def test_the_citation_is_in_step() -> None:
    assert CITATION["version"] == PROJECT["version"]
    assert CITATION["repository-code"] == ADDRESS
    assert CITATION["license"] in PROJECT["license"].split(" AND ")
    dates = re.findall(rf"(?m)^## \[{re.escape(PROJECT['version'])}\] - (\d{{4}}-\d\d-\d\d)$", CHANGES)
    assert [str(CITATION[name]) for name in ("date-released",) if name in CITATION] == dates


def test_there_is_one_address() -> None:
    """Whoever hosts the repository changes it in pyproject.toml, and here sees what else has it."""
    owner = ADDRESS.removeprefix("https://github.com/").removesuffix("/cogrid")
    urls = {name: url.replace(owner, "OWNER") for name, url in PROJECT["urls"].items()}
    assert urls == {
        "Repository": "https://github.com/OWNER/cogrid",
        "Documentation": "https://OWNER.github.io/cogrid/",
        "Issues": "https://github.com/OWNER/cogrid/issues",
        "Changelog": "https://github.com/OWNER/cogrid/blob/main/CHANGELOG.md",
    }
    places = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / ".github").rglob("*.*")]
    for path in [*places, *ROOT.glob("*.*"), *(ROOT / "cogrid").rglob("*.py")]:
        if not path.is_file():
            continue
        named = re.findall(
            r"github\.com/([\w.-]+)/cogrid\b", path.read_text(encoding="utf-8", errors="replace")
        )
        assert set(named) <= {owner, "chasemcd"}, f"{path} names another repository"


# The sessions.


def test_without_a_build_one_sentence_says_so() -> None:
    if (ROOT / "build/dist").exists():
        pytest.skip("something was built here")
    done = nox("-s", "release-install(wheel)", "--no-venv", "--no-install")
    assert "build/dist has no wheel, or several: run nox -s release-build first." in done.stderr
    assert done.returncode == 1


def test_one_session_does_all_up_to_the_upload() -> None:
    listed = re.findall(r"(?m)^\* (\S+)", nox("-s", "release", "--list").stdout)
    assert listed[0] == "release-build"
    assert listed[-2:] == ["release-sdist", "release"]
    assert [name for name in listed if "install" in name] == [
        f"release-install({name})" for name in ("wheel", "wheel-all", "sdist", "sdist-all")
    ]
