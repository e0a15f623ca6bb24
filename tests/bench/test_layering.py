"""Who may import whom inside bench, and how it stays readable: from the source."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from bench import ROOT
from tests.test_layering import imports

BENCH = ROOT / "bench"
# Each group imports only from itself and from those above it.
ORDER = (
    ("units", "exit_codes"),
    ("measure",),
    ("records",),
    ("storage", "suites"),
    ("processes",),
    ("compare",),
    ("show",),
    ("runner",),
    ("ab",),
    ("bisect",),
    ("peers", "experiments"),
    ("commands",),
    ("__main__",),
)
LIMIT = 300


def sources() -> dict[str, Path]:
    paths = sorted(path for path in BENCH.rglob("*.py") if "results" not in path.parts)
    return {".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): p for p in paths}


def group(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def rank(name: str) -> int:
    return next(place for place, names in enumerate(ORDER) if name in names)


def complaints(module: str, source: str, modules: frozenset[str]) -> list[str]:
    found = []
    for one in imports(module, source, modules):
        top = one.target.split(".")[0]
        if top in ("ci", "tests"):
            found.append(f"{module}:{one.line} imports {one.target}")
        if top != "bench" or one.target == "bench" or group(one.target) == group(module):
            continue
        if rank(group(one.target)) >= rank(group(module)):
            found.append(f"{module}:{one.line} imports {one.target}, which comes after it")
    return found


def private_reaches(module: str, source: str, modules: frozenset[str]) -> list[str]:
    """Names with an underscore that are imported from, or looked up in, another group."""
    tree, found = ast.parse(source), []
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bench"):
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                if alias.name.startswith("_") and group(str(node.module)) != group(module):
                    found.append(f"{module}:{node.lineno} imports {alias.name} of {node.module}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            target = names.get(node.value.id, "")
            private = node.attr.startswith("_") and node.attr not in ("_replace", "_asdict", "_fields")
            if private and target in modules and group(target) != group(module):
                found.append(f"{module}:{node.lineno} uses {node.attr} of {target}")
    return found


def test_every_module_imports_only_from_above() -> None:
    modules = frozenset(sources())
    found = [
        line
        for module, path in sources().items()
        for line in complaints(module, path.read_text(encoding="utf-8"), modules)
    ]
    assert not found, "\n".join(found)


def test_no_group_uses_a_private_name_of_another() -> None:
    modules = frozenset(sources())
    found = [
        line
        for module, path in sources().items()
        for line in private_reaches(module, path.read_text(encoding="utf-8"), modules)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("module", "source", "count"),
    [
        ("bench.storage.results", "from bench.show import tables", 1),
        ("bench.compare.findings", "from bench.commands.run import measure", 1),
        ("bench.show.diff", "from ci import summary", 1),
        ("bench.show.diff", "from bench.compare.findings import Finding", 0),
        ("bench.show.diff", "from bench.show import tables", 0),
    ],
)
def test_planted_imports_are_found(module: str, source: str, count: int) -> None:
    modules = frozenset(sources())
    assert len(complaints(module, source, modules)) == count


def test_planted_private_names_are_found() -> None:
    modules = frozenset(sources())
    inside = "from bench.storage import results\nfrom bench.storage.results import _x\nresults._y"
    assert len(private_reaches("bench.show.diff", inside, modules)) == 2
    assert private_reaches("bench.storage.baselines", inside, modules) == []


def test_modules_are_short_and_have_a_docstring() -> None:
    for path in sources().values():
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= LIMIT, path
        assert ast.get_docstring(ast.parse(text)), path


def test_nothing_loads_an_example_by_its_path() -> None:
    texts = {name: path.read_text(encoding="utf-8") for name, path in sources().items()}
    assert [name for name, text in texts.items() if "spec_from" in text and "examples" in text] == []
