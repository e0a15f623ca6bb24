"""The public border: what README, docs, examples and families import, and that every public name exists."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.episodes import run_python
from tests.test_layering import package_sources

ROOT = Path(__file__).parents[1]

#: Modules that users may import; whatever else cogrid has may change without notice.
PUBLIC = (
    *("cogrid", "cogrid.author", "cogrid.cogrid_env", "cogrid.vector", "cogrid.envs.registry"),
    *("cogrid.backend.rng", "cogrid.backend.env_state"),
    *("cogrid.envs.overcooked", "cogrid.envs.commons"),
    *("cogrid.adapters.gymnasium", "cogrid.adapters.jaxmarl", "cogrid.adapters.stable_baselines3"),
    *("cogrid.policies", "cogrid.policies.zoo", "cogrid.replay", "cogrid.render", "cogrid.testing"),
    *("cogrid.distributed", "cogrid.benchmarks", "cogrid.benchmarks.benchmark_suite"),
)
#: What families import of the engine, beside what is public: types and tables of custom features, states
#: and scripts, which are written in arrays.
ENGINE = (
    *("cogrid._io.messages", "cogrid.backend.array", "cogrid._core.compile.actions"),
    *(
        "cogrid._core.author.layout",
        "cogrid._core.author.look",
        "cogrid._core.compile.symbols",
        "cogrid._core.phases.tables.marks",
    ),
    *("cogrid._core.rules", "cogrid._core.see.report", "cogrid._core.state.reset"),
)
#: The command line as a function.
COMMAND = "cogrid.__main__"
NEEDS = {"cogrid.adapters.stable_baselines3": "stable_baselines3", "cogrid.adapters.jaxmarl": "jax"}
SOURCES = package_sources()


def imported(source: str) -> Iterator[tuple[str, str]]:
    """(module, name) of every import of cogrid; the name is empty if the module itself is imported."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.split(".")[0] == "cogrid")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "cogrid":
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                is_module = inner in SOURCES and alias.name not in exported(str(node.module))
                yield (inner, "") if is_module else (str(node.module), alias.name)


def samples() -> dict[str, str]:
    """The Python that users read: examples, and the blocks of README and docs/."""
    found = {f"examples/{path.name}": path.read_text("utf-8") for path in (ROOT / "examples").glob("*.py")}
    pages = [ROOT / "README.md", ROOT / "bench/README.md", *(ROOT / "docs").glob("*.md")]
    for page in (*pages, *(ROOT / "docs/families").glob("*.md")):
        blocks = re.findall(r"^```py(?:thon)?\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)
        found |= {f"{page.relative_to(ROOT)} {k}": block for k, block in enumerate(blocks)}
    return found


def exported(module: str) -> frozenset[str]:
    """The names in a module's `__all__`, read from its source."""
    if module not in SOURCES:
        return frozenset()
    for node in ast.parse(SOURCES[module].read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return frozenset(ast.literal_eval(node.value))
    return frozenset()


def private(source: str) -> list[str]:
    """The imports of a sample that no promise covers."""
    found = []
    for module, name in imported(source):
        if module == COMMAND or (module in PUBLIC and (not name or name in exported(module))):
            continue
        found.append(f"{module}.{name}" if name else module)
    return found


def test_samples_import_only_what_is_public() -> None:
    found = samples()
    assert sum("import cogrid" in source for source in found.values()) > 30
    assert {place: names for place, source in found.items() if (names := private(source))} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import cogrid._core.rules",
        "from cogrid._core import step",
        "from cogrid.author import Symbols",
        "from cogrid.replay import recording",
        "from cogrid.vector import _stepper",
    ],
)
def test_a_private_import_is_found(source: str) -> None:
    assert len(private(source)) == 1


def test_families_import_only_what_is_public_and_the_arrays() -> None:
    found = {}
    for module, path in SOURCES.items():
        if not module.startswith("cogrid.envs.") or module == "cogrid.envs.registry":
            continue
        targets = {target for target, _ in imported(path.read_text("utf-8"))}
        others = {one for one in targets if not one.startswith("cogrid.envs.")} - {*PUBLIC, *ENGINE}
        if others:
            found[module] = others
    assert found == {}


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_exists(name: str) -> None:
    names = exported(name)
    assert names, f"{name} has no __all__"
    if (library := NEEDS.get(name)) and importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    module = importlib.import_module(name)
    assert [one for one in names if not hasattr(module, one)] == []


def test_the_former_home_of_the_engine_names_the_public_one() -> None:
    for line in ("import cogrid.core", "from cogrid.core.game import Game"):
        done = run_python(line)
        assert done.returncode != 0
        assert "ImportError: cogrid.core is private now" in done.stderr
        assert "cogrid.author" in done.stderr
