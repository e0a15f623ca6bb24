"""Who may import whom inside cogrid, read from the source; and a NumPy environment that never loads JAX."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]

# The rooms, lowest first: a module imports only its own room and the rooms above it in this list; the longest
# name that fits a module is its room. Beside each, what it may import of other libraries.
ROOMS = {
    "cogrid._io": (),
    "cogrid.backend": ("numpy",),
    "cogrid._core.author": ("numpy",),
    "cogrid._core.compile": ("numpy",),
    "cogrid._core.phases": ("numpy",),
    "cogrid._core.see": ("numpy",),
    "cogrid._core.rules": ("numpy",),
    "cogrid.render": ("numpy",),
    "cogrid._core.digest": ("numpy",),
    "cogrid._core.state": ("numpy",),
    "cogrid._core": ("numpy",),
    "cogrid._native": ("numpy",),
    "cogrid.author": (),
    "cogrid.envs": ("numpy",),
    "cogrid._env": ("numpy",),
    "cogrid.cogrid_env": ("numpy", "gymnasium", "pettingzoo"),
    "cogrid.vector": ("numpy", "gymnasium"),
    "cogrid.envs.registry": ("numpy",),
    "cogrid.policies": ("numpy",),
    "cogrid.adapters": ("numpy", "gymnasium", "stable_baselines3"),
    "cogrid.distributed": ("numpy",),
    "cogrid._scale": ("numpy",),
    "cogrid": (),
    "cogrid.replay": ("numpy", "pettingzoo"),
    "cogrid.testing": ("numpy",),
    "cogrid.benchmarks": ("numpy",),
    "cogrid._apps": ("numpy",),
    "cogrid._apps.train": ("numpy", "equinox", "jax", "matplotlib", "optax", "rich"),
    "cogrid.__main__": (),
}
ORDER = tuple(ROOMS)

# Phases do not import each other; these are what several of them need.
SHARED_BY_PHASES = ("phase", "tables")
LIST_OF_PHASES = "phases"  # which imports them all
# Families do not import each other. OvercookedV2 is the same kitchen with other rules.
BUILT_ON = {("overcooked_v2", "overcooked")}
SHARED_BY_FAMILIES = ("cogrid.envs.family", "cogrid.envs.features", "cogrid.envs.scripted")

# Modules that import JAX at module level. Everything else imports JAX, or one of these, inside a function.
JAX_MODULES = ("cogrid.backend._jax", "cogrid.backend._kernel", "cogrid.backend._scalars")
# A room that needs an extra as a whole: the others import it inside of functions.
EXTRA_ROOMS = ("cogrid._apps.train",)
OPTIONAL = ("jax", "jaxlib", "orbax")
# Other libraries that only some use has, and the first room where a function may import them.
EXTRAS = {
    "PIL": "cogrid.render",
    "tkinter": "cogrid.render",
    "websockets": "cogrid._apps",
    "matplotlib": "cogrid.policies",
    "jaxmarl": "cogrid.adapters",
}
# The engine and the families never import JAX, not even inside a function.
FIRST_WITH_JAX = ORDER.index("cogrid._env")


class Import(NamedTuple):
    target: str  # absolute, e.g. "cogrid._core.rules"
    line: int
    in_function: bool


def under(module: str, prefixes: tuple[str, ...]) -> bool:
    return any(module == prefix or module.startswith(f"{prefix}.") for prefix in prefixes)


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def imports(module: str, source: str, modules: frozenset[str], is_package: bool = False) -> list[Import]:
    """The imports of a module, made absolute; `from a import b` is `a.b` if `modules` has that, else `a`."""
    home = module.split(".") if is_package else module.split(".")[:-1]

    def targets(node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = home[: len(home) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            inner = [f"{origin}.{alias.name}" for alias in node.names]
            yield from dict.fromkeys(name if name in modules else origin for name in inner)

    def walk(node: ast.AST, in_function: bool) -> Iterator[Import]:
        yield from (Import(target, node.lineno, in_function) for target in targets(node))
        inside = in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        children = node.orelse if is_type_checking(node) else ast.iter_child_nodes(node)
        for child in children:
            yield from walk(child, inside)

    return list(walk(ast.parse(source), False))


def room_of(module: str) -> str:
    return max((room for room in ROOMS if under(module, (room,))), key=len)


def family(module: str) -> str | None:
    """The environment family that a module belongs to: `overcooked` of `cogrid.envs.overcooked.specs`."""
    parts = module.split(".")
    return parts[2] if parts[:2] == ["cogrid", "envs"] and parts[2:] and parts[2] != "registry" else None


def phase(module: str) -> str | None:
    """The name of a phase's module; None for what several phases share, and for the list of them."""
    parts = module.split(".")
    if parts[:3] != ["cogrid", "_core", "phases"] or not parts[3:]:
        return None
    return None if parts[3] in (*SHARED_BY_PHASES, LIST_OF_PHASES) else parts[3]


