"""What the extras install: this distribution and its dependencies, never the `cogrid` of PyPI."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PYPROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
OTHER = "cogrid"  # another project, whose package has the same name


def resolved(project: dict[str, Any], extra: str) -> set[str]:
    """The names of all that an extra installs, also through other extras of the project."""
    found: set[str] = set()
    todo, seen = [extra], {extra}
    while todo:
        for requirement in map(Requirement, project["optional-dependencies"][todo.pop()]):
            found.add(canonicalize_name(requirement.name))
            if canonicalize_name(requirement.name) == project["name"]:
                todo += requirement.extras - seen
                seen |= requirement.extras
    return found


def names(groups: dict[str, Any]) -> set[str]:
    """The names of all that the dependency groups install."""
    texts = [part for parts in groups.values() for part in parts if isinstance(part, str)]
    return {canonicalize_name(Requirement(text).name) for text in texts}


@pytest.mark.parametrize("extra", PROJECT["optional-dependencies"])
def test_no_extra_installs_the_other_project(extra: str) -> None:
    assert OTHER not in resolved(PROJECT, extra)


def test_nothing_else_installs_it_either() -> None:
    assert PROJECT["name"] != OTHER
    assert OTHER not in {canonicalize_name(Requirement(text).name) for text in PROJECT["dependencies"]}
    assert OTHER not in names(PYPROJECT["dependency-groups"])


def test_it_is_found_behind_another_extra() -> None:
    extras = {"train": ["mine[jax]", "optax"], "jax": ["jax", "CoGrid[jax]>=0.1"]}
    assert resolved({"name": "mine", "optional-dependencies": extras}, "train") == {
        "mine",
        "optax",
        "jax",
        OTHER,
    }
