"""Rights: whose boards come with the package, under which licences, and that nothing of human games does."""

from __future__ import annotations

import re
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pytest

from cogrid.policies import policy_file, zoo
from tests.support import EVERY_ID

ROOT = Path(__file__).parents[1]
TEXTS = sorted(path for path in (ROOT / "licenses").rglob("*") if path.is_file())
NOTICE = (ROOT / "licenses" / "NOTICE.md").read_text(encoding="utf-8")
FOLDERS = ("bench", "cogrid", "docs", "examples", "tests")


def files_of(*patterns: str) -> list[Path]:
    return [path for name in FOLDERS for kind in patterns for path in sorted((ROOT / name).rglob(kind))]


def test_every_licence_is_in_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    packed = {path for pattern in project["license-files"] for path in ROOT.glob(pattern)}
    assert {ROOT / "LICENSE", *TEXTS} == packed
    kinds = set(re.findall(r"\[([\w.-]+)\]\([^)]*(?:\.txt|LICENSE)\)", NOTICE)) - {"LICENSE"}
    assert set(project["license"].split(" AND ")) == kinds == {"Apache-2.0", "MIT"}


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("overcooked_ai.txt", "Copyright (c) 2019 Center for Human-Compatible AI"),
        ("JaxMARL.txt", "Copyright 2023 FLAIR"),
    ],
)
def test_licences_name_their_owners(name: str, owner: str) -> None:
    assert owner in (ROOT / "licenses" / name).read_text(encoding="utf-8")
    assert owner in NOTICE


def test_the_notice_links_every_licence() -> None:
    assert {path.name for path in TEXTS} == {"NOTICE.md", *re.findall(r"\]\((\w+\.txt)\)", NOTICE)}
    for page in ("README.md", "docs/index.md"):
        assert "licenses/NOTICE.md)" in (ROOT / page).read_text(encoding="utf-8"), page


def test_the_notice_gives_the_origin_of_every_board() -> None:
    """A new family fails here until the notice says whose boards it has."""
    rows = [re.findall(r"`([\w-]+-\*)`", line) for line in NOTICE.splitlines() if line.startswith("| `")]
    patterns = [pattern for row in rows for pattern in row]
    for id in EVERY_ID:
        assert [pattern for pattern in patterns if fnmatchcase(id, pattern)], (
            f"{id} is not in licenses/NOTICE.md: say whose boards it has"
        )
    for pattern in patterns:
        assert any(fnmatchcase(id, pattern) for id in EVERY_ID), f"{pattern} is no id"
    for prefix, boards in re.findall(r"^\| `(\w+)-\*` \| (\d+) boards", NOTICE, re.MULTILINE):
        assert sum(id.startswith(f"{prefix}-") for id in EVERY_ID) == int(boards)


def test_no_policy_of_the_zoo_was_cloned() -> None:
    for name in zoo.names():
        assert not name.endswith("-clone")
        # What examples/behaviour_cloning.py writes; its first clones had an accuracy alone.
        assert not {"cloned from", "accuracy"} & {*policy_file.load(zoo.find(name)).about}, name


def test_no_recorded_games_are_in_the_checkout() -> None:
    assert not files_of("*.pickle", "*.pkl", "*.replay*.json", "*.replay*.json.gz")
    for path in files_of("*.npz"):
        with np.load(path, allow_pickle=False) as content:
            assert "people" not in content.files, f"{path} is a dataset of games that people played"
