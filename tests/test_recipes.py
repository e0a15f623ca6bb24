"""What the README and the recipes say to install is what their code needs."""

from __future__ import annotations

import ast
import re
import shlex
import sys
import tomllib

import pytest

from tests.clients.support import PAGE, ROOT, sections

# What an import is installed by, where the names differ; None comes with cogrid itself or with another one.
INSTALLED_BY = {
    "stable_baselines3": "stable-baselines3",
    "ray": "ray[rllib]",
    "gymnasium": None,
    "numpy": None,
}


def project() -> dict[str, dict[str, list[str]]]:
    parsed: dict[str, dict[str, list[str]]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return parsed


def install_line(section: str) -> list[str]:
    """The packages of the command that a section of the page starts with."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.search(rf"^## {section}\n\n```sh\npython -m pip install (.*)\n```\n", text, re.MULTILINE)
    assert found, f"the section {section} does not start with its install line"
    return shlex.split(found[1], comments=True)


@pytest.mark.parametrize("section", sections())
def test_a_recipe_starts_with_what_it_imports(section: str) -> None:
    ours, *packages = install_line(section)
    tree = ast.walk(ast.parse(sections()[section]))
    modules = {
        module.partition(".")[0]
        for node in tree
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for module in (
            [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
        )
    }
    needed = {INSTALLED_BY.get(module, module) for module in modules - {"cogrid", "jax"}} - {None}
    needed -= sys.stdlib_module_names
    if "benchmarl" in packages:
        needed.discard("torchrl")  # which it brings
    assert needed <= {*packages}
    assert ("jax" in modules or "backend" in sections()[section]) <= ("jax" in ours)


def test_packages_that_others_forget_are_named() -> None:
    assert "six" in install_line("JaxMARL")  # of gymnax
    assert "moviepy" in install_line("Gymnasium")  # of RecordVideo
    assert "torch" in install_line("RLlib")


def test_one_extra_has_everything_but_cuda_and_the_compiler() -> None:
    extras = project()["project"]["optional-dependencies"]
    whole, waiting = set(), ["all"]
    while waiting:
        for requirement in extras[waiting.pop()]:
            if inner := re.fullmatch(r"cogrid-worlds\[(.*)\]", requirement):
                waiting += inner[1].split(",")
                whole |= {*inner[1].split(",")}
    assert whole == {*extras} - {"all", "cuda12", "cuda13", "native"}


def test_the_readme_installs_before_it_runs() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first = min(text.index(command) for command in ("python -m cogrid ", "python examples/"))
    assert text.index("pip install '.[all]'") < first