def complaint(module: str, found: Import) -> str | None:
    """What is wrong with this import in this module, or None."""
    target, in_function = found.target, found.in_function
    room, library = room_of(module), target.split(".")[0]
    here = ORDER.index(room)
    if under(target, OPTIONAL):
        if under(module, JAX_MODULES + EXTRA_ROOMS) or (in_function and here >= FIRST_WITH_JAX):
            return None
        return "JAX belongs in " + " and ".join(JAX_MODULES)
    if in_function:
        extra = EXTRAS.get(library)
        allowed = under(target, JAX_MODULES + EXTRA_ROOMS) or (extra and here >= ORDER.index(extra))
        return None if allowed else "imports inside functions are for optional extras"
    if under(target, JAX_MODULES) > under(module, JAX_MODULES) or (
        under(target, EXTRA_ROOMS) > under(module, EXTRA_ROOMS)
    ):
        return "it imports JAX, so import it inside the function that needs it"
    if library in sys.stdlib_module_names:
        return None
    if library != "cogrid":
        libraries = ROOMS[room]
        return None if library in libraries else f"{room} imports only {', '.join(libraries) or 'cogrid'}"
    if under(target, ("cogrid.benchmarks",)) and room != "cogrid.benchmarks":
        return "benchmarks look at everything, and nothing looks at them"
    if ORDER.index(room_of(target)) > here:
        return f"{room_of(target)} stands below {room} in ROOMS"
    if phase(module) and phase(target) and phase(module) != phase(target):
        return "phases do not import each other"
    others = under(target, ("cogrid.envs",)) and not under(target, SHARED_BY_FAMILIES)
    pair = family(module), family(target)
    if pair[0] and others and pair[0] != pair[1] and pair not in BUILT_ON:
        return "of envs, a family imports only itself, what all share and the one that it is built on"
    return None


def violations(module: str, source: str, modules: frozenset[str], is_package: bool = False) -> list[str]:
    """One line for each import of the module that its room does not allow."""
    return [
        f"{module}:{found.line} imports {found.target}: {reason}"
        for found in imports(module, source, modules, is_package)
        if (reason := complaint(module, found))
    ]


