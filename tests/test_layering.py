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

# A layer is named by the module prefix that it covers, and the longest prefix decides: what remains for
# "cogrid" are the adapters. Each may import the standard library and what is listed here.
LAYERS = {
    "cogrid.backend": ("numpy", "cogrid.backend"),
    "cogrid.core": ("numpy", "cogrid.backend", "cogrid.core"),
    "cogrid.envs": ("numpy", "cogrid.backend", "cogrid.core", "cogrid.envs"),
    "cogrid.files": (),
    "cogrid.interrupt": (),
    "cogrid.render": ("numpy", "cogrid.backend", "cogrid.core", "cogrid.files", "cogrid.render"),
    "cogrid": ("numpy", "gymnasium", "pettingzoo", "cogrid"),
    "cogrid.train": ("numpy", "equinox", "jax", "matplotlib", "optax", "rich", "cogrid"),
    "cogrid.adapters.stable_baselines3": ("numpy", "gymnasium", "stable_baselines3", "cogrid"),
    "cogrid.benchmarks": ("numpy", "cogrid"),
}
# The outer layers, where a function may import JAX.
OUTER = ("cogrid", "cogrid.benchmarks")

# The registry hands out finished environments, so it alone of the lower layers knows the adapters.
# It knows every family as well, and no family knows it.
ALSO = {"cogrid.envs.registry": ("cogrid.cogrid_env", "cogrid.vector")}

# OvercookedV2 is the same kitchen with other rules.
BUILT_ON = {("overcooked_v2", "overcooked")}

# What the families have in common.
SHARED = ("cogrid.envs.features", "cogrid.envs.scripted")

# Core modules import from the left only; those in one inner tuple do not know each other.
ORDER = (
    "actions",
    "layout",
    "lettering",
    "look",
    "chance",
    "answers",
    "game",
    "hooks",
    "places",
    "asking",
    "symbols",
    "spec",
    ("slots", "placing"),
    "checking",
    "rules",
    "marks",
    "sketch",
    "boards",
    "prices",
    "cropping",
    "aiming",
    "onehot",
    "offsets",
    (
        "movement",
        "interaction",
        "joining",
        "leaving",
        "entering",
        "replying",
        "ticks",
        "rewards",
        "termination",
        "features",
        "planes",
    ),
    "observation",
    "validity",
    ("reset", "replace", "report", "difference", "varying"),
    "purity",
    "digest",
    "snapshot",
    "pool",
    "autoreset",
    "step",
    "profiling",
)

# Other libraries that only some use has, and the layer where a function may import them.
EXTRAS = {
    "PIL": "cogrid.render",
    "tkinter": "cogrid.render",
    "websockets": "cogrid",
    "matplotlib": "cogrid",
    "jaxmarl": "cogrid",
}
# A layer that needs an extra as a whole: the others import it inside of functions.
EXTRA_LAYERS = ("cogrid.train",)

# Modules that import JAX at module level. Everything else imports JAX, or one of these, inside a function.
JAX_MODULES = ("cogrid.backend._jax", "cogrid.backend._kernel", "cogrid.backend._scalars")
OPTIONAL = ("jax", "jaxlib", "orbax")


class Import(NamedTuple):
    target: str  # absolute, e.g. "cogrid.core.rules"
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


def layer_of(module: str) -> str:
    return max((prefix for prefix in LAYERS if under(module, (prefix,))), key=len)


def rank(module: str) -> int | None:
    """Place of a core module in ORDER; None if it has none."""
    name = module.split(".")[2]
    groups = [(group,) if isinstance(group, str) else group for group in ORDER]
    return next((i for i, group in enumerate(groups) if name in group), None)


def family(module: str) -> str | None:
    """The environment family that a module belongs to: `overcooked` of `cogrid.envs.overcooked.specs`."""
    parts = module.split(".")
    return parts[2] if parts[:2] == ["cogrid", "envs"] and parts[2:] and parts[2] != "registry" else None


def complaint(module: str, found: Import) -> str | None:
    """What is wrong with this import in this module, or None."""
    target, in_function = found.target, found.in_function
    if under(target, OPTIONAL):
        if under(module, JAX_MODULES + EXTRA_LAYERS) or (in_function and layer_of(module) in OUTER):
            return None
        return "JAX belongs in " + " and ".join(JAX_MODULES)
    if in_function:
        wanted = under(target, JAX_MODULES + EXTRA_LAYERS) or EXTRAS.get(target.split(".")[0]) == layer_of(
            module
        )
        return None if wanted else "imports inside functions are for optional extras"
    if under(target, JAX_MODULES) > under(module, JAX_MODULES) or (
        under(target, EXTRA_LAYERS) > under(module, EXTRA_LAYERS)
    ):
        return "it imports JAX, so import it inside the function that needs it"
    if target.split(".")[0] in sys.stdlib_module_names:
        return None
    layer = layer_of(module)
    if under(target, ("cogrid.benchmarks",)) and layer != "cogrid.benchmarks":
        return "benchmarks look at everything, and nothing looks at them"
    if not under(target, LAYERS[layer] + ALSO.get(module, ())):
        return f"{layer} imports only {', '.join(LAYERS[layer])}"
    if layer == "cogrid.core" and under(target, ("cogrid.core",)) and module != "cogrid.core":
        here, there = rank(module), rank(target) if target != "cogrid.core" else None
        if here is None or there is None or there >= here:
            return "core modules import from the left in ORDER only"
    others = under(target, ("cogrid.envs",)) and not under(target, SHARED)
    pair = family(module), family(target)
    if pair[0] and others and pair[0] != pair[1] and pair not in BUILT_ON:
        return "of envs, a family imports only itself, what all share and the one that it is built on"
    return None


def violations(module: str, source: str, modules: frozenset[str], is_package: bool = False) -> list[str]:
    """One line for each import of the module that its layer does not allow."""
    return [
        f"{module}:{found.line} imports {found.target}: {reason}"
        for found in imports(module, source, modules, is_package)
        if (reason := complaint(module, found))
    ]


def package_sources() -> dict[str, Path]:
    paths = sorted((ROOT / "cogrid").rglob("*.py"))
    return {".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): p for p in paths}


def test_imports_follow_the_layers() -> None:
    sources = package_sources()
    modules = frozenset(sources)
    found = [
        line
        for module, path in sources.items()
        for line in violations(module, path.read_text(encoding="utf-8"), modules, path.name == "__init__.py")
    ]
    assert not found, "\n".join(found)


def test_every_core_module_has_a_place() -> None:
    core = [module for module in package_sources() if module.startswith("cogrid.core.")]
    assert core
    assert [module for module in core if rank(module) is None] == []


MODULES = frozenset(
    [
        "cogrid",
        "cogrid.backend",
        "cogrid.backend._jax",
        "cogrid.backend._kernel",
        "cogrid.backend._scalars",
        "cogrid.backend.rng",
        "cogrid.cogrid_env",
        "cogrid.files",
    ]
    + ["cogrid.core", *(f"cogrid.core.{name}" for name in ("spec", "rules", "movement", "ticks", "step"))]
    + [
        "cogrid.benchmarks.clock",
        "cogrid.train.options",
        "cogrid.envs",
        "cogrid.envs.registry",
        "cogrid.envs.arena.specs",
        "cogrid.envs.overcooked.specs",
    ]
)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("cogrid.backend.rng", "from cogrid.core import rules"),
        ("cogrid.backend.rng", "from ..core.rules import Rules"),
        ("cogrid.backend.rng", "import gymnasium"),
        ("cogrid.backend.array", "import jax.numpy as jnp"),
        ("cogrid.backend.array", "from . import _jax"),
        ("cogrid.core.spec", "from cogrid.core.rules import Rules"),
        ("cogrid.core.movement", "from cogrid.core import ticks"),
        ("cogrid.core.movement", "from . import step"),
        ("cogrid.core.movement", "from cogrid.core import Rules"),
        ("cogrid.core.movement", "import cogrid.envs.registry"),
        ("cogrid.core.unplaced", "from cogrid.core import spec"),
        ("cogrid.core.step", "def f():\n    import jax"),
        ("cogrid.core.step", "def f():\n    from cogrid.core import rules"),
        ("cogrid.core.step", "import cogrid"),
        ("cogrid.envs.overcooked.specs", "from cogrid.envs.arena import specs"),
        ("cogrid.envs.overcooked.specs", "from cogrid.envs.registry import register"),
        ("cogrid.envs.overcooked.specs", "from cogrid.cogrid_env import CoGridEnv"),
        ("cogrid.render.ascii", "from cogrid.envs.registry import make"),
        ("cogrid.files", "import numpy"),
        ("cogrid.core.step", "from cogrid import files"),
        ("cogrid.vector", "import jax"),
        ("cogrid.vector", "from bench import suites"),
        ("cogrid.benchmarks.modes", "import tests.support"),
        ("cogrid.benchmarks.modes", "import jax"),
        ("cogrid.benchmarks.modes", "import tabulate"),
        ("cogrid.vector", "from cogrid.benchmarks import clock"),
        ("cogrid.vector", "from cogrid.train import options"),
        ("cogrid.train.options", "import bench.suites"),
        ("cogrid.core.step", "from cogrid.benchmarks.clock import take"),
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
        ("cogrid.core.movement", "from cogrid.core import rules, spec\nfrom cogrid.backend.rng import split"),
        ("cogrid.core.step", "from . import movement, ticks"),
        ("cogrid.core.spec", "if TYPE_CHECKING:\n    import jax\n    from cogrid.core.rules import Rules"),
        ("cogrid.envs.overcooked.specs", "from cogrid.core.spec import Spec\nfrom . import layouts"),
        ("cogrid.envs.registry", "from cogrid.cogrid_env import CoGridEnv\nfrom .arena import specs"),
        ("cogrid.render.film", "from cogrid import files"),
        ("cogrid.train.options", "import jax\nimport optax\nfrom cogrid.envs.registry import make"),
        ("cogrid.__main__", "def f():\n    from cogrid.train import options"),
        ("cogrid.vector", "import gymnasium\nfrom cogrid.core import step\ndef f():\n    import jax"),
        ("cogrid.benchmarks.modes", "import cogrid\nfrom cogrid.benchmarks import clock"),
        ("cogrid.benchmarks.modes", "from cogrid.core.step import step\ndef f():\n    import jax"),
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
    )
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr
