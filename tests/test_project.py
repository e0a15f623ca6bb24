"""The project's text runs, and the package keeps no state of its own."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
HAS_JAX = importlib.util.find_spec("jax") is not None

# The only module-level state of the package: the registry of ids.
ALLOWED_STATE = {"cogrid/envs/registry.py": ("_SPECS",)}

MUTABLE_DISPLAYS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
MUTABLE_CALLS = frozenset(
    ("list", "dict", "set", "bytearray", "defaultdict", "OrderedDict", "Counter", "deque", "ChainMap")
    + ("WeakKeyDictionary", "WeakValueDictionary", "WeakSet")
)


# Samples: the python blocks of the README, and the examples.


class Sample(NamedTuple):
    name: str
    source: str

    @property
    def runs_here(self) -> bool:
        return HAS_JAX or "jax" not in self.source


def python_blocks(name: str, markdown: str) -> list[Sample]:
    """The fenced python blocks of a Markdown text, each named by the line it starts on."""
    return [
        Sample(f"{name}:{markdown.count(chr(10), 0, match.start(1)) + 1}", match[1])
        for match in re.finditer(r"^```python[^\n]*\n(.*?)^```", markdown, re.DOTALL | re.MULTILINE)
    ]


def samples() -> list[Sample]:
    examples = sorted((ROOT / "examples").glob("*.py"))
    return [
        *python_blocks("README.md", (ROOT / "README.md").read_text(encoding="utf-8")),
        *(Sample(f"examples/{path.name}", path.read_text(encoding="utf-8")) for path in examples),
    ]


@pytest.mark.parametrize("sample", [pytest.param(s, id=s.name) for s in samples() if s.runs_here])
def test_sample_runs(sample: Sample, tmp_path: Path) -> None:
    """In a process and a directory of its own: a sample neither leans on another nor litters the checkout."""
    example = ROOT / sample.name
    if not example.is_file():
        example = tmp_path / f"{sample.name.replace(':', '_line_')}.py"
        example.write_text(sample.source, encoding="utf-8")
    search = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": search, "COGRID_EXAMPLE_QUICK": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, f"{sample.name} failed:\n{done.stdout}{done.stderr}"


def test_python_blocks_are_found_by_line() -> None:
    text = "# Title\n\n```python\na = 1\n```\n\n```bash\nls\n```\n\n```python\nimport jax\n```\n"
    assert python_blocks("x.md", text) == [("x.md:4", "a = 1\n"), ("x.md:12", "import jax\n")]


# Module-level state.


def outside_functions(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement that runs when the module is imported, except in class bodies."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for field in ("body", "orelse", "finalbody"):
            yield from outside_functions(getattr(statement, field, []))
        for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            yield from outside_functions(part.body)


def is_mutable(value: ast.expr | None) -> bool:
    """Whether the expression plainly makes a container that can be written to; arguments do not count."""
    match value:
        case ast.Tuple(elts=parts) | ast.BoolOp(values=parts):
            return any(is_mutable(part) for part in parts)
        case ast.IfExp(body=yes, orelse=no):
            return is_mutable(yes) or is_mutable(no)
        case ast.Call(func=ast.Subscript(value=called) | called):  # the first form is dict[str, int]()
            return ast.unparse(called).split(".")[-1] in MUTABLE_CALLS
    return isinstance(value, MUTABLE_DISPLAYS)


def module_state(source: str) -> list[tuple[str, int]]:
    """Names of mutable containers at module level and of `global` statements, each with its line."""
    tree = ast.parse(source)
    found = []
    for statement in outside_functions(tree.body):
        match statement:
            case ast.Assign(targets=targets, value=value) if is_mutable(value):
                names = [ast.unparse(target) for target in targets]
            case ast.AnnAssign(target=target, value=value) if is_mutable(value):
                names = [ast.unparse(target)]
            case _:
                continue
        found += [(name, statement.lineno) for name in names if name != "__all__"]
    statements = (node for node in ast.walk(tree) if isinstance(node, ast.Global))
    found += [(f"global {', '.join(node.names)}", node.lineno) for node in statements]
    return found


def test_package_has_no_module_state() -> None:
    found = []
    for path in sorted((ROOT / "cogrid").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        state = module_state(path.read_text(encoding="utf-8"))
        allowed = ALLOWED_STATE.get(name, ())
        found += [f"{name}:{line}: {what}" for what, line in state if what not in allowed]
    assert not found, "module-level state (use a tuple, frozenset or MappingProxyType):\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("CACHE = {}", ["CACHE"]),
        ("names: list[str] = []", ["names"]),
        ("A = B = {1, 2}", ["A", "B"]),
        ("SQUARES = [i * i for i in range(3)]", ["SQUARES"]),
        ("SEEN = set()", ["SEEN"]),
        ("import collections\nHITS = collections.defaultdict(int)", ["HITS"]),
        ("TABLE = dict[str, int](a=1)", ["TABLE"]),
        ("PAIR = (1, [])", ["PAIR"]),
        ("try:\n    X = 1\nexcept ImportError:\n    X = []", ["X"]),
        ("count = 0\ndef f():\n    global count\n    count += 1", ["global count"]),
        ("__all__ = ['a']", []),
        ("KINDS = ('a', 'b')", []),
        ("COLOURS = MappingProxyType({'a': 1})", []),
        ("NAMES = frozenset({'a'})", []),
        ("def f():\n    seen = {}\n    return seen", []),
    ],
)
def test_module_state_is_recognised(source: str, names: list[str]) -> None:
    assert [name for name, _ in module_state(source)] == names