def package_sources() -> dict[str, Path]:
    paths = sorted((ROOT / "cogrid").rglob("*.py"))
    return {".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): p for p in paths}


def test_imports_follow_the_rooms() -> None:
    sources = package_sources()
    modules = frozenset(sources)
    found = [
        line
        for module, path in sources.items()
        for line in violations(module, path.read_text(encoding="utf-8"), modules, path.name == "__init__.py")
    ]
    assert not found, "\n".join(found)


def test_every_room_is_a_module_and_every_module_has_a_room() -> None:
    """What remains for "cogrid" itself is its `__init__`, and the former home of the engine, which raises."""
    modules = package_sources()
    assert [room for room in ROOMS if room not in modules] == []
    assert [module for module in modules if room_of(module) == "cogrid"] == ["cogrid", "cogrid.core"]


def test_no_folder_is_crowded() -> None:
    folders = {path.parent for path in package_sources().values()}
    crowded = {folder.name: len(list(folder.glob("[!_]*.py"))) for folder in folders}
    assert {name: count for name, count in crowded.items() if count > 16} == {}


MODULES = frozenset(
    [
        *("cogrid", "cogrid.backend", "cogrid.backend._jax", "cogrid.backend._kernel"),
        *("cogrid.backend._scalars", "cogrid.backend.rng", "cogrid.cogrid_env", "cogrid._io.files"),
        *("cogrid._core", "cogrid._core.compile.spec", "cogrid._core.rules", "cogrid._core.step"),
        *("cogrid._core.phases.movement", "cogrid._core.phases.ticks", "cogrid._core.phases.tables.marks"),
        *("cogrid.benchmarks.clock", "cogrid._apps.train.options", "cogrid.envs", "cogrid.envs.registry"),
        *("cogrid.envs.arena.specs", "cogrid.envs.overcooked.specs", "cogrid.author"),
    ]
)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("cogrid.backend.rng", "from cogrid._core import rules"),
        ("cogrid.backend.rng", "from .._core.rules import Rules"),
        ("cogrid.backend.rng", "import gymnasium"),
        ("cogrid.backend.array", "import jax.numpy as jnp"),
        ("cogrid.backend.array", "from . import _jax"),
        ("cogrid._core.compile.spec", "from cogrid._core.rules import Rules"),
        ("cogrid._core.phases.movement", "from cogrid._core.phases import ticks"),
        ("cogrid._core.phases.movement", "from . import ticks"),
        ("cogrid._core.phases.movement", "from cogrid._core.rules import Rules"),
        ("cogrid._core.phases.movement", "from cogrid._core import step"),
        ("cogrid._core.phases.movement", "import cogrid.envs.registry"),
        ("cogrid._core.step", "def f():\n    import jax"),
        ("cogrid._core.step", "def f():\n    from cogrid._core import rules"),
        ("cogrid._core.step", "import cogrid"),
        ("cogrid._core.step", "from cogrid.author import Game"),
        ("cogrid.envs.overcooked.specs", "from cogrid.envs.arena import specs"),
        ("cogrid.envs.overcooked.specs", "from cogrid.envs.registry import register"),
        ("cogrid.envs.overcooked.specs", "from cogrid.cogrid_env import CoGridEnv"),
        ("cogrid.render.ascii", "from cogrid.envs.registry import make"),
        ("cogrid._io.files", "import numpy"),
        ("cogrid._io.files", "from cogrid.backend import rng"),
        ("cogrid.vector", "import jax"),
        ("cogrid.vector", "from bench import suites"),
        ("cogrid.benchmarks.modes", "import tests.support"),
        ("cogrid.benchmarks.modes", "import jax"),
        ("cogrid.benchmarks.modes", "import tabulate"),
        ("cogrid.vector", "from cogrid.benchmarks import clock"),
        ("cogrid.vector", "from cogrid._apps.train import options"),
        ("cogrid._apps.train.options", "import bench.suites"),
        ("cogrid._core.step", "from cogrid.benchmarks.clock import take"),
        ("cogrid.vector", "def f():\n    import numpy"),
        ("cogrid.vector", "if TYPE_CHECKING:\n    pass\nelse:\n    import jax"),
    ],
)
def test_planted_violation_is_found(module: str, source: str) -> None:
    assert len(violations(module, source, MODULES)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("cogrid.backend.rng", "import math\nimport numpy as np\nfrom . import env_state"),
        ("cogrid.backend._jax", "import jax\nimport jax.numpy as jnp"),
        ("cogrid.backend._kernel", "import jax\nfrom cogrid.backend import _scalars"),
        ("cogrid.backend.array", "def load():\n    from cogrid.backend import _jax"),
        (
            "cogrid._core.phases.movement",
            "from cogrid._core.phases import phase\nfrom cogrid._core.phases.tables import rows",
        ),
        ("cogrid._core.phases.movement", "from cogrid._core.phases.tables import marks"),
        ("cogrid._core.phases.phases", "from cogrid._core.phases import movement, ticks"),
        ("cogrid._core.step", "from cogrid._core.phases import movement, ticks"),
        (
            "cogrid._core.compile.spec",
            "if TYPE_CHECKING:\n    import jax\n    from cogrid._core.rules import Rules",
        ),
        ("cogrid.envs.overcooked.specs", "from cogrid.author import Spec\nfrom . import layouts"),
        ("cogrid.envs.registry", "from cogrid.cogrid_env import CoGridEnv\nfrom .arena import specs"),
        ("cogrid.render.film", "from cogrid._io import files"),
        ("cogrid._apps.train.options", "import jax\nimport optax\nfrom cogrid.envs.registry import make"),
        ("cogrid.__main__", "def f():\n    from cogrid._apps.train import options"),
        ("cogrid.vector", "import gymnasium\nfrom cogrid._core import step\ndef f():\n    import jax"),
        ("cogrid.benchmarks.modes", "import cogrid\nfrom cogrid.benchmarks import clock"),
        ("cogrid.benchmarks.modes", "from cogrid._core.step import step\ndef f():\n    import jax"),
    ],
)
def test_good_import_is_accepted(module: str, source: str) -> None:
    assert violations(module, source, MODULES) == []


NUMPY_EPISODE = """
import sys
import cogrid
env = cogrid.make("Overcooked-CrampedRoom-V0")
env.reset(seed=0)
env.step(dict.fromkeys(env.agents, 6))
print(*(name for name in sys.modules if name.split(".")[0] in ("jax", "jaxlib")))
"""


def test_numpy_environment_never_loads_jax() -> None:
    search = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-c", NUMPY_EPISODE],
        env={**os.environ, "PYTHONPATH": search},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        encoding="utf-8",
    )
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr
